"""The closed form against the sum over pairs that it minimises, and against a plain fit with all columns."""

import numpy as np
import pytest

from tacit.core import Lists, TacitError
from tacit.features.kernel_pca import Kernel, KernelPca
from tacit.rerank.linear.ridge import ListRidgeRanker
from tacit.rerank.rows import group_rows
from tacit.rerank.transduction.ranker import TransductiveRanker

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(5), [6, 3, 8, 1, 5])
X = RNG.normal(size=(len(QID), 3)) * [1, 5, 0.2] + QID[:, None]
Y = np.where(RNG.random(len(QID)) < 0.2, np.nan, RNG.integers(0, 3, len(QID)) + (X[:, 0] > QID))


def pair_objective(w, scale, penalty, weights):
    """The sum over pairs of one list divided by its size, over all judged rows, plus the penalty."""
    total, judged = 0.0, ~np.isnan(Y)
    for q in range(5):
        rows = np.flatnonzero((q == QID) & judged)
        mass = weights[rows].sum()
        for i in rows:
            for j in rows:
                gap = (X[i] - X[j]) @ w - (Y[i] - Y[j])
                total += weights[i] * weights[j] * gap**2 / mass / 2
    return total / judged.sum() + penalty * ((w / scale) ** 2).sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_minimise_the_sum_over_pairs(weighted):
    weights = RNG.random(len(QID)) + 0.5 if weighted else np.ones(len(QID))
    ranker = ListRidgeRanker(penalties=(0.1,))
    rows = group_rows(X, Y, QID)
    ranker.fit_prepared(ranker.prepare(rows), weights=weights if weighted else None)
    direction = ranker.path_[0]
    # Scores are scaled to deviation 1: the best length along the direction is found by a line search.
    judged = ~np.isnan(Y)
    centred = X.copy()
    for q in range(5):
        part = (q == QID) & judged
        centred[part] -= np.average(X[part], axis=0, weights=weights[part])
    scale = 1 / np.sqrt((weights[judged, None] * centred[judged] ** 2).sum(axis=0) / judged.sum())
    lengths = np.linspace(0.01, 3, 600)
    best = min(lengths, key=lambda length: pair_objective(length * direction, scale, 0.1, weights))
    value = pair_objective(best * direction, scale, 0.1, weights)
    for _ in range(30):
        nudge = RNG.normal(size=3) * scale * 0.05
        assert pair_objective(best * direction + nudge, scale, 0.1, weights) >= value - 1e-6


def test_further_columns_are_as_if_they_had_always_been_there():
    extra = RNG.normal(size=(len(QID), 2))
    weights = RNG.random(len(QID)) + 0.1
    ranker = ListRidgeRanker()
    for w in (None, weights):
        joined = ranker.fit_prepared(ranker.prepare(group_rows(X, Y, QID)), extra, w).path_.copy()
        whole = ranker.fit_prepared(ranker.prepare(group_rows(np.hstack([X, extra]), Y, QID)), weights=w).path_
        np.testing.assert_allclose(joined, whole, atol=1e-10)


def test_constant_columns_are_harmless_and_validation_chooses_a_penalty():
    table = np.column_stack([X, np.full(len(X), 7.0)])
    starts = np.concatenate([[0], np.cumsum(np.bincount(QID))])
    validation = Lists(table, Y, starts, list("abcde"), [""] * len(Y))
    ranker = ListRidgeRanker().fit(table, Y, QID, validation=validation)
    assert ranker.weights_[3] == 0
    assert any(np.array_equal(ranker.weights_, weights) for weights in ranker.path_)


def test_is_a_base_of_per_list_training():
    kernels = KernelPca((Kernel("linear", 2),), clip=0.01)
    ranker = TransductiveRanker(ListRidgeRanker(), kernels, threads=1, average=True).fit(X, Y, QID)
    found = KernelPca((Kernel("linear", 2),), clip=0.01).fit(X[:6])
    base = ListRidgeRanker().fit(np.hstack([X, found.transform(X)]), Y, QID)
    np.testing.assert_allclose(ranker.predict(X[:6], np.zeros(6)), base.predict(np.hstack([X, found.transform(X)])[:6]))
    assert (np.abs(found.transform(100 * X)) <= np.abs(found.range_).max(axis=0) + 1e-12).all()


def test_wrong_penalties_are_told():
    for penalties, problem in (((), "penalties is empty"), ((0.0,), "penalty is 0.0")):
        with pytest.raises(TacitError, match=problem):
            ListRidgeRanker(penalties).fit(X, Y, QID)
