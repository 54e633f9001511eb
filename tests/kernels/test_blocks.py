"""Dicts, sorted lists and dense float64 are the oracles of the block's loops; scores on a grid make ties common."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels import blocks

SEEDS = st.integers(0, 2**32 - 1)


def random_rows(rng, n_rows, n_words, share=0.4):
    return sp.csr_array(rng.normal(size=(n_rows, n_words)).astype(np.float32) * (rng.random((n_rows, n_words)) < share))


def csr(matrix):
    return matrix.indptr, matrix.indices, matrix.data


class Pool:
    """Everything that `gather_pool` fills, for pairs given as a CSR of weights."""

    def __init__(self, pairs, queries, draws, offsets=None, max_positives=4):
        n_queries, self.n_items = len(queries), pairs.shape[1]
        self.slot_of, self.pool = np.full(self.n_items, -1, np.int64), np.full(self.n_items, -7, np.int64)
        self.chosen = np.full((n_queries, max_positives), -7, np.int64)
        self.n_chosen, self.weights = np.empty(n_queries, np.int64), np.zeros((n_queries, max_positives), np.float32)
        self.known = pairs.indptr.astype(np.int64), pairs.indices.astype(np.int64)
        offsets = np.zeros(n_queries) if offsets is None else offsets
        places = self.slot_of, self.pool, self.chosen, self.n_chosen, self.weights
        self.size, self.n_drawn = blocks.gather_pool(draws, queries, *self.known, pairs.data, offsets, *places)

    def positives(self, b):
        """(item, weight) of the chosen positives of query b."""
        n = self.n_chosen[b]
        items = self.pool[self.chosen[b, :n]].tolist()
        return list(zip(items, self.weights[b, :n].tolist(), strict=True))


def random_pairs(rng, n_queries, n_items, share):
    weights = rng.integers(1, 9, (n_queries, n_items)) / 4 * (rng.random((n_queries, n_items)) < share)
    return sp.csr_array(weights.astype(np.float32))


@given(seed=SEEDS, n_items=st.integers(1, 15), n_draws=st.integers(1, 20), max_positives=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_a_pool_holds_each_item_once_and_gives_its_places_back(seed, n_items, n_draws, max_positives):
    rng = np.random.default_rng(seed)
    pairs = random_pairs(rng, 5, n_items, 0.5)
    queries, draws = rng.permutation(5)[:3], rng.integers(0, n_items, n_draws)
    found = Pool(pairs, queries, draws, rng.random(3), max_positives)
    pool = found.pool[: found.size].tolist()
    assert len(set(pool)) == found.size
    assert pool[: found.n_drawn] == list(dict.fromkeys(draws.tolist()))
    assert [found.slot_of[item] for item in pool] == list(range(found.size))
    assert np.count_nonzero(found.slot_of >= 0) == found.size
    wanted = set()
    for b, query in enumerate(queries):
        weight_of = dict(zip(pairs[[query]].indices.tolist(), pairs[[query]].data.tolist(), strict=True))
        chosen = found.positives(b)
        assert len(chosen) == len(dict(chosen)) == min(len(weight_of), max_positives)
        assert all(weight_of[item] == weight for item, weight in chosen)
        wanted |= set(dict(chosen))
    assert set(pool[found.n_drawn :]) == wanted - set(draws.tolist())
    blocks.release_pool(found.pool, found.size, found.slot_of)
    assert (found.slot_of == -1).all()


@pytest.mark.parametrize(
    ("offset", "expected"),
    [(0.0, [0, 3, 6]), (0.5, [1, 5, 8]), (0.9, [3, 6, 9]), (np.nextafter(1, 0), [3, 6, 9])],
)
def test_more_positives_than_the_row_holds_are_spread_over_the_list(offset, expected):
    """Ten positives, three places: int((j + offset) * 10 / 3), never beyond the query's own list."""
    pairs = sp.csr_array(np.ones((2, 10), np.float32))
    found = Pool(pairs, np.array([0]), np.array([0]), np.array([offset]), max_positives=3)
    assert [item for item, _ in found.positives(0)] == expected


@given(seed=SEEDS, n_words=st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_the_index_is_a_dict_of_lists_and_is_cleared(seed, n_words):
    rng = np.random.default_rng(seed)
    matrix, queries = random_rows(rng, 5, n_words), rng.integers(0, 5, 4)  # a query may come twice
    index = Index(matrix, queries)
    expected = {word: [] for word in range(n_words)}
    for b, query in enumerate(queries):
        for word, value in zip(matrix[[query]].indices.tolist(), matrix[[query]].data.tolist(), strict=True):
            expected[word].append((b, value))
    for word, posts in expected.items():
        places = range(index.start[word], index.end[word])
        assert [(index.posts[p], index.values[p]) for p in places] == posts
    blocks.clear_index(matrix.indptr, matrix.indices, queries, index.start, index.end)
    assert not index.start.any()
    assert not index.end.any()


class Index:
    """Postings of a block's words."""

    def __init__(self, matrix, queries):
        self.start, self.end = (np.zeros(matrix.shape[1], np.int64) for _ in range(2))
        n_most = len(queries) * int(np.diff(matrix.indptr).max(initial=0))
        self.posts, self.values = np.empty(n_most, np.int64), np.empty(n_most, np.float32)
        blocks.index_queries(*csr(matrix), queries, *self.arrays)

    @property
    def arrays(self):
        return self.start, self.end, self.posts, self.values


@given(seed=SEEDS, dim=st.sampled_from([0, 1, 5, 17]))
@settings(max_examples=20, deadline=None)
def test_scores_are_products_of_vectors(seed, dim):
    rng = np.random.default_rng(seed)
    u, v = (rng.normal(size=(n, dim)).astype(np.float32) for n in (4, 6))
    scores, gradients = (np.full((6, 4), 99, np.float32) for _ in range(2))
    blocks.score_pool(np.ascontiguousarray(u.T), v, 1, 5, scores, gradients)
    expected = np.full((6, 4), 99.0)
    expected[1:5] = v[1:5].astype(np.float64) @ u.T
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert not gradients[1:5].any()
    assert (gradients[[0, 5]] == 99).all()


def gradients_by_sorting(found, queries, queries_are_items, scores, n_hardest, margin, weigh_ranks=True):
    """The rule of `mine_gradients` in words and lists, float64: (gradients, losses)."""
    gradients, losses = np.zeros(scores.shape), np.zeros(len(queries))
    indptr, known = found.known
    for b, query in enumerate(queries):
        banned = set(known[indptr[query] : indptr[query + 1]].tolist()) | ({int(query)} if queries_are_items else set())
        drawn = [slot for slot in range(found.n_drawn) if int(found.pool[slot]) not in banned]
        hardest = sorted(drawn, key=lambda slot: (-scores[slot, b], slot))[:n_hardest]
        n_positives = found.n_chosen[b]
        for slot, weight in zip(found.chosen[b, :n_positives], found.weights[b, :n_positives], strict=True):
            floor = scores[slot, b] - margin
            rank = sum(scores[other, b] > floor for other in drawn) / found.n_drawn * found.n_items
            pulling = [other for other in hardest if scores[other, b] > floor]
            for other in pulling:
                by_rank = np.log(1 + rank) / np.log(1 + found.n_items) if weigh_ranks else 1.0
                pull = weight / np.sqrt(n_positives) * by_rank / len(pulling)
                gradients[slot, b] += pull
                gradients[other, b] -= pull
                losses[b] += pull * (margin - scores[slot, b] + scores[other, b])
    return gradients, losses


def mined(found, queries, queries_are_items, scores, n_hardest, margin, weigh_ranks=True, cuts=()):
    """What `mine_gradients` says, run in pieces."""
    gradients, losses = np.zeros(scores.shape, np.float32), np.zeros(len(queries))
    borders = [0, *cuts, len(queries)]
    for start, stop in itertools.pairwise(borders):
        blocks.mine_gradients(
            queries, start, stop, *found.known, queries_are_items, found.slot_of, found.n_drawn, found.chosen,
            found.n_chosen, found.weights, found.n_items, n_hardest, weigh_ranks, np.float32(margin), scores, gradients,
            losses,
        )  # fmt: skip
    return gradients, losses


@given(
    seed=SEEDS,
    n_items=st.integers(5, 14),
    n_draws=st.integers(1, 18),
    n_hardest=st.integers(1, 6),
    n_values=st.sampled_from([1, 3, 40]),
    share=st.sampled_from([0.1, 0.5, 0.9]),
    queries_are_items=st.booleans(),
    weigh_ranks=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_mining_does_what_sorting_does(
    seed, n_items, n_draws, n_hardest, n_values, share, queries_are_items, weigh_ranks
):
    """Scores and margin are multiples of 1/8: equal scores and gaps of exactly the margin are frequent."""
    rng = np.random.default_rng(seed)
    pairs = random_pairs(rng, 5, n_items, share)
    queries = rng.permutation(5)[:4]
    found = Pool(pairs, queries, rng.integers(0, n_items, n_draws), rng.random(4), max_positives=3)
    scores = (rng.integers(-n_values, n_values + 1, (found.size, 4)) / 8).astype(np.float32)
    how = queries_are_items, scores, n_hardest, 0.25, weigh_ranks
    expected, expected_losses = gradients_by_sorting(found, queries, *how)
    gradients, losses = mined(found, queries, *how)
    np.testing.assert_allclose(gradients, expected, atol=1e-5)
    np.testing.assert_allclose(losses, expected_losses, atol=1e-5)
    in_pieces = mined(found, queries, *how, cuts=(1, 3))
    assert np.array_equal(in_pieces[0], gradients)
    assert np.array_equal(in_pieces[1], losses)


def line_of_items(known, scores, draws, n_hardest, queries_are_items=False, weight=1.0, margin=0.5):
    """Query 0 with its known items, and one score for each item: (pull of each item, loss)."""
    n_items = len(scores)
    row = np.zeros((1, n_items), np.float32)
    row[0, known] = weight
    found = Pool(sp.csr_array(row), np.array([0]), np.array(draws), max_positives=4)
    column = np.array(scores, np.float32)[found.pool[: found.size]][:, None]
    gradients, losses = mined(found, np.array([0]), queries_are_items, column, n_hardest, margin)
    by_item = np.zeros(n_items)
    by_item[found.pool[: found.size]] = gradients[:, 0]
    return by_item, losses[0]


def test_mining_worked_by_hand():
    """Positive 0 scores 1; drawn 1 (1.25), 2 (0.75) and 3 (0.5, exactly at the margin): two of three are within.

    rank = 2/3 of 4 items; the pull log(1 + 8/3) / log(5) falls on the hardest alone, whose gap is 0.75.
    """
    pull = np.log(1 + 8 / 3) / np.log(5)
    by_item, loss = line_of_items([0], [1, 1.25, 0.75, 0.5], [1, 2, 3], n_hardest=1)
    np.testing.assert_allclose(by_item, [pull, -pull, 0, 0], rtol=1e-6)
    assert loss == pytest.approx(0.75 * pull, rel=1e-6)
    by_item, loss = line_of_items([0], [1, 1.25, 0.75, 0.5], [1, 2, 3], n_hardest=9)
    np.testing.assert_allclose(by_item, [pull, -pull / 2, -pull / 2, 0], rtol=1e-6)
    assert loss == pytest.approx((0.75 + 0.25) / 2 * pull, rel=1e-6)


def test_of_equal_scores_the_first_drawn_pulls():
    by_item, _ = line_of_items([0], [0, 1, 1, 1], [3, 1, 2], n_hardest=1)
    assert np.flatnonzero(by_item < 0).tolist() == [3]
    by_item, _ = line_of_items([0], [0, 1, 1, 2], [1, 2, 3], n_hardest=2)  # a better one comes after two equal ones
    assert np.flatnonzero(by_item < 0).tolist() == [1, 3]


def test_known_answers_and_the_query_itself_are_never_negatives():
    by_item, _ = line_of_items([1, 2], [9, 0, 8, 5], [0, 1, 2, 3], n_hardest=9, queries_are_items=True)
    assert np.flatnonzero(by_item < 0).tolist() == [3]
    by_item, _ = line_of_items([1, 2], [9, 0, 8, 5], [0, 1, 2, 3], n_hardest=9, queries_are_items=False)
    assert np.flatnonzero(by_item < 0).tolist() == [0, 3]


def test_nothing_pulls_where_every_drawn_item_is_known():
    by_item, loss = line_of_items([1, 2], [9, 0, 8], [0, 1, 2], n_hardest=9, queries_are_items=True)
    assert not by_item.any()
    assert loss == 0


def test_weights_scale_the_pull_and_several_positives_share_it():
    once, loss = line_of_items([0], [0, 1, 1], [1, 2], n_hardest=2)
    thrice, loss_of_three = line_of_items([0], [0, 1, 1], [1, 2], n_hardest=2, weight=3.0)
    np.testing.assert_allclose(thrice, 3 * once, rtol=1e-6)
    assert loss_of_three == pytest.approx(3 * loss, rel=1e-6)
    alone, _ = line_of_items([0], [0, 0, 1, 1], [2, 3], n_hardest=2)
    shared, _ = line_of_items([0, 1], [0, 0, 1, 1], [2, 3], n_hardest=2)
    np.testing.assert_allclose(shared[:2], alone[0] / np.sqrt(2), rtol=1e-6)


def test_triples_pull_where_the_margin_is_not_reached():
    scores = np.array([[1, 1, 1], [0.75, 0.5, 0]], np.float32)
    better, worse, weights = np.zeros(3, np.int64), np.ones(3, np.int64), np.array([2, 3, 5], np.float32)
    gradients, losses = np.zeros((2, 3), np.float32), np.zeros(3)
    for start, stop in ((0, 1), (1, 3)):
        blocks.triple_gradients(better, worse, weights, start, stop, np.float32(0.5), scores, gradients, losses)
    assert gradients.tolist() == [[2, 0, 0], [-2, 0, 0]]  # a gap of exactly the margin is enough
    assert losses.tolist() == [0.5, 0, 0]


@given(seed=SEEDS, dim=st.sampled_from([0, 1, 5, 17]))
@settings(max_examples=20, deadline=None)
def test_steps_are_products_with_the_pulls(seed, dim):
    rng = np.random.default_rng(seed)
    u, v = (rng.normal(size=(n, dim)).astype(np.float32) for n in (4, 6))
    gradients = (rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)).astype(np.float32)
    query_steps, item_steps = np.zeros((4, dim), np.float32), np.full((6, dim), 99, np.float32)
    for start, stop in ((0, 1), (1, 3)):
        blocks.query_steps(gradients, v, 5, start, stop, query_steps)
        blocks.item_steps(gradients, u, 3, start, stop, item_steps)
    exact = gradients.astype(np.float64)
    np.testing.assert_allclose(query_steps[:3], exact[:5, :3].T @ v[:5], atol=1e-5)
    np.testing.assert_allclose(item_steps[:3], exact[:3, :3] @ u[:3], atol=1e-5)
    assert not query_steps[3:].any()
    assert (item_steps[3:] == 99).all()
