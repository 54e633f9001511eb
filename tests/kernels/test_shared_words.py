"""Dense NumPy in float64 is the oracle of the words that queries and items share."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels import shared_words
from tacit.kernels.rows import split_rows

SEEDS = st.integers(0, 2**32 - 1)
BORDERS = st.lists(st.integers(0, 8), max_size=2)
N_WORDS = 8


def csr(matrix):
    return matrix.indptr, matrix.indices, matrix.data


def dense(matrix):
    return matrix.toarray().astype(np.float64)


class World:
    """Three of five queries and nine items over a few words; the block has room for four queries."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.query_rows, self.item_rows = (
            sp.csr_array(rng.normal(size=(n, N_WORDS)).astype(np.float32) * (rng.random((n, N_WORDS)) < 0.4))
            for n in (5, 9)
        )
        self.queries, self.items = rng.integers(0, 5, 3), rng.permutation(9)[:6]  # a query may come twice
        self.diagonal = rng.normal(size=N_WORDS).astype(np.float32)
        self.place_of = np.full(N_WORDS, -1, np.int32)
        self.spread = np.full((N_WORDS, 4), 99, np.float32)
        self.rng = rng

    def spread_queries(self):
        shared_words.spread_queries(*csr(self.query_rows), self.queries, self.place_of, self.spread)
        return self.place_of, self.spread

    @property
    def x(self):
        return dense(self.query_rows)[self.queries]

    @property
    def y(self):
        return dense(self.item_rows)[self.items]

    def owners(self, borders):
        """(starts, ends, words, values) of each owner of item words."""
        borders = np.array([0, *sorted(borders), N_WORDS])
        starts = np.empty((len(borders), 9), self.item_rows.indptr.dtype)
        split_rows(self.item_rows.indptr, self.item_rows.indices, borders, starts)
        return [(*pair, self.item_rows.indices, self.item_rows.data) for pair in itertools.pairwise(starts)]


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_words_of_the_block_have_rows_and_give_their_places_back(seed):
    world = World(seed)
    place_of, spread = world.spread_queries()
    used = np.unique(world.query_rows[world.queries].indices)
    assert sorted(place_of[used]) == list(range(len(used)))
    assert (np.delete(place_of, used) == -1).all()
    assert np.array_equal(spread[place_of[used], :3], world.x.T[used])
    assert not spread[place_of[used], 3].any()
    shared_words.release_words(*csr(world.query_rows)[:2], world.queries, place_of)
    assert (place_of == -1).all()


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_scores_gain_the_products_of_shared_words(seed):
    world = World(seed)
    before = world.rng.normal(size=(6, 4)).astype(np.float32)
    scores, expected = before.copy(), before.astype(np.float64)
    where = world.items, 1, 5, N_WORDS, *world.spread_queries(), world.diagonal
    shared_words.add_shared_words(*csr(world.item_rows), *where, scores)
    expected[1:5, :3] += ((world.y * world.diagonal) @ world.x.T)[1:5]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


@given(seed=SEEDS, borders=BORDERS)
@settings(max_examples=25, deadline=None)
def test_the_diagonal_moves_by_shared_words(seed, borders):
    world = World(seed)
    gradients = np.zeros((6, 4), np.float32)
    gradients[:, :3] = world.rng.normal(size=(6, 3))
    moved = []
    learned = world.items, 6, *world.spread_queries(), gradients, np.float32(0.3)
    for cuts in (borders, []):
        moved.append(world.diagonal.copy())
        for share in world.owners(cuts):
            shared_words.update_diagonal(*share, *learned, moved[-1])
    expected = world.diagonal + 0.3 * np.einsum("sb,bw,sw->w", gradients[:, :3], world.x, world.y)
    np.testing.assert_allclose(moved[0], expected, atol=1e-5)
    assert np.array_equal(*moved)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_gaps_are_differences_of_shared_words(seed):
    world = World(seed)
    gaps = np.full(3, 99, np.float32)
    words = csr(world.query_rows), csr(world.item_rows)
    shared_words.shared_gaps(*words, world.queries, world.items, 1, 3, world.diagonal, gaps)
    expected = (world.x * world.diagonal * (world.y[::2] - world.y[1::2])).sum(axis=1)
    np.testing.assert_allclose(gaps[1:], expected[1:], atol=1e-5)
    assert gaps[0] == 99


@given(seed=SEEDS, borders=BORDERS)
@settings(max_examples=25, deadline=None)
def test_the_diagonal_moves_by_triples(seed, borders):
    world = World(seed)
    gradients = np.array([0.5, 0, 2], np.float32)
    diagonal = world.diagonal.copy()
    for share in world.owners(borders):
        learned = world.queries, world.items, gradients, np.float32(0.3), diagonal
        shared_words.update_diagonal_by_triples(csr(world.query_rows), *share, *learned)
    expected = world.diagonal + 0.3 * (gradients[:, None] * world.x * (world.y[::2] - world.y[1::2])).sum(axis=0)
    np.testing.assert_allclose(diagonal, expected, atol=1e-5)


def test_shared_sum_worked_by_hand():
    """Words 1 and 4 are shared: 2 * 3 * 10 + 5 * 7 * 0.5 = 77.5."""
    indices, data = np.array([0, 1, 4]), np.array([9, 2, 5], np.float32)
    others, values = np.array([1, 2, 4, 6]), np.array([3, 8, 7, 4], np.float32)
    diagonal = np.array([1, 10, 1, 1, 0.5, 1, 1], np.float32)
    assert shared_words.shared_sum(indices, data, 0, 3, others, values, 0, 4, diagonal) == pytest.approx(77.5)
    assert shared_words.shared_sum(indices, data, 0, 3, others, values, 4, 4, diagonal) == 0
