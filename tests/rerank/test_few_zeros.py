"""Lists whose judged rows are relevant but for a few: unjudged rows take part, and one judgment more changes little."""

import logging
from dataclasses import replace

import numpy as np
import pytest

from tacit.core import Lists
from tacit.metrics import evaluate_rows
from tacit.rerank.ranking_lists import RankingTask, fit_lists, has_few_zeros, positive_pairs


def make_lists(n_lists=30, n_rows=20):
    """The first feature is relevance, the second chance; half of the relevant rows are judged, and nothing else."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n_lists * n_rows, 2))
    truth = np.where(X[:, 0] > 0.8, 1.0 + (X[:, 0] > 1.5), 0.0)
    judged = (truth > 0) & (rng.random(len(X)) < 0.5)
    starts = np.arange(n_lists + 1) * n_rows
    names = [str(number) for number in range(n_lists)]
    return Lists(X, np.where(judged, truth, np.nan), starts, names, [str(row) for row in range(len(X))]), truth


def quality(method, lists, truth):
    ranker = fit_lists(RankingTask(method), lists, warn=False)
    return evaluate_rows(truth, ranker.predict(lists.X, lists.qid), lists.qid, "nDCG@10").means()["nDCG@10"]


@pytest.mark.parametrize("method", ["standing", "linear", "rankboost"])
def test_graded_and_nearly_positive_judgments_teach_as_positive_ones_do(method):
    lists, truth = make_lists()
    flat = quality(method, replace(lists, y=np.minimum(lists.y, 1)), truth)
    unlucky = np.flatnonzero(np.isnan(lists.y))[np.argmax(lists.X[np.isnan(lists.y), 0])]
    one_zero = lists.y.copy()
    one_zero[unlucky] = 0  # an unjudged row that looks best of all
    assert flat > 0.9
    for y in (lists.y, one_zero, np.minimum(one_zero, 1)):
        assert quality(method, replace(lists, y=y), truth) > flat - 0.03


def test_a_fifth_of_zeros_is_enough_to_leave_unjudged_rows_out(caplog):
    lists, _ = make_lists()
    n_relevant = int((lists.y > 0).sum())
    free = np.flatnonzero(np.isnan(lists.y))
    for n_zeros, few in ((0, True), (n_relevant // 8, True), (n_relevant // 4 + 1, False), (len(free), False)):
        y = lists.y.copy()
        y[free[:n_zeros]] = 0
        assert has_few_zeros(replace(lists, y=y)) == few
    y = lists.y.copy()
    y[free[:3]] = 0
    with caplog.at_level(logging.WARNING, logger="tacit"):
        fit_lists(RankingTask("linear"), replace(lists, y=y))
    assert f"{n_relevant} of {n_relevant + 3} judged rows are relevant: unjudged rows of their lists" in caplog.text


def test_pairs_are_of_relevant_and_unjudged_rows():
    y = np.array([2.0, 0.0, np.nan, -1.0, np.nan, 1.0])
    lists = Lists(np.zeros((6, 1)), y, np.array([0, 4, 6]), ["a", "b"], list("uvwxyz"))
    assert positive_pairs(lists).tolist() == [[0, 2], [0, 3], [5, 4]]
