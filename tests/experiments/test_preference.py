"""The protocol on small lists that are written to disk: labels cut alike, test lists whole, report complete."""

import json

import numpy as np
import pytest

from tacit.core import Lists, UsageError
from tacit.data.letor.files import write_letor
from tacit.experiments.lists import preference
from tacit.experiments.lists.letor_task import read_letor_corpus, read_text_corpus
from tacit.experiments.lists.preference import (
    EFFECT_BETA,
    EFFECT_TOP,
    SHARES,
    Task,
    _cells,
    _make,
    keep_deep,
    keep_top,
    measure_cell,
    run,
)
from tacit.experiments.lists.preference_tables import NUMBERS
from tacit.experiments.request import Request
from tacit.rerank import METHODS
from tacit.rerank.gradient.neighbours import find_neighbours

N_LISTS, N_ROWS = 15, 12


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A set of the shape of MQ2008 in which feature 0 makes the grade."""
    folder = tmp_path_factory.mktemp("data")
    home = folder / "letor" / "MQ2008"
    home.mkdir(parents=True)
    rng = np.random.default_rng(0)
    X = rng.random((N_LISTS * N_ROWS, 46))
    y = np.digitize(X[:, 0] + rng.normal(0, 0.1, len(X)), [0.6, 0.9]).astype(float)
    names = [str(number) for number in range(N_LISTS)]
    starts = np.arange(0, len(X) + 1, N_ROWS)
    write_letor(Lists(X, y, starts, names, [f"d{row}" for row in range(len(X))]), home / "MQ2008.txt.gz")
    folds = {"Fold1": {"train": names[:9], "vali": names[9:12], "test": names[12:]}}
    (home / "folds.json").write_text(json.dumps(folds))
    return folder


def test_only_training_and_validation_labels_are_cut(data):
    task = Task(read_letor_corpus(data, "MQ2008"), "random")
    (fold,) = task.cut({"system": "ssbt", "share": 0.25, "seed": 0})
    for lists in (fold.train, fold.vali):
        assert (np.add.reduceat(np.isfinite(lists.y), lists.starts[:-1]) == 3).all()
    assert np.isfinite(fold.test.y).all()
    (whole,) = task.cut({"system": "upper-bound", "share": 0.25, "seed": 0})
    assert np.isfinite(whole.train.y).all()


def test_top_keeps_the_best_by_bm25_in_every_list(data):
    lists = read_letor_corpus(data, "MQ2008").lists
    kept = keep_top(lists, 3, lists.X[:, 24])
    for number in range(len(lists)):
        rows = lists.rows(number)
        best = set(np.argsort(-lists.X[rows, 24])[:3].tolist())
        assert set(np.flatnonzero(np.isfinite(kept.y[rows])).tolist()) == best


@pytest.mark.parametrize(("labels", "key"), [("random", "share"), ("top", "k")])
def test_report_has_a_row_for_each_share_and_curves(data, labels, key, tmp_path):
    report = run(Request(data=data, systems=("linear", "ranksvm", "upper-bound"), labels=labels))
    assert len(report.rows) == 3 * len(SHARES)
    assert all({key, "seed"} <= set(row.setting) for row in report.rows)
    assert all(len(row.values["MAP"]) == 3 for row in report.rows)
    found = report.to_json()
    assert {"better", "worse", "metric", "p", key} <= set(found["tests"][0])
    for name, draw in report.figures.items():
        draw(tmp_path / f"{name}.png")
    assert set(report.figures) == {"curve-nDCG-letor-10", "curve-nDCG-exp-10", "curve-MAP"}


def test_settings_of_a_cell_reach_the_ranker(data):
    task = Task(read_letor_corpus(data, "MQ2008"), "random")

    def chosen(**cell):
        return measure_cell(task, {"seed": 0, "share": 0.5} | cell, Request(threads=1)).chosen

    assert chosen(system="ssbt", n_neighbours=2)["beta"] == EFFECT_BETA  # K counts only where neighbours do
    assert chosen(system="ssbt", beta=7.0)["beta"] == 7
    assert chosen(system="ssbt", without="expected pairs")["expected"] == 0
    views = [
        measure_cell(task, {"system": system, "seed": 0, "share": 0.5} | extra, Request(threads=1))
        .values["MAP"]
        .tolist()
        for system, extra in (("standing-judged", {}), ("standing", {"view": "features"}), ("standing", {}))
    ]
    assert views[0] == views[1] != views[2]


def test_both_kinds_learn_what_makes_the_grade(data):
    report = run(Request(data=data, systems=("linear", "ssbt")))
    means = {(row.system, row.setting["share"]): row.metrics["MAP"] for row in report.rows}
    assert (
        min(means[system, 1.0] for system in ("linear", "ssbt")) > 0.75
    )  # 9 lists and 46 features; chance is below .5


def test_wrong_names_are_told_first(data):
    for request in (
        Request(data=data, systems=("nothing",)), Request(data=data, corpus="MQ2009"), Request(data=data, labels="all"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match="want one of"):
            run(request)


def test_where_the_top_is_judged_no_ranker_uses_expected_pairs(data):
    task = Task(read_letor_corpus(data, "MQ2008"), "top")
    cell = {"system": "ssbt", "seed": 0, "k": 5}
    assert measure_cell(task, cell, Request(threads=1)).chosen["expected"] == 0
    assert _make("sslambdamart", 0, "top", Request()).expected == 0
    assert _make("sslambdamart", 0, "random", Request()).expected == 0.5


def test_rows_without_neighbours_differ_in_beta_alone():
    for name in ("ssbt", "sslambdarank", "ssbt-printed", "sslambdarank-printed"):
        with_, without = (_make(system, 0, "random", Request()).get_params() for system in (name, f"{name}-beta0"))
        assert {key for key in with_ if with_[key] != without[key]} == {"beta"}
        assert without["beta"] == 0
    for name in ("bt-printed", "lambdarank-printed"):  # the same by a name of their own
        twin = _make(f"ss{name}-beta0", 0, "random", Request())
        assert repr(twin) == repr(METHODS[name].make(seed=0))


def test_content_neighbours_are_the_nearest_texts(data_folder):
    corpus = read_text_corpus(data_folder, "cacm")
    fold = corpus.fold("Fold2")
    table = corpus.similarities(fold.train)
    assert table.shape == (len(fold.train.y),) * 2
    first = corpus.content[int(fold.train.query_ids[1])].toarray()
    start, stop = fold.train.starts[1:3]
    np.testing.assert_allclose(table[start:stop, start:stop].toarray(), first @ first.T, atol=1e-6)
    assert table[start:stop].nnz == table[start:stop, start:stop].nnz  # nothing across lists
    rows = fold.train.rows(1)
    assert fold.train.X[rows].min() == 0
    assert fold.train.X[rows].max() == 1
    assert sorted(fold.train.query_ids + fold.vali.query_ids + fold.test.query_ids) == sorted(corpus.lists.query_ids)


def test_a_corpus_without_texts_has_no_content_rows(data):
    with pytest.raises(UsageError, match="ssbt-printed-content needs texts, which MQ2008 has not; want one of cran"):
        run(Request(data=data, systems=("ssbt-printed-content",)))


def test_equation_4_sums_to_one_in_each_list_and_changes_nothing_else():
    plain, other = (_make(f"ssbt-printed{form}", 0, "random", Request()) for form in ("", "-eq4"))
    params = plain.get_params(), other.get_params()
    assert {key for key in params[0] if params[0][key] != params[1][key]} == {"weighting"}
    points = np.random.default_rng(0).normal(size=(20, 2))
    near = find_neighbours(np.array([0, 8, 20]), 3, vectors=points, weighting=other.weighting, sigma=other.sigma)
    for first, last in ((0, 8), (8, 20)):
        inside = (near.left >= first) & (near.left < last)
        assert 2 * near.strength[inside].sum() == pytest.approx(1)  # over ordered pairs


def test_depth_keeps_as_many_labels_in_fewer_queries():
    starts = np.arange(0, 101, 10)
    lists = Lists(np.zeros((100, 1)), np.arange(100) % 3.0, starts, [str(q) for q in range(10)], [""] * 100)
    judged = [np.isfinite(keep_deep(lists, depth, 20, seed=3).y).reshape(10, 10).sum(axis=1) for depth in (2, 5, 16)]
    assert judged[0].tolist() == [2] * 10
    assert sorted(judged[1].tolist()) == [0] * 6 + [5] * 4
    assert sorted(judged[2].tolist()) == [0] * 8 + [10] * 2  # a list has no more than ten rows
    kept = keep_deep(lists, 5, 20, seed=3).y
    assert (kept[np.isfinite(kept)] == lists.y[np.isfinite(kept)]).all()


def test_a_full_run_varies_neighbours_of_both_kinds_where_the_top_is_judged(data_folder):
    corpus = read_text_corpus(data_folder, "cacm")
    request = Request(data=data_folder, full=True, n_seeds=1)
    cells = [cell for cell in _cells(request, Task(corpus, "top"), ()) if set(cell) & {"n_neighbours", "beta"}]
    assert {cell["k"] for cell in cells} == {EFFECT_TOP}
    varied = [(cell["system"], cell.get("n_neighbours", "none")) for cell in cells]
    by_features, by_content = "sslambdarank-printed", "sslambdarank-printed-content"
    assert varied == [(name, k) for name in (by_features, by_content) for k in NUMBERS] + [(by_features, "none")]
    assert cells[-1]["beta"] == 0


def test_a_full_run_reports_gains_by_agreement(data, monkeypatch, tmp_path):
    monkeypatch.setattr(preference, "NUMBERS", (2, 5))
    report = run(Request(data=data, systems=("linear",), labels="top", full=True, n_seeds=1, threads=1))
    (gains,) = [section for section in report.sections if section.title.startswith("Gain of the regularizer")]
    assert sorted(line[:2] for line in gains.rows) == [["features", "2"], ["features", "5"]]
    values = {
        row.setting.get("n_neighbours", 0): row.metrics["nDCG-letor@10"]
        for row in report.rows
        if "k" in row.setting and row.system != "linear"
    }
    found = {int(line[1]): float(line[3]) for line in gains.rows}
    assert all(found[k] == pytest.approx(values[k] - values[0], abs=5e-4) for k in found)
    assert {"preference-MQ2008-gain-by-agreement", "effect-n-neighbours"} <= set(report.figures)
    for name, draw in report.figures.items():
        draw(tmp_path / f"{name}.png")
