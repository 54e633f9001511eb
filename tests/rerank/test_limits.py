"""Long lists and wide tables: bounded memory, or one line with the estimate."""

import tracemalloc

import numpy as np
import pytest

from tacit.core import TacitError
from tacit.rerank import METHODS, get_method, input_checks
from tacit.rerank.gradient.expected_pairs import expected_pairs
from tacit.rerank.rows import Rows, graded_pairs


@pytest.mark.parametrize("name", ["standing", "linear", "ssbt"])
def test_memory_does_not_grow_with_the_square_of_the_list(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = np.clip(np.round(X[:, 0] + 1), 0, 2)  # about 130 million pairs of different grades
    y[::2] = -1
    ranker = get_method(name).make(**({} if name == "standing" else {"n_epochs": 20}))
    tracemalloc.start()
    ranker.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6
    assert ranker.score(X, np.clip(np.round(X[:, 0] + 1), 0, 2)) > 0.99


def test_long_lists_give_all_pairs_up_to_the_bound_and_a_sample_beyond():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(60) < 0.2, np.nan, rng.integers(0, 3, 60).astype(float))
    starts = np.array([0, 40, 60])
    by_table = graded_pairs(y, starts)
    by_counts = graded_pairs(y, starts, short=5)
    assert all(np.array_equal(a, b) for a, b in zip(by_table, by_counts, strict=True))
    some = graded_pairs(y, starts, most=100, short=5)
    first = by_table.better < 40
    assert 50 < (some.better < 40).sum() <= 100
    assert some.weight[some.better < 40].sum() == pytest.approx(first.sum())
    assert (y[some.better] > y[some.worse]).all()
    rows = Rows(np.zeros((60, 1)), y, starts, np.arange(60))
    whole = expected_pairs(rows).weight.sum()
    assert expected_pairs(rows, most=50).weight.sum() == pytest.approx(whole, rel=0.2)


@pytest.mark.parametrize("name", ["standing", "ssbt", "guarded"])
def test_wide_tables_are_refused_with_the_estimate(name, monkeypatch):
    monkeypatch.setattr(input_checks, "memory_size", lambda: 10**9)
    X = np.zeros((20, 6000))
    X[:, 0] = np.arange(20)
    with pytest.raises(TacitError, match=r"would need about [\d,.]+ GB of memory"):
        get_method(name).make().fit(X, np.arange(20) % 3)


def test_wide_tables_within_bounds_are_learned():
    X = np.zeros((20, 100_000))
    X[:, 0] = np.arange(20) % 3
    scores = get_method("linear").make(n_epochs=3).fit(X, np.arange(20) % 3).predict(X)
    assert scores[2] > scores[1] > scores[0]


@pytest.mark.parametrize("name", ["rankboost", "adacost", "lightgbm"])
def test_the_largest_numbers_are_taken_without_overflow(name):
    """Only the order of values counts for these; warnings are errors in tests."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    large = X.copy()
    large[3:8, 1], large[9, 1], large[10, 2] = 1.7e308, -1.7e308, np.nan
    y, qid = (X[:, 0] > 0).astype(float), np.repeat(np.arange(6), 10)
    ranker = get_method(name).make().fit(large, y, qid)
    assert np.isfinite(ranker.feature_means_).all()
    assert np.isfinite(ranker.predict(large, qid)).all()
    assert np.isfinite(ranker.predict(X, qid)).all()


@pytest.mark.parametrize("name", METHODS)
def test_the_largest_numbers_of_both_signs_are_refused_in_one_line_or_scored(name):
    """Sums of 1.7e308 and -1.7e308 are neither finite nor infinite; warnings are errors in tests."""
    X = np.where(np.arange(60)[:, None] % 2, 1.7e308, -1.7e308) * np.ones(3)
    refusal, scores = "", np.zeros(0)
    try:
        scores = get_method(name).make().fit(X, np.arange(60) % 2, np.repeat(np.arange(6), 10)).predict(X)
    except TacitError as error:
        refusal = str(error)
    assert "\n" not in refusal
    assert np.isfinite(scores).all()
    assert len(scores) == 60 or refusal


@pytest.mark.parametrize(
    ("parameters", "scale", "message"),
    [
        ({"n_leaves": 10**6}, 1, "n_leaves is 1000000, want a whole number >= 2 and <= 131072"),  # a segmentation fault
        ({"n_leaf_rows": 2**40}, 1, "n_leaf_rows is"),
        ({}, 100, "grade 200: LightGBM's lambdarank takes grades from 0 to 30"),
    ],
)
def test_limits_of_lightgbm_are_named(parameters, scale, message):
    pytest.importorskip("lightgbm")
    rows = np.random.default_rng(0).normal(size=(60, 4))
    with pytest.raises(TacitError, match=message):
        METHODS["lightgbm"].make().set_params(n_trees=3, **parameters).fit(rows, np.arange(60) % 3 * scale)
