"""Cuts take what they say, the same for every method; the curve of a learnable world rises."""

import json

import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import Lists, TacitError, UsageError
from tacit.data import write_letor, write_run
from tacit.rerank.learning_curve import cut_labels, cut_queries, draw_folds, fold_parts, learning_curve, with_labels


def world(n_lists=20, n_rows=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * n_rows, 4))
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=len(X))), 0, 2)
    return Lists(X, y, np.arange(0, len(X) + 1, n_rows), [f"q{n}" for n in range(n_lists)], [""] * len(X))


def test_cuts_by_queries_take_whole_lists_and_nest():
    lists = world()
    few, many = (np.isfinite(cut_queries(lists, share, seed=2).y).reshape(20, 12) for share in (0.1, 0.5))
    assert (few.all(axis=1).sum(), many.all(axis=1).sum()) == (2, 10)
    assert (few.any(axis=1) == few.all(axis=1)).all()
    assert (many >= few).all()
    assert np.isfinite(cut_queries(lists, 0.001, 0).y).sum() == 12
    with pytest.raises(TacitError, match="share"):
        cut_queries(lists, 0, 0)


def test_cuts_by_documents_keep_a_share_of_the_labels_not_of_the_rows():
    lists = world()
    y = lists.y.reshape(20, 12).copy()
    y[:, 4:] = np.nan  # 4 of 12 rows of each list are judged
    lists = Lists(lists.X, y.ravel(), lists.starts, lists.query_ids, lists.doc_ids)
    for share, n_kept in ((0.05, 2), (0.75, 3), (1.0, 4)):
        kept = np.isfinite(cut_labels(lists, share, seed=0).y).reshape(20, 12)
        assert (kept.sum(axis=1) == n_kept).all()
    top = np.isfinite(cut_labels(lists, 0.5, seed=0, ranks=np.tile(np.arange(12.0), 20)).y).reshape(20, 12)
    assert top[:, 2:4].all()


def test_folds_are_apart_and_cover_all():
    lists = world()
    folds = draw_folds(lists, seed=1)
    assert sorted(query for fold in folds.values() for query in fold.test) == sorted(lists.query_ids)
    for fold in folds.values():
        assert len({*fold.train, *fold.vali, *fold.test}) == len(fold.train) + len(fold.vali) + len(fold.test) == 20
    with pytest.raises(TacitError, match="2 queries"):
        draw_folds(lists.take([0, 1]))


@pytest.mark.parametrize("by", ["documents", "queries"])
def test_the_curve_rises_and_counts_its_labels(by):
    lists = world()
    points = learning_curve(fold_parts(lists, draw_folds(lists)), ["auc-logistic"], by=by, shares=(1.0, 0.2), n_seeds=2)
    assert [point.share for point in points] == [0.2, 1.0]
    assert points[1].n_documents == 12 * 12
    assert points[1].n_queries == 12
    assert points[0].n_documents < points[1].n_documents
    assert (points[0].n_queries < 12) == (by == "queries")
    assert points[0].mean < points[1].mean + 0.02
    assert points[1].mean > 0.8
    assert points[1].low < points[1].mean < points[1].high
    assert len(points[1].values) == 20


def test_the_full_point_is_what_the_method_gives():
    lists = world()
    part = fold_parts(lists, draw_folds(lists))[:1]
    (point,) = learning_curve(part, ["linear"], shares=(1.0,))
    from tacit.rerank import get_method

    train = cut_labels(part[0].train, 1.0, 0)
    ranker = get_method("linear").make().fit(train.X, train.y, train.qid, validation=part[0].vali)
    assert point.mean == pytest.approx(ranker.score(part[0].test.X, part[0].test.y, part[0].test.qid))


def test_labels_that_teach_nothing_are_told():
    lists = world()
    flat = Lists(lists.X, np.zeros(len(lists.y)), lists.starts, lists.query_ids, lists.doc_ids)
    with pytest.raises(TacitError, match="no list with two different grades"):
        learning_curve(fold_parts(flat, draw_folds(flat)), ["linear"], shares=(0.5,))
    with pytest.raises(TacitError, match=r"no list \(of 20\)"):
        with_labels(Lists(lists.X, np.full(len(lists.y), np.nan), lists.starts, lists.query_ids, lists.doc_ids))
    with pytest.raises(UsageError, match="method"):
        learning_curve(fold_parts(lists, draw_folds(lists)), ["nobody"])


def test_the_command_prints_and_draws(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_letor(world(), "lists.txt")
    words = [
        "learning-curve",
        "lists.txt",
        "--method",
        "auc-logistic",
        "--share",
        "0.2",
        "--share",
        "1",
        "--seeds",
        "1",
    ]
    assert main([*words, "--against", "linear", "--json", "--out", "curve"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [(p["system"], p["share"]) for p in found["points"]] == [
        ("auc-logistic", 0.2), ("auc-logistic", 1.0), ("linear", 0.2), ("linear", 1.0)
    ]  # fmt: skip
    assert {test["share"] for test in found["tests"]} == {0.2, 1.0}
    assert (tmp_path / "curve" / "learning-curve.json").exists()
    assert (tmp_path / "curve" / "learning-curve.png").stat().st_size > 1000
    assert main([*words, "--test", "lists.txt"]) == 0
    assert "95% interval" in capfd.readouterr().out
    assert main([*words, "--against", "auc-logistic"]) == 2
    assert main([*words, "--vali", "lists.txt"]) == 2


def test_a_column_is_a_line_without_labels_and_agrees_with_evaluate(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = world()
    write_letor(lists, "lists.txt")
    (tmp_path / "names.txt").write_text("bm25\ntitle\nlength\nage\n")
    words = ["learning-curve", "lists.txt", "--method", "linear", "--share", "1", "-m", "nDCG@10", "--json"]
    assert main([*words, "--column", "bm25", "--names", "names.txt"]) == 0
    found = json.loads(capfd.readouterr().out)
    point = found["points"][0]
    assert (point["system"], point["share"], point["documents"]) == ("bm25", 0.0, 0.0)
    assert {(test["better"], test["worse"]) for test in found["tests"]} == {("linear", "bm25")}
    write_run(lists.to_run(lists.X[:, 0]), "column.run")
    assert main(["evaluate", "lists.txt", "column.run", "-m", "nDCG@10", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["measures"]["nDCG@10"] == pytest.approx(point["mean"], abs=1e-9)
    for mistake, code, message in (
        (["--column", "5"], 2, "--column is 5, want"),
        (["--column", "bm25"], 2, "want a number from 1 to 4, or --names"),
        (["--column", "bm26", "--names", "names.txt"], 2, "did you mean 'bm25'"),
    ):
        assert main([*words, *mistake]) == code
        assert message in capfd.readouterr().err


def test_all_labels_agree_with_rank_and_evaluate_on_the_same_folds(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_letor(world(), "lists.txt")
    assert main(["split", "lists.txt", "--folds", "4", "--out", "parts"]) == 0
    shared = ["lists.txt", "--method", "linear", "--folds", "parts/folds.json"]
    assert main(["learning-curve", *shared, "--share", "1", "-m", "AP", "--json"]) == 0
    point = json.loads(capfd.readouterr().out)["points"][0]
    assert main(["rank", *shared, "-o", "linear.run"]) == 0
    assert main(["evaluate", "lists.txt", "linear.run", "-m", "AP", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["measures"]["AP"] == pytest.approx(point["mean"], abs=1e-9)


def test_judgments_of_relevant_rows_alone_are_told_once(tmp_path, caplog, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = world()
    y = np.where(lists.y > 0, 1.0, np.nan)
    write_letor(Lists(lists.X, y, lists.starts, lists.query_ids, lists.doc_ids), "lists.txt")
    assert main(["learning-curve", "lists.txt", "--method", "linear", "--share", "1", "--share", "0.5"]) == 0
    assert caplog.text.count("are taken as probably worse") == 1
