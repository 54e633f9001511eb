"""Dense NumPy in float64 is the oracle; a score has the same bits alone and in company."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.scoring import TILE, add_dense_scores, add_sparse_scores, score_hashed_pairs, spread_of_rows
from tacit.retrieve.factors import DenseFactors, KnownScores, add_bounds, make_factors, scores_at


def random_rows(rng, n_rows, n_words, share=0.4):
    return sp.csr_array(rng.normal(size=(n_rows, n_words)).astype(np.float32) * (rng.random((n_rows, n_words)) < share))


def sparse_scores(queries, items):
    out, posts = np.zeros((queries.shape[0], items.shape[0]), np.float32), items.tocsc()
    add_sparse_scores(queries.indptr, queries.indices, queries.data, posts.indptr, posts.indices, posts.data, out)
    return out


def dense_scores(queries, items):
    out = np.zeros((len(queries), len(items)), np.float32)
    add_dense_scores(queries, items, out)
    return out


@given(
    seed=st.integers(0, 2**32 - 1), n_queries=st.integers(0, 5), n_items=st.integers(1, 9), n_words=st.integers(1, 12)
)
@settings(max_examples=40, deadline=None)
def test_sparse_scores_are_the_matrix_product(seed, n_queries, n_items, n_words):
    rng = np.random.default_rng(seed)
    queries, items = random_rows(rng, n_queries, n_words), random_rows(rng, n_items, n_words)
    expected = queries.toarray().astype(np.float64) @ items.toarray().T
    np.testing.assert_allclose(sparse_scores(queries, items), expected, atol=1e-5)  # float32 sums of <= 12 terms


@given(seed=st.integers(0, 2**32 - 1), n_items=st.integers(1, 3 * TILE), dim=st.integers(1, 33))
@settings(max_examples=20, deadline=None)
def test_dense_scores_are_the_matrix_product_and_do_not_depend_on_company(seed, n_items, dim):
    rng = np.random.default_rng(seed)
    queries, items = rng.normal(size=(3, dim)).astype(np.float32), rng.normal(size=(n_items, dim)).astype(np.float32)
    together = dense_scores(queries, items)
    np.testing.assert_allclose(together, queries.astype(np.float64) @ items.T, atol=1e-4)  # float32, <= 33 terms
    alone = np.array([[dense_scores(queries[[q]], items[[i]])[0, 0] for i in range(n_items)] for q in range(3)])
    assert np.array_equal(together, alone)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_items=st.integers(1, 60),
    far=st.sampled_from([1, 4096, 3 * 4096]),
    share=st.floats(0, 1),
)
@settings(max_examples=40, deadline=None)
def test_scores_at_some_items_have_the_bits_of_all(seed, n_items, far, share):
    rng = np.random.default_rng(seed)
    sparse, dense = random_rows(rng, n_items, 12), rng.normal(size=(n_items, 7)).astype(np.float32)
    wide = sp.csr_array(
        (sparse.data, sparse.indices * far, sparse.indptr), shape=(n_items, 12 * far)
    )  # words that collide
    query, vector = random_rows(rng, 1, 12, share), rng.normal(size=(1, 7)).astype(np.float32)
    query = sp.csr_array((query.data, query.indices * far, query.indptr), shape=(1, 12 * far))
    pairs = [(DenseFactors(dense), vector), (make_factors(wide), query)]
    whole = np.zeros((1, n_items), np.float32)
    for factors, of_query in pairs:
        factors.add_scores(of_query, whole)
    for size in (0, 1, n_items // 6, n_items):
        items = np.sort(rng.choice(n_items, size, replace=False))
        assert np.array_equal(scores_at(pairs, items), whole[0, items])


@given(seed=st.integers(0, 2**32 - 1), n_items=st.integers(1, 30), budget=st.floats(0, 5))
@settings(max_examples=40, deadline=None)
def test_bounds_by_words_miss_no_more_than_they_say(seed, n_items, budget):
    rng = np.random.default_rng(seed)
    items, query = random_rows(rng, n_items, 9), random_rows(rng, 1, 9)
    bounds = np.zeros(n_items, np.float32)
    left_out = make_factors(items).add_bounds(query, 2.0, budget, bounds)
    exact = 2 * (items.toarray().astype(np.float64) @ query.toarray()[0])
    assert 0 <= left_out <= budget
    assert (bounds + left_out >= exact - 1e-5).all()
    assert (bounds <= 2 * np.maximum(items.toarray() * query.toarray(), 0).sum(axis=1) + 1e-5).all()


@given(seed=st.integers(0, 2**32 - 1), n_items=st.integers(1, 30), budgets=st.tuples(*[st.floats(0, 3)] * 2))
@settings(max_examples=40, deadline=None)
def test_bounds_of_products_of_the_same_items_are_bounds_of_their_sum(seed, n_items, budgets):
    rng = np.random.default_rng(seed)
    items, queries = random_rows(rng, n_items, 9), random_rows(rng, 2, 9)
    known, shared, bounds = rng.random(n_items, np.float32), make_factors(items), np.zeros(n_items, np.float32)
    of_words = [(shared, queries[[row]], factor, budgets[row]) for row, factor in ((0, 2.0), (1, 0.5))]
    of_known = [
        (factors, None, factor, 0.0) for factors, factor in zip([KnownScores(known)] * 2, (1.0, 3.0), strict=True)
    ]
    left_out = add_bounds([*of_words, *of_known], bounds)
    dense = items.toarray().astype(np.float64)
    exact = 4 * known + 2 * (dense @ queries.toarray()[0]) + 0.5 * (dense @ queries.toarray()[1])
    assert 0 <= left_out <= sum(budgets)
    assert (bounds + left_out >= exact - 1e-4).all()
    if not left_out and queries.data.min(initial=0) >= 0:
        assert np.allclose(bounds, exact, atol=1e-4)


def test_scores_are_added_to_what_is_there():
    ones = np.ones((1, 2), np.float32)
    out = np.full((1, 1), 5, np.float32)
    add_dense_scores(ones, ones, out)
    add_sparse_scores(
        *[getattr(sp.csr_array(ones), name) for name in ("indptr", "indices", "data")],
        *[getattr(sp.csc_array(ones), name) for name in ("indptr", "indices", "data")],
        out,
    )
    assert out[0, 0] == 9


def test_hashed_pairs_are_the_plain_sum():
    rng = np.random.default_rng(0)
    items = sp.csr_array(rng.random((5, 7)) * (rng.random((5, 7)) < 0.5), dtype=np.float32)
    query = sp.csr_array(rng.random((1, 7)) * (rng.random((1, 7)) < 0.5), dtype=np.float32)
    buckets, prime, out = rng.normal(size=11).astype(np.float32), 13, np.zeros(5, np.float32)
    words = query.indices.astype(np.int64)
    score_hashed_pairs(words, query.data, items.indptr, items.indices, items.data, buckets, prime, out)
    table = buckets[(np.arange(7)[:, None] * prime + np.arange(7)[None, :]) % 11]
    np.testing.assert_allclose(out, (query.toarray() @ table @ items.toarray().T)[0], rtol=1e-5)


def test_spread_is_the_standard_deviation_of_known_values():
    rng = np.random.default_rng(0)
    values, known = rng.normal(size=(5, 7)), rng.random((5, 7)) < 0.6
    values[1], known[2], known[3, 1:] = 4.0, False, False
    found = np.empty(5)
    spread_of_rows(values, known, 1e-5, found)
    expected = [values[row][known[row]].std() for row in (0, 4)]
    np.testing.assert_allclose(found, [expected[0], 1, 1, 1, expected[1]])
