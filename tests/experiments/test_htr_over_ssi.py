"""The square of systems on a small corpus, generated documents, ranks of links, and where two curves cross."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import ttest_1samp

from tacit.core import Links
from tacit.experiments.collections import htr_over_ssi
from tacit.experiments.collections.htr_over_ssi_figures import (
    BORDERS,
    LinkRanks,
    corpus_figure,
    crossing,
    in_links_figure,
    link_ranks,
    world_figure,
)
from tacit.experiments.collections.htr_over_ssi_world import N_GROUPS, N_TOPICS, WORDS_OF_EACH, generate
from tacit.experiments.collections.link_task import LinkTask, split_links
from tacit.experiments.report import Row
from tacit.experiments.request import Request
from tacit.retrieve import get_method


@pytest.mark.parametrize("hidden", [0.0, 1.0])
def test_a_group_is_named_by_queries_and_by_items_that_tell(hidden):
    world = generate(1000, known=4, hidden=hidden, seed=0)
    of_group = slice(N_TOPICS * WORDS_OF_EACH, (N_TOPICS + N_GROUPS) * WORDS_OF_EACH)
    assert (np.diff(sp.csr_array(world.queries[:, of_group]).indptr) == 6).all()
    assert (np.diff(sp.csr_array(world.items[:, of_group]).indptr) == (0 if hidden else 6)).all()
    parts = [np.unique(part.sources) for part in (world.train, world.validation, world.test)]
    assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts))
    assert len(world.train) == pytest.approx(4 * 1000, rel=0.05)  # a rare kind has fewer than four items to link to


def test_links_join_texts_of_one_topic_and_the_same_group():
    world = generate(200, known=4, hidden=0.0, seed=1)
    kind_of_word = np.arange(world.items.shape[1]) // WORDS_OF_EACH

    def kinds(row):
        words = kind_of_word[row.indices]
        return set(words[words < N_TOPICS + N_GROUPS].tolist())

    for part in (world.train, world.validation, world.test):
        for query, item in list(zip(part.sources, part.targets, strict=True))[:40]:
            assert kinds(world.queries[[query]]) == kinds(world.items[[item]])
            assert len(kinds(world.items[[item]])) == 2


def test_ranks_of_links_count_what_is_not_relevant():
    scores = np.array([[0.9, 0.5, 0.5, 0.1, 0.7]], np.float32)
    relevant, excluded = (sp.csr_array(np.array([row])) for row in ([0, 1, 0, 1, 0], [0, 0, 0, 0, 1]))
    found = link_ranks(lambda rows: scores, sp.csr_array((1, 3)), relevant, excluded, np.array([9, 0, 9, 5, 9]))
    assert found.in_links.tolist() == [0, 5]
    assert found.reciprocal.tolist() == [1 / 2.5, 1 / 3]  # item 0 is above and item 2 level; items 0 and 2 are above
    assert found.counts() == [1, 0, 0, 1, 0, 0, 0]
    assert found.means()[3] == pytest.approx(1 / 3)


def test_the_last_bin_is_open():
    ranks = LinkRanks(np.array([BORDERS[-1], 10_000]), np.array([1.0, 0.5]))
    assert ranks.means()[-1] == 0.75
    assert np.isnan(ranks.means()[0])


def test_where_a_curve_passes_another():
    assert crossing([1, 2, 4], [3, 3, 3], [4, 5, 6]) == 1
    assert crossing([1, 2, 4], [0.9, 1, 1], [0.8, 1.001, 1.004]) is None  # no lead to speak of
    assert crossing([1, 2, 4], [3, 3, 3], [4, 5, 2]) is None
    assert 2 < crossing([1, 2, 4], [3, 3, 3], [9, 2, 4]) < 4  # the first lead does not last


def test_the_plan_changes_one_thing_at_a_time_at_all_links():
    default = htr_over_ssi.plan_corpus(Request(), htr_over_ssi.SYSTEMS)
    assert [cell["system"] for cell in default] == [*htr_over_ssi.SYSTEMS, "htr"]
    assert default[-1]["start"] == "words"
    cells = htr_over_ssi.plan_corpus(Request(full=True), htr_over_ssi.SYSTEMS)
    usual = [cell for cell in cells if len(cell) == 5 and cell["share"] == 1 and cell["dim"] == 100]
    assert len(usual) == 3 * len(htr_over_ssi.SYSTEMS)
    assert {cell["seed"] for cell in usual} == {0, 1, 2}
    around = [cell for cell in cells if (cell["share"] == 1 and len(cell) > 5) or cell["dim"] != 100]
    assert {cell["system"] for cell in around} == {"ssi-uv", "htr"}
    assert {cell.get("gamma") for cell in around if cell["system"] == "htr"} == {None, 0.0, 0.3, 3.0}
    assert all("gamma" not in cell for cell in around if cell["system"] == "ssi-uv")
    assert {cell["share"] for cell in cells} == {0.1, 0.3, 1.0}


def test_a_quick_run_has_short_training_and_the_square_alone():
    cells = htr_over_ssi.plan_corpus(Request(quick=True), htr_over_ssi.SYSTEMS)
    assert [cell["system"] for cell in cells] == [*htr_over_ssi.SYSTEMS]
    assert {cell["n_epochs"] for cell in cells} == {htr_over_ssi.QUICK_EPOCHS}


def test_the_printed_recipe_is_compared_on_the_core_too(tmp_path):
    write_links(tmp_path / "linked" / "foldoc")
    params = {"n_epochs": 1, "dim": 5}
    request = Request(data=tmp_path, systems=("htr", "ssi-uv"), params=params, as_printed=True, threads=1)
    report = htr_over_ssi.run(request)
    found = {
        (row.name, row.setting["items"], row.setting.get("least_links")): row.metrics["MAP"] for row in report.rows
    }
    lines = {(line[1], line[3], line[4]): line[5] for line in report.sections[0].rows}
    for start in ("normal", "scaled"):
        htr, ssi = f"htr printed {start}", f"ssi-uv printed {start}"
        for items, least in (("all", None), ("core", htr_over_ssi.CORE)):
            gain = found[htr, items, least] - found[ssi, items, least]
            assert lines[items, htr, ssi] == f"{gain:+.3f}"


def test_figures_show_what_was_measured(tmp_path):
    pytest.importorskip("matplotlib")

    def row(system, known, **setting):
        epochs = [{"epoch": 1, "MAP": 0.1}, {"epoch": 2, "MAP": 0.2}]
        return Row(system, {"MAP": np.array([0.1, 0.3])}, 1.0, {"known": known, **setting}, epochs=epochs)

    corpus = [row(name, share, share=share, dim=100, seed=0) for name in ("ssi-uv", "htr") for share in (0.3, 1.0)]
    corpus += [row("htr", 1.0, share=1.0, dim=100, seed=0, recipe="printed", start="normal")]
    corpus += [row("tfidf", 1.0, share=1.0, seed=0)]
    corpus_figure(corpus)(tmp_path / "corpus.png")
    in_links_figure({"htr": [0.1] * 7})(tmp_path / "in-links.png")
    world = [row("htr", known, hidden=hidden, recipe="mined") for known in (1, 2) for hidden in (0.0, 1.0)]
    world_figure(world)(tmp_path / "world.png")
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("corpus.png", "in-links.png", "world.png"))


def test_free_vectors_win_where_words_do_not_tell(monkeypatch):
    monkeypatch.setattr(htr_over_ssi, "KNOWN", (6,))
    request = Request(quick=True, corpus="generated", systems=("ssi-uv", "htr"), params={"n_epochs": 8})
    report = htr_over_ssi.run(request)
    found = {(row.name, row.setting["hidden"]): row.metrics["MAP"] for row in report.rows}
    assert found["htr", 1.0] > found["ssi-uv", 1.0]
    assert {row.setting["recipe"] for row in report.rows} == {"mined", "printed"}
    assert any("hidden 1, mined: htr has a higher MAP" in note for note in report.notes)


def write_links(folder):
    """A small linked corpus: two halves of documents, each linking within itself, three items very often."""
    rng = np.random.default_rng(3)
    folder.mkdir(parents=True)
    texts = [" ".join(f"w{half}x{word}" for word in rng.integers(0, 25, 12)) for half in (0, 1) for _ in range(60)]
    documents = [{"id": str(number), "title": f"t{number}", "text": text} for number, text in enumerate(texts)]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, documents)) + "\n")
    linked = [(q, 60 * (q // 60) + int(t)) for q in range(120) for t in {0, 1, 2, *rng.integers(0, 60, 3).tolist()}]
    (folder / "links.tsv").write_text("".join(f"{q}\t{t}\n" for q, t in linked if q != t))


def test_a_run_reports_the_square_and_continues_from_its_cells(tmp_path, monkeypatch):
    write_links(tmp_path / "linked" / "foldoc")
    systems = ("ssi-uv", "ssi-uv-noi", "htr", "htr-identity")
    params = {"n_epochs": 1, "dim": 5}
    request = Request(data=tmp_path, systems=systems, params=params, cells=tmp_path / "cells", threads=1)
    report = htr_over_ssi.run(request)
    square = [line for line in report.sections[0].rows if line[1] == "core"]
    assert [tuple(line[3:5]) for line in square] == [(one, other) for _, one, other in htr_over_ssi.SQUARE]
    groups = {0: {}, htr_over_ssi.CORE: {}}
    for row in report.rows:
        groups.get(row.setting.get("least_links", 0), {})[row.name] = row
    whole, core = groups.values()
    assert whole.keys() == core.keys() == {*systems, "htr words"}
    gain = core["htr-identity"].metrics["MAP"] - core["ssi-uv"].metrics["MAP"]
    assert square[1][5] == f"{gain:+.3f}"
    assert len(core["htr"].values["MAP"]) <= len(whole["htr"].values["MAP"])
    by_core = report.sections[1]
    assert by_core.header[2:4] == ["all items", "2"]
    line = next(line for line in by_core.rows if line[1] == htr_over_ssi.SQUARE[1][0])
    assert line[by_core.header.index(str(htr_over_ssi.CORE))] == f"{gain:+.3f} ({square[1][6]})"
    whole_gain = whole["htr-identity"].metrics["MAP"] - whole["ssi-uv"].metrics["MAP"]
    assert line[2].startswith(f"{whole_gain:+.3f} (")
    assert report.sections[2].rows[0][0] == "test links"
    monkeypatch.setattr(LinkTask, "fit_ranker", None)  # nothing is fitted again
    again = htr_over_ssi.run(request)
    assert json.dumps(again.to_json()) == json.dumps(report.to_json())
    pytest.importorskip("matplotlib")
    for name, draw in again.figures.items():
        draw(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_several_seeds_are_also_tested_together(tmp_path):
    write_links(tmp_path / "linked" / "foldoc")
    params = {"n_epochs": 1, "dim": 5}
    request = Request(data=tmp_path, systems=("htr", "ssi-uv"), params=params, threads=1)
    alone = [htr_over_ssi.run(replace(request, seed=seed)) for seed in (3, 4)]
    report = htr_over_ssi.run(replace(request, seed=3, n_seeds=2))
    lines = report.sections[0].rows
    assert [tuple(line[:2]) for line in lines[-2:]] == [("all", "all"), ("all", "core")]
    assert sorted(lines[:-2]) == sorted(line for part in alone for line in part.sections[0].rows)
    values = {}
    for row in report.rows:
        if (
            row.setting["items"] == "core"
            and row.setting["least_links"] == htr_over_ssi.CORE
            and row.name == row.system
        ):
            values.setdefault(row.name, []).extend(row.values["MAP"])
    gain = np.subtract(values["htr"], values["ssi-uv"])
    assert lines[-1][5] == f"{gain.mean():+.3f}"
    assert lines[-1][6] == f"{ttest_1samp(gain, 0).pvalue:.2g}"


def test_the_core_ranks_well_linked_items_alone():
    rng = np.random.default_rng(0)
    links = Links(*np.unique(rng.integers(0, 30, (2, 300)), axis=1), 30, 30)
    split = split_links(links, "queries", 0)
    words = sp.csr_array(rng.random((30, 12)).astype(np.float32))
    rows = split.test_queries(100, 0)
    task = LinkTask({"tfidf": words}, {"tfidf": words}, split, rows, 1)
    ranker = get_method("tfidf").make().fit(words, words)
    in_links = np.bincount(split.train.targets, minlength=30)
    least = int(np.median(in_links))
    found, core = task.measure(ranker, least), set(np.flatnonzero(in_links >= least).tolist())
    expected = []
    for row in rows:
        relevant = core & set(split.test.targets[split.test.sources == row].tolist())
        known = {int(row), *split.train.targets[split.train.sources == row].tolist()}
        candidates = sorted(core - known - set(split.validation.targets[split.validation.sources == row].tolist()))
        scores = ranker.scores(words[[row]])[0]
        if relevant:
            ranks = sorted(1 + sum(scores[other] > scores[item] for other in candidates) for item in relevant)
            expected.append(np.mean([(place + 1) / rank for place, rank in enumerate(ranks)]))
    assert 0 < len(expected) == task.core_queries(least).sum()
    np.testing.assert_allclose(found["MAP"], expected)
