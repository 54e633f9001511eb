"""Triples worked by hand: some keep the margin, one is exactly at it."""

import numpy as np

from tacit.kernels.triples import triple_steps

QUERIES = np.array([[1, 0], [0, 2], [1, 1]], np.float32)
ITEMS = np.array([[1, 5], [0.75, 0], [3, 1], [3, 0.75], [0, 0], [9, 9]], np.float32)  # better, worse, better, ...


def pulled(gaps, cuts=((0, 3),)):
    weights, margin = np.array([2, 3, 0.5], np.float32), np.float32(0.5)
    gradients, losses = np.full(3, 99, np.float32), np.full(3, 100.0)
    query_steps, steps = np.ones((3, 2), np.float32), np.full((6, 2), 99, np.float32)
    for start, stop in cuts:
        given = np.array(gaps, np.float32), weights, margin, start, stop
        triple_steps(QUERIES, ITEMS, *given, gradients, query_steps, steps, losses)
    return gradients, query_steps, steps, losses


def test_a_triple_pulls_where_the_margin_is_not_reached():
    """Scores of the vectors differ by 0.25, 0.5 (exactly the margin) and -18."""
    gradients, query_steps, steps, losses = pulled([0, 0, 0])
    assert gradients.tolist() == [2, 0, 0.5]
    assert losses.tolist() == [100.5, 100, 109.25]
    assert query_steps.tolist() == [[1.5, 11], [1, 1], [-3.5, -3.5]]
    assert steps.tolist() == [[2, 0], [-2, 0], [0, 0], [0, 0], [0.5, 0.5], [-0.5, -0.5]]


def test_what_scores_differ_by_beside_their_vectors_counts_too():
    gradients, _, _, losses = pulled([0.25, -0.25, 18.25])
    assert gradients.tolist() == [0, 3, 0.5]
    assert losses.tolist() == [100, 100.75, 100.125]


def test_ranges_do_not_change_a_bit():
    whole, cut = pulled([0, 0.1, 3]), pulled([0, 0.1, 3], cuts=((1, 3), (0, 1)))
    assert all(np.array_equal(a, b) for a, b in zip(whole, cut, strict=True))
