"""Shares of grades: the likelihood by its product form, k recovered from lists that were drawn with it."""

import numpy as np
import pytest

from tacit.rerank.gradient.expected_pairs import grade_shares, likeness, log_likelihood
from tacit.rerank.rows import Rows


def test_likelihood_is_the_product_of_polyas_urn():
    counts, overall, k = np.array([[2, 1], [0, 3]]), np.array([0.25, 0.75]), 1.7
    wanted = 0.0
    for drawn in ([0, 0, 1], [1, 1, 1]):  # grade after grade; the order does not matter
        seen = np.zeros(2)
        for grade in drawn:
            wanted += np.log((seen[grade] + k * overall[grade]) / (seen.sum() + k))
            seen[grade] += 1
    assert log_likelihood(counts, overall, k) == pytest.approx(wanted)


@pytest.mark.parametrize("k", [1.0, 8.0])
def test_finds_how_alike_lists_are(k):
    rng, overall = np.random.default_rng(0), np.array([0.6, 0.3, 0.1])
    counts = np.array([rng.multinomial(20, shares) for shares in rng.dirichlet(k * overall, 2000)])
    assert likeness(counts, overall) == pytest.approx(k, rel=0.1)


def test_lists_that_do_not_differ_share_everything_and_others_keep_their_own():
    alike = Rows(np.zeros((8, 1)), np.array([0, 1, 0, 1, 0, 1, 0, 1.0]), np.arange(0, 9, 2), np.arange(8))
    assert np.allclose(grade_shares(alike)[1], 0.5)
    y = np.repeat([0.0, 1, 0, 1], 6)
    apart = Rows(np.zeros((24, 1)), y, np.arange(0, 25, 6), np.arange(24))
    assert (grade_shares(apart)[1].max(axis=1) > 0.95).all()


def test_an_unjudged_list_has_the_shares_of_all():
    y = np.array([0, 0, 1, np.nan, np.nan])
    rows = Rows(np.zeros((5, 1)), y, np.array([0, 3, 5]), np.arange(5))
    np.testing.assert_allclose(grade_shares(rows)[1][1], [2 / 3, 1 / 3])
