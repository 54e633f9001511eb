"""tf-idf worked by hand; scikit-learn is the oracle of the smooth kind."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.feature_extraction.text import TfidfTransformer

from tacit.features.text.weighting import inverse_document_frequency, weigh

COUNTS = arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(0, 9).map(float))


def weights_of(counts, tf, idf):
    counts = sp.csr_array(counts)
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    return weigh(counts, inverse_document_frequency(frequency, counts.shape[0], idf), tf)


def test_plain_weights_by_hand():
    # Words stand in 1, 2 and 4 of 4 documents: idf is ln 4, ln 2 and 0.
    counts = np.array([[3, 2, 1], [0, 1, 5], [0, 0, 1], [0, 0, 7]], np.float32)
    rows = weights_of(counts, "raw", "plain")
    a, b = 3 * np.log(4), 2 * np.log(2)
    expected = [[a / np.hypot(a, b), b / np.hypot(a, b), 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(rows.toarray(), expected, rtol=1e-6)  # float32
    assert rows.nnz == 3  # a word of every document leaves no stored zero


def test_log_counts_by_hand():
    counts = np.array([[3, 1], [0, 0], [0, 0]], np.float32)
    a, b = (1 + np.log(3)) * np.log(3), np.log(3)
    expected = [[a / np.hypot(a, b), b / np.hypot(a, b)], [0, 0], [0, 0]]
    np.testing.assert_allclose(weights_of(counts, "log", "plain").toarray(), expected, rtol=1e-6)


@given(COUNTS, st.sampled_from(["raw", "log"]))
@settings(max_examples=60, deadline=None)
def test_smooth_weights_are_those_of_scikit_learn(counts, tf):
    counts = counts[:, counts.any(axis=0)]
    if not counts.shape[1]:
        return
    expected = TfidfTransformer(sublinear_tf=tf == "log").fit_transform(sp.csr_array(counts)).toarray()
    np.testing.assert_allclose(weights_of(counts, tf, "smooth").toarray(), expected, atol=1e-6)


@given(COUNTS, st.sampled_from(["raw", "log"]), st.sampled_from(["plain", "smooth"]))
@settings(max_examples=60, deadline=None)
def test_rows_have_length_one_or_zero_and_nothing_else_changes(counts, tf, idf):
    counts = sp.csr_array(counts[:, counts.any(axis=0)])
    before = counts.copy()
    rows = weights_of(counts, tf, idf)
    lengths = np.linalg.norm(rows.toarray().astype(np.float64), axis=1)
    assert ((abs(lengths - 1) < 1e-6) | (lengths == 0)).all()
    assert rows.dtype == np.float32
    assert rows.has_canonical_format
    assert np.array_equal(counts.toarray(), before.toarray())


@pytest.mark.parametrize("tf", ["raw", "log"])
def test_a_stored_zero_is_no_occurrence(tf):
    counts = sp.csr_array((np.array([0, 2], np.float32), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert weigh(counts, np.ones(2, np.float32), tf).toarray().tolist() == [[0, 1]]
