"""The fixed JSON form, tests between systems, and cells that survive interruption and damage."""

import json

import numpy as np
import pytest

from tacit.experiments.cells import CellCache
from tacit.experiments.collections.link_figures import link_figures
from tacit.experiments.figures import shown_systems
from tacit.experiments.report import Report, Row, to_markdown
from tacit.experiments.request import Request
from tacit.metrics import compare


def row(system, shift, seed=0, **setting):
    values = np.random.default_rng(seed).random(50) * 0.5 + shift
    return Row(system, {"MAP": values, "rank_loss": 1 - values}, 1.5, {"split": "queries", **setting}, {"alpha": 0.5})


@pytest.fixture
def report():
    return Report("links", "toy", 0, [row("tfidf", 0.1), row("lsi", 0.3, seed=1), row("lsi", 0.2, seed=2, dim=10)])


def test_json_has_the_fixed_keys(report):
    found = json.loads(json.dumps(report.to_json()))
    assert {"experiment", "corpus", "seed", "rows", "tests"} <= set(found)
    assert {"system", "metrics", "seconds", "split"} <= set(found["rows"][0])
    assert set(found["rows"][0]["metrics"]) == {"MAP", "rank_loss"}


def test_the_better_system_is_named_by_the_direction_of_the_metric(report):
    tests = {test["metric"]: test for test in report.tests()}
    assert tests["MAP"]["better"] == tests["rank_loss"]["better"] == "lsi"
    assert tests["MAP"]["p"] < 0.001


def test_a_test_has_both_p_values():
    rows = [row(name, mean, seed=seed) for seed, (name, mean) in enumerate([("a", 0.1), ("b", 0.13), ("c", 0.5)])]
    report = Report("links", "toy", 0, rows)
    test = next(t for t in report.tests() if (t["metric"], {t["better"], t["worse"]}) == ("MAP", {"a", "b"}))
    single = compare(rows[0].values["MAP"], rows[1].values["MAP"]).t
    assert test["p_uncorrected"] == pytest.approx(single)
    assert test["p"] >= test["p_uncorrected"]
    line = next(line for line in to_markdown(report).splitlines() if line.startswith("| MAP | b | a |"))
    assert f"| {single:.2g} |" in line


def test_a_start_is_part_of_a_rows_name():
    assert row("htr", 0.1, recipe="mined", start="words").name == "htr words"


def test_printed_rows_are_compared_by_names_of_their_own():
    mined, printed = row("htr", 0.1, recipe="mined"), row("htr", 0.3, seed=1, recipe="printed", start="normal")
    test = Report("links", "toy", 0, [mined, printed]).tests()[0]
    assert (test["better"], test["worse"]) == ("htr printed normal", "htr")
    assert "htr printed normal" in to_markdown(Report("links", "toy", 0, [mined, printed]))


def test_rows_of_different_settings_are_not_compared():
    apart = Report("links", "toy", 0, [row("tfidf", 0.1), row("lsi", 0.3, words="all")])
    assert apart.tests() == []


def test_markdown_shows_losses_in_percent_and_what_is_not_significant(report):
    text = to_markdown(Report("links", "toy", 0, [row("a", 0.1), row("b", 0.1001, seed=9)], ["a note"]))
    assert "rank_loss %" in text
    assert "(not significant)" in text
    assert text.endswith("- a note\n")


def test_markdown_names_the_setting_of_a_test_where_there_are_several():
    values = {"MAP": np.arange(6) / 10}
    rows = [
        Row(system, {"MAP": values["MAP"] + bonus}, 0.1, {"split": split, "seed": 0})
        for split in ("queries", "links")
        for system, bonus in (("a", 0.1), ("b", 0.0))
    ]
    text = to_markdown(Report("demo", "toy", 0, rows))
    assert "| split | metric | better | worse | p | Holm-corrected p |" in text
    assert "| links | MAP | a | b |" in text


def test_figures_are_written(report, tmp_path):
    figures = link_figures(report)
    assert set(figures) == {"map", "ap-lsi-tfidf-queries"}
    for name, draw in figures.items():
        draw(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_cell_is_computed_once_and_again_after_damage(tmp_path):
    cache, calls = CellCache(Request(full=True, cells=tmp_path / "cells")), []

    def compute():
        calls.append(1)
        return row("tfidf", 0.1)

    first, second = cache.row({"a": 1}, compute), cache.row({"a": 1}, compute)
    assert len(calls) == 1
    assert np.array_equal(first.values["MAP"], second.values["MAP"])
    assert second.to_json() == first.to_json()
    cache.row({"a": 2}, compute)
    assert len(calls) == 2
    for path in (tmp_path / "cells").iterdir():
        path.write_bytes(path.read_bytes()[:40])
    cache.row({"a": 1}, compute)
    assert len(calls) == 3
    other = CellCache(Request(full=True, cells=tmp_path / "cells", params={"dim": 5}))
    other.row({"a": 1}, compute)
    assert len(calls) == 4, "a row of other parameters is another cell"
    default = CellCache(Request(cells=tmp_path / "cells"))
    for _ in range(2):
        default.row({"a": 1}, compute)
    assert len(calls) == 5, "a default run keeps cells of its own"
    for _ in range(2):
        CellCache(Request(quick=True, cells=tmp_path / "cells")).row({"a": 1}, compute)
    assert len(calls) == 7, "a quick run neither keeps nor takes any"


def test_a_figure_shows_the_baseline_and_the_best_systems():
    rows = [row(f"s{number}", number / 20) for number in range(9)] + [row("s2", 0.9)]
    assert shown_systems(rows, "MAP", keep=("s0",)) == ["s0", "s2", "s5", "s6", "s7", "s8"]
    assert shown_systems(rows, "rank_loss", keep=("s0",)) == ["s0", "s2", "s5", "s6", "s7", "s8"]
    assert shown_systems(rows[:2], "MAP") == ["s0", "s1"]
