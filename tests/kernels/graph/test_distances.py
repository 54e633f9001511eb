"""Distances row by row against NumPy."""

import numpy as np
import scipy.sparse as sp

from tacit.kernels.graph.distances import edge_squares, gaussians, minus_squares, nearest_by_sum, pair_squares

rng = np.random.default_rng(0)
TABLE = rng.normal(size=(7, 5))


def test_pair_squares_passes_over_missing_neighbours():
    neighbours = np.array([[1, -1], [0, 6], [3, 4], [1, 1], [0, 2], [6, 5], [0, -1]])
    out = np.full((7, 2), -9.0)
    pair_squares(TABLE, neighbours, 1, 7, out)
    wanted = np.square(TABLE[:, None] - TABLE[neighbours]).sum(axis=2)
    wanted[neighbours < 0] = 0
    np.testing.assert_allclose(out[1:], wanted[1:], rtol=1e-12)
    assert (out[0] == -9).all()


def test_minus_squares():
    rows, out = TABLE[:3].astype(np.float32), np.empty((3, 7), np.float32)
    minus_squares(rows, TABLE.astype(np.float32), out)
    np.testing.assert_allclose(out, -np.square(TABLE[:3, None] - TABLE[None]).sum(axis=2), rtol=1e-5, atol=1e-6)


def test_edge_squares():
    graph = sp.csr_array(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    out = np.empty(4)
    edge_squares(TABLE, graph.indptr, graph.indices, out)
    pairs = [(0, 1), (0, 2), (1, 0), (2, 0)]
    np.testing.assert_allclose(out, [np.square(TABLE[i] - TABLE[j]).sum() for i, j in pairs])


def test_nearest_by_sum_takes_the_smaller_row_of_equal_ones():
    table = np.array([[9.0, 9.0], [1.0, 2.0], [1.0, 2.0], [3.0, 0.0]])
    for squared in (False, True):
        nearest, distances = np.full(2, -1), np.full(2, np.inf)
        nearest_by_sum(np.array([[1.0, 1.0], [3.0, 0.5]]), table, 0, 2, squared, nearest, distances)
        assert nearest.tolist() == [1, 3]
        assert distances.tolist() == ([1.0, 0.25] if squared else [1.0, 0.5])


def test_gaussians_have_norm_one_and_never_underflow():
    scores = np.array([[-1.0, -3.0], [-1e6, -1e6 - 2]], np.float32)
    for power, size in ((2, np.hypot(1, np.exp(-1))), (1, 1 + np.exp(-1))):
        values = np.empty((2, 2), np.float32)
        gaussians(scores, 1.0, power, values)
        row = np.exp([0, -1]) / size
        np.testing.assert_allclose(values, [row, row], rtol=1e-6)
