"""Counting places against a plain sort of every row, with ties and exclusions."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Judgments, Run, TacitError
from tacit.metrics import evaluate, full_ranking_measures


def slow_measures(scores, relevant, excluded):
    """One row, by sorting all candidates and comparing all pairs."""
    candidates = [item for item in range(len(scores)) if not excluded[item]]
    ranked = sorted(candidates, key=lambda item: (-scores[item], item))
    hits = [position for position, item in enumerate(ranked, start=1) if relevant[item]]
    pairs = [(a, b) for a in candidates if relevant[a] for b in candidates if not relevant[b]]
    wrong = sum(1.0 if scores[b] > scores[a] else 0.5 if scores[b] == scores[a] else 0.0 for a, b in pairs)
    return {
        "rank_loss": wrong / len(pairs) if pairs else 0.5,
        "AP": sum(n / position for n, position in enumerate(hits, start=1)) / len(hits),
        "P@10": sum(position <= 10 for position in hits) / 10,
        "RR": 1 / hits[0],
    }


def random_block(seed):
    rng = np.random.default_rng(seed)
    b, n = rng.integers(1, 8), rng.integers(1, 30)
    scores = rng.integers(-3, rng.choice([-2, 3, 100]), (b, n)) / 4
    relevant = rng.random((b, n)) < rng.choice([0.1, 0.5, 1])
    excluded = (rng.random((b, n)) < rng.choice([0, 0.3])) & ~relevant
    for row in np.flatnonzero(~relevant.any(axis=1)):
        item = rng.integers(n)
        relevant[row, item], excluded[row, item] = True, False
    return scores.astype(rng.choice([np.float32, np.float64])), relevant, excluded


@pytest.mark.parametrize("sort_from", [0, 200])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_agrees_with_a_plain_sort(sort_from, seed):
    scores, relevant, excluded = random_block(seed)
    before = scores.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.metrics.full_ranking.SORT_FROM", sort_from)
        measured = full_ranking_measures(scores, sp.csr_array(relevant), sp.csr_array(excluded))
    rows = [slow_measures(*row) for row in zip(scores, relevant, excluded, strict=True)]
    for name, values in measured.items():
        np.testing.assert_allclose(values, [row[name] for row in rows], rtol=0, atol=1e-14, err_msg=name)
    np.testing.assert_array_equal(scores, before)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_agrees_with_the_run_that_holds_every_candidate(seed):
    scores, relevant, excluded = random_block(seed)
    query, item = np.nonzero(~excluded)
    queries, items = [str(q) for q in range(len(scores))], [str(i) for i in range(scores.shape[1])]
    run = Run(queries, items, query, item, scores[query, item].astype(float))
    judgments = Judgments(queries, items, query, item, relevant[query, item].astype(float))
    expected = evaluate(judgments, run, ["rank_loss", "AP", "P@10", "RR"])
    measured = full_ranking_measures(scores, sp.csr_array(relevant), sp.csr_array(excluded))
    for name, values in expected.values.items():
        np.testing.assert_allclose(measured[name], values, rtol=0, atol=1e-12)


def test_by_hand():
    scores = np.array([[0.5, 0.9, 0.5, 0.5, 0.1]])
    # Order 1, 0, 2, 3, 4; item 3 stands at position 4. Of its 4 pairs one is wrong and two are ties: (1 + 2/2) / 4.
    measured = full_ranking_measures(scores, sp.csr_array([[0, 0, 0, 1, 0]]))
    assert {name: values.tolist() for name, values in measured.items()} == {
        "rank_loss": [0.5],
        "AP": [0.25],
        "P@10": [0.1],
        "RR": [0.25],
    }


def test_whole_numbers_stored_zeros_and_double_entries_are_read_rightly():
    relevant = sp.csr_array(([1, 1, 0], [1, 1, 0], [0, 3]), shape=(1, 3))  # item 1 twice, item 0 stored as no
    measured = full_ranking_measures([[3, 2, 1]], relevant)
    assert measured["AP"].tolist() == [0.5]
    assert relevant.nnz == 3  # the caller's matrix stays as it was


@pytest.mark.parametrize(
    ("scores", "relevant", "excluded", "message"),
    [
        ([[1.0, 2.0], [1.0, 2.0]], [[1, 0], [0, 0]], None, "row 1 has no relevant item"),
        ([[1.0, np.nan]], [[1, 0]], None, "row 0 has a score that is not finite at item 1"),
        ([[1.0, -np.inf]], [[1, 0]], [[0, 1]], "row 0 has a score that is not finite"),
        ([[1.0, 2.0]], [[1, 0]], [[1, 0]], "row 0 has item 0 both relevant and excluded"),
        ([[1.0, 2.0]], [[1, 0, 0]], None, r"relevant has shape \(1, 3\), scores \(1, 2\)"),
        ([[1.0, 2.0]], [[1, 0]], [[1]], "excluded has shape"),
        ([1.0, 2.0], [[1, 0]], None, "scores has 1 dimensions, want 2"),
    ],
)
def test_refuses_what_cannot_be_measured(scores, relevant, excluded, message):
    excluded = None if excluded is None else sp.csr_array(excluded)
    with pytest.raises(TacitError, match=message):
        full_ranking_measures(np.array(scores), sp.csr_array(relevant), excluded)


def test_no_relevant_matrix_at_all_is_refused():
    with pytest.raises(TacitError, match="relevant is None"):
        full_ranking_measures(np.ones((1, 2)), None)


def test_a_large_block_takes_seconds_at_most():
    rng = np.random.default_rng(0)
    b, n = 100, 63_714
    scores = rng.normal(size=(b, n)).astype(np.float32)
    items = np.tile(np.arange(0, 50_000, 5000), b)  # the same ten relevant items for each query
    relevant = sp.csr_array((np.ones(len(items)), items, np.arange(0, len(items) + 1, 10)), shape=(b, n))
    start = time.process_time()
    full_ranking_measures(scores, relevant)
    assert time.process_time() - start < 2  # takes 0.05 s; sorting every row would take about 1 s
