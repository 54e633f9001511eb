"""`tacit evaluate` with several runs: one table, intervals, marks against the first run."""

import json

import numpy as np
import pytest

from tacit.app.main import main
from tacit.data import read_qrels, read_run
from tacit.metrics import compare_systems, evaluate

N_QUERIES = 30


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The relevant document of each query is second in `base`, nearly always first in `good`, second in `same`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 a 1\n{q} 0 b 0\n" for q in range(N_QUERIES)))
    for name, is_first in (
        ("base", lambda q: q % 10 == 0),
        ("good", lambda q: q % 10 != 0),
        ("same", lambda q: q % 10 == 1),
    ):
        lines = [f"{q} Q0 a 1 {2 if is_first(q) else 0} {name}\n{q} Q0 b 2 1 {name}\n" for q in range(N_QUERIES)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return tmp_path  # fmt: skip


def test_runs_are_rows_and_measures_columns(folder, tacit):
    code, out, err = tacit(
        "evaluate", "qrels.txt", "base.run", "good.run", "--compare", "same.run", "-m", "RR", "-m", "P@1"
    )
    assert (code, err) == (0, "")
    header, *rows = out.splitlines()[:4]
    assert header.split() == ["run", "RR", "P@1"]
    found = evaluate(read_qrels("qrels.txt"), read_run("good.run"), ["RR", "P@1"])
    low, high = found.intervals()["RR"]
    assert [row.split()[0] for row in rows] == ["base.run", "good.run", "same.run"]
    assert f"{found.means()['RR']:.4f} [{low:.3f}, {high:.3f}] †" in rows[1]
    assert [row.count("†") for row in rows] == [0, 2, 0]
    assert "† differs from base.run, p < 0.05" in out
    assert f"{N_QUERIES} judged queries" in out
    assert "All pairs" not in out


def test_marks_are_those_of_the_test_against_the_first_run(folder, tacit):
    runs = ["base.run", "good.run", "same.run"]
    values = {r: evaluate(read_qrels("qrels.txt"), read_run(r), "RR").values["RR"] for r in runs}
    expected = compare_systems(values, "RR", "wilcoxon", baseline="base.run")
    found = json.loads(tacit("evaluate", "qrels.txt", *runs, "-m", "RR", "--test", "wilcoxon", "--json")[1])
    assert [(t["better"], t["worse"]) for t in found["tests"]] == [(c.better, c.worse) for c in expected]
    np.testing.assert_allclose([t["p"] for t in found["tests"]], [c.p for c in expected])
    assert [entry["run"] for entry in found["compare"]] == runs[1:]


def test_all_pairs_are_tested_when_asked_for(folder, tacit):
    runs = ("base.run", "good.run", "same.run")
    assert len(json.loads(tacit("evaluate", "qrels.txt", *runs, "-m", "RR", "--all-pairs", "--json")[1])["tests"]) == 3
    out = tacit("evaluate", "qrels.txt", *runs, "-m", "RR", "--all-pairs")[1]
    assert len(out.split("All pairs of runs:")[1].strip().splitlines()) == 4


def test_one_run_has_a_row_for_each_measure(folder, tacit):
    (folder / "part.run").write_text("1 Q0 a 1 1 x\n")
    out = tacit("evaluate", "qrels.txt", "part.run", "-m", "RR", "-m", "AP")[1]
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["RR", "AP"]
    assert f"part.run: {N_QUERIES - 1} judged queries without results, counted as 0" in out


def test_a_run_without_any_judged_query_is_refused(tmp_path, capsys):
    (tmp_path / "qrels.csv").write_text("query,document,grade\nred shoes,a,1\n")
    (tmp_path / "my.run").write_text("q1 Q0 a 1 2.5 x\n")
    assert main(["evaluate", str(tmp_path / "qrels.csv"), str(tmp_path / "my.run")]) == 1
    error = capsys.readouterr().err
    assert "none of the 1 judged queries is in the run" in error
    assert "queries such as 'red shoes', the run such as 'q1'" in error


def test_a_run_that_is_given_twice_is_refused(folder, tacit):
    code, _, err = tacit("evaluate", "qrels.txt", "base.run", "--compare", "base.run")
    assert (code, "given twice" in err) == (2, True)


def test_one_query_has_no_standard_error_and_unjudged_queries_are_counted(folder, tacit):
    (folder / "one.txt").write_text("3 0 a 1\n")
    code, out, _ = tacit("evaluate", "one.txt", "base.run", "-m", "RR")
    assert code == 0
    assert "nan" not in out
    assert out.splitlines()[1].split() == ["RR", "0.5000", "-", "0.5000", "-", "0.5000"]
    assert f"base.run: {N_QUERIES - 1} queries without judgments, not measured" in out
    assert json.loads(tacit("evaluate", "one.txt", "base.run", "--json")[1])["ignored"] == N_QUERIES - 1


def test_a_difference_of_zero_has_no_sign(folder, tacit):
    (folder / "copy.run").write_text((folder / "base.run").read_text())
    for name, first in (("noisy1.run", (0, 3, 5)), ("noisy2.run", (1, 2, 9))):  # equal means of different sums
        lines = [f"{q} Q0 {d} {d} {-d} x\n" for q in range(N_QUERIES) for d in range(q % 10 in first, 7)]
        (folder / name).write_text("".join(lines))
    (folder / "graded.txt").write_text("".join(f"{q} 0 {d} 1\n" for q in range(N_QUERIES) for d in (0, 2, 3)))
    out = tacit("evaluate", "graded.txt", "noisy1.run", "noisy2.run", "-m", "AP", "--all-pairs")[1]
    assert "-0.0000" not in out


def test_a_beir_folder_has_judgments(tmp_path, capsys):
    (tmp_path / "b" / "qrels").mkdir(parents=True)
    (tmp_path / "b" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
    (tmp_path / "b" / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n1\tb\t1\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n")
    assert main(["evaluate", str(tmp_path / "b"), str(tmp_path / "a.run"), "-m", "RR", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"]["RR"] == 1.0
    (tmp_path / "empty").mkdir()
    assert main(["evaluate", str(tmp_path / "empty"), str(tmp_path / "a.run")]) == 1
    assert "want qrels/test.tsv" in capsys.readouterr().err


def test_queries_without_judged_zeros_are_counted_where_a_measure_needs_them(folder, tacit):
    (folder / "positive.txt").write_text("".join(f"{q} 0 a 1\n" for q in range(N_QUERIES)))
    told = "30 queries without a document judged not relevant, counted as 0.5 in AUC and rank_loss\n"
    assert told in tacit("evaluate", "positive.txt", "base.run", "-m", "AUC", "-m", "rank_loss", "-m", "AP")[1]
    assert "not relevant" not in tacit("evaluate", "positive.txt", "base.run", "-m", "AP")[1]
    assert "not relevant" not in tacit("evaluate", "qrels.txt", "base.run", "-m", "AUC")[1]
    found = json.loads(tacit("evaluate", "positive.txt", "base.run", "-m", "AUC", "--json")[1])
    assert (found["without_zeros"], found["measures"]) == (30, {"AUC": 0.5})


def test_bounds_of_differences(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "old.run").write_text("q Q0 a 1 2 x\nq Q0 b 2 1 x\n")
    (tmp_path / "new.run").write_text("q Q0 a 1 2 x\nq Q0 u 2 1 x\n")
    call = ["evaluate", "qrels.txt", "old.run", "new.run", "--bounds"]
    assert main([*call, "-m", "P@2", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["bounds"]
    assert row == {"run": "new.run", "metric": "P@2", "difference": 0.0, "bounds": [0.0, 0.5], "unjudged": 1}
    assert main([*call, "-m", "nDCG@2"]) == 0
    assert "for any grades of unjudged results" in capsys.readouterr().out
    assert main([*call, "-m", "AP"]) == 2
    assert "no measure has bounds" in capsys.readouterr().err
    assert main(["evaluate", "qrels.txt", "old.run", "--bounds"]) == 2
    assert "two or more runs" in capsys.readouterr().err
