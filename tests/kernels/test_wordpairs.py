"""A dense matrix W in NumPy is the oracle, whatever form the weights are held in."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels import wordpairs
from tacit.kernels.blocks import index_queries


def random_rows(rng, n_rows, n_words, share=0.5):
    values = rng.normal(size=(n_rows, n_words)).astype(np.float32)
    return sp.csr_array(values * (rng.random((n_rows, n_words)) < share))


def csr(rows):
    return rows.indptr, rows.indices, rows.data


def place(s, t, stride, n_buckets):
    return (s * stride + t) % n_buckets


def dense_of(places, stride, n_query_words, n_item_words):
    s, t = np.indices((n_query_words, n_item_words))
    return places[place(s, t, stride, len(places))].astype(np.float64)


SIZES = {
    "seed": st.integers(0, 2**32 - 1),
    "n_query_words": st.integers(1, 9),
    "n_item_words": st.integers(1, 9),
    "spare": st.integers(-8, 30),  # a table may be shorter than a row
    "stride": st.sampled_from([1, 7, 31, 2_038_074_743]),
}


@given(**SIZES, first=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_products_of_segments(seed, n_query_words, n_item_words, spare, stride, first):
    rng = np.random.default_rng(seed)
    places = rng.normal(size=max(1, n_item_words + spare)).astype(np.float32)
    rows, picked = random_rows(rng, 5, n_query_words), np.array([3, 0, 3])
    out, first = np.zeros((3, n_item_words), np.float32), min(first, n_item_words)
    wordpairs.add_segments(*csr(rows), picked, first, n_item_words, places, stride, out)
    expected = rows.toarray()[picked] @ dense_of(places, stride, n_query_words, n_item_words)
    expected[:, :first] = 0
    np.testing.assert_allclose(out, expected, atol=1e-5)  # float32 sums of <= 9 terms


def test_products_do_not_depend_on_tiles_or_company():
    rng, n_item_words = np.random.default_rng(0), 2 * wordpairs.TILE + 57
    places = rng.normal(size=n_item_words + 1000).astype(np.float32)
    rows = random_rows(rng, 4, 6)
    together, alone = (np.zeros((4, n_item_words), np.float32) for _ in range(2))
    wordpairs.add_segments(*csr(rows), np.arange(4), 0, n_item_words, places, 3001, together)
    for r in range(4):
        wordpairs.add_segments(*csr(rows), np.array([r]), 0, n_item_words, places, 3001, alone[r : r + 1])
    assert np.array_equal(together, alone)
    expected = rows.toarray() @ dense_of(places, 3001, 6, n_item_words)
    np.testing.assert_allclose(together, expected, atol=1e-5)


def random_block(rng, n_query_words, n_item_words, n_queries=4, n_pool=5):
    """Queries of a block, steps that they have learned, and the index of their words."""
    rows, items = random_rows(rng, 6, n_query_words), random_rows(rng, 8, n_item_words)
    queries, pool = rng.permutation(6)[:n_queries], rng.permutation(8)[:n_pool]
    gradients = np.zeros((n_pool + 2, n_queries), np.float32)
    gradients[:n_pool] = rng.normal(size=(n_pool, n_queries)) * (rng.random((n_pool, n_queries)) < 0.6)
    steps = np.full((n_queries, n_item_words), 9, np.float32)
    touched, n_touched = np.empty((n_queries, n_item_words), np.int32), np.empty(n_queries, np.int64)
    wordpairs.word_steps(*csr(items), pool, gradients, 0, n_queries, steps, touched, n_touched)
    index = (*(np.zeros(n_query_words, np.int64) for _ in range(2)), np.empty(99, np.int64), np.empty(99, np.float32))
    index_queries(*csr(rows), queries, *index)
    return rows, items, queries, pool, gradients, (steps, touched, n_touched), index


@given(seed=st.integers(0, 2**32 - 1), n_item_words=st.integers(1, 9))
@settings(max_examples=25, deadline=None)
def test_steps_are_pulled_items_and_touched_words_are_their_support(seed, n_item_words):
    _, items, _, pool, gradients, (steps, touched, n_touched), _ = random_block(
        np.random.default_rng(seed), 3, n_item_words
    )
    np.testing.assert_allclose(steps, gradients[: len(pool)].T @ items.toarray()[pool], atol=1e-5)
    for b, size in enumerate(n_touched):
        assert np.array_equal(touched[b, :size], np.flatnonzero(steps[b]))


@given(**SIZES, run=st.integers(1, 12), n_owners=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_segments_learn_the_outer_products_of_all_queries(
    seed, n_query_words, n_item_words, spare, stride, run, n_owners
):
    rng = np.random.default_rng(seed)
    rows, _, queries, _, _, (steps, touched, n_touched), index = random_block(rng, n_query_words, n_item_words)
    before = rng.normal(size=max(1, n_item_words + spare)).astype(np.float32)
    learned = []
    for owners in (1, n_owners):
        places = before.copy()
        for owner in range(owners):
            layout = np.float32(0.3), stride, run, places
            words = rows.indptr, rows.indices, queries
            wordpairs.learn_segments(*words, *index, steps, touched, n_touched, *layout, owner, owners)
        learned.append(places)
    gradient, expected = rows.toarray()[queries].T.astype(np.float64) @ steps, before.astype(np.float64)
    s, t = np.indices(gradient.shape)
    np.add.at(expected, place(s, t, stride, len(before)), 0.3 * gradient)
    np.testing.assert_allclose(learned[0], expected, atol=1e-5)
    assert np.array_equal(learned[0], learned[1])  # the same bits for any number of owners


@given(seed=st.integers(0, 2**32 - 1), per_row=st.integers(1, 6), n_owners=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_a_pattern_multiplies_and_learns_like_the_matrix_with_the_rest_held_at_zero(seed, per_row, n_owners):
    rng = np.random.default_rng(seed)
    rows, _, queries, _, _, (steps, _, n_touched), _ = random_block(rng, 7, 6)
    columns = np.sort(np.argsort(rng.random((7, 6)), axis=1)[:, :per_row].astype(np.int32), axis=1)
    values = rng.normal(size=columns.shape).astype(np.float32)
    dense, inside = np.zeros((7, 6)), np.zeros((7, 6), bool)
    np.put_along_axis(dense, columns, values, axis=1)
    np.put_along_axis(inside, columns, True, axis=1)
    out = np.zeros((len(queries), 6), np.float32)
    wordpairs.add_pattern(*csr(rows), queries, 0, len(queries), columns, values, out)
    np.testing.assert_allclose(out, rows.toarray()[queries] @ dense, atol=1e-5)
    for owner in range(n_owners):
        wordpairs.learn_pattern(
            *csr(rows), queries, steps, n_touched, np.float32(0.3), columns, values, owner, n_owners
        )
    expected = (dense + 0.3 * rows.toarray()[queries].T @ steps) * inside
    np.testing.assert_allclose(values, np.take_along_axis(expected, columns, axis=1), atol=1e-5)


def test_scores_and_identity_of_some_rows():
    rng = np.random.default_rng(5)
    rows, items = random_rows(rng, 3, 6), random_rows(rng, 8, 6)
    vectors, scores = np.zeros((3, 6), np.float32), np.full((4, 3), 7, np.float32)
    wordpairs.add_identity(*csr(rows), np.array([2, 0, 1]), 0, 2, np.float32(2), vectors)
    np.testing.assert_allclose(vectors, [2 * rows.toarray()[2], 2 * rows.toarray()[0], np.zeros(6)])
    wordpairs.score_words(*csr(items), np.array([7, 1, 4, 4]), 1, 4, vectors, 2, scores)
    np.testing.assert_allclose(scores[1:, :2], items.toarray()[[1, 4, 4]] @ vectors[:2].T, atol=1e-5)
    assert (scores[0] == 7).all()
    assert (scores[:, 2] == 7).all()


@given(
    seed=st.integers(0, 2**32 - 1), n_columns=st.integers(1, 12), n_kept=st.integers(1, 12), n_values=st.integers(1, 9)
)
@settings(max_examples=60, deadline=None)
def test_the_largest_are_kept_and_of_equal_ones_the_first(seed, n_columns, n_kept, n_values):
    rng, n_kept = np.random.default_rng(seed), min(n_kept, n_columns)
    weights = rng.integers(-n_values, n_values, (4, n_columns)).astype(np.float32)  # few values: many ties
    largest = np.full((4, n_kept), -1, np.int32)
    wordpairs.find_largest(weights, 0, 4, largest)
    expected = np.sort(np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :n_kept], axis=1)
    assert np.array_equal(largest, expected)


def test_a_row_of_zeros_keeps_its_first_columns():
    largest = np.full((2, 3), -1, np.int32)
    wordpairs.find_largest(np.zeros((2, 50_000), np.float32), 0, 2, largest)
    assert largest.tolist() == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("n_buckets", [1_000_000, 3_000_000, 6_000_000, 10_000_000])
def test_the_prime_spreads_the_rows_of_a_hashed_table(n_buckets):
    starts = np.sort(np.arange(30_000) * 2_038_074_743 % n_buckets)
    gaps = np.diff(starts, append=starts[0] + n_buckets)
    assert gaps.min() > 0  # no two of 30,000 words have the same row
    assert gaps.max() < 30 * n_buckets / 30_000  # and no part of the table is left to a few
