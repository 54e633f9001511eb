"""Features from text by hand: three documents of two words, every formula with its sum written out."""

from math import log

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import TacitError
from tacit.features.query_document import MEASURES, QueryDocumentFeatures
from tacit.retrieve import Bm25Ranker

# Words: cat, dog, owl.  Documents: "cat cat dog", "dog", "".  The query: "cat owl dog dog"; nobody says owl.
COUNTS = sp.csr_array(np.array([[2.0, 1, 0], [0, 1, 0], [0, 0, 0]]))
QUERY = sp.csr_array(np.array([[1.0, 2, 1]]))
CAT, DOG = 2 / 4, 2 / 4  # shares of the collection's four words
BM25_CAT, BM25_DOG = log(1 + 2.5 / 1.5), log(1 + 1.5 / 2.5)
FIRST = 1.5 * (0.25 + 0.75 * 3 / (4 / 3))
BM25 = BM25_CAT * 2 / (2 + FIRST) + 2 * BM25_DOG * 1 / (1 + FIRST)
HAND = {
    "bm25": BM25,
    "log_bm25": log(1 + BM25),
    "lm_absolute": log(1.3 / 3 + 0.7 * 2 / 3 * CAT) + 2 * log(0.3 / 3 + 0.7 * 2 / 3 * DOG),
    "lm_dirichlet": log((2 + 2000 * CAT) / 2003) + 2 * log((1 + 2000 * DOG) / 2003),
    "lm_jelinek_mercer": log(0.9 * 2 / 3 + 0.1 * CAT) + 2 * log(0.9 / 3 + 0.1 * DOG),
    "tf": 2 + 2 * 1,
    "normalized_tf": 2 / 3 + 2 * 1 / 3,
    "log_normalized_tf": log(1 + 2 / 3) + 2 * log(1 + 1 / 3),
    "sum_log_tf": log(3) + 2 * log(2),
    "tf_idf": 2 * log(3 / 1) + 2 * 1 * log(3 / 2),
    "log_tf_idf": log(1 + 2 / 3 * log(3)) + 2 * log(1 + 1 / 3 * log(3 / 2)),
}
EMPTY = dict.fromkeys(MEASURES, 0.0) | {
    "lm_absolute": log(0.7 * CAT) + 2 * log(0.7 * DOG),
    "lm_dirichlet": log(CAT) + 2 * log(DOG),
    "lm_jelinek_mercer": log(0.1 * CAT) + 2 * log(0.1 * DOG),
}


@pytest.mark.parametrize("measure", MEASURES)
def test_values_worked_by_hand(measure):
    features = QueryDocumentFeatures({"body": COUNTS})
    found = dict(zip(features.names, features.of(QUERY, [0, 2]).T, strict=True))[f"body.{measure}"]
    np.testing.assert_allclose(found, [HAND[measure], EMPTY[measure]], rtol=1e-12)


def test_fields_stand_side_by_side():
    title = sp.csr_array(np.array([[1.0, 0, 0], [0, 0, 0], [0, 0, 0]]))
    features = QueryDocumentFeatures({"body": COUNTS, "title": title})
    table = features.of(QUERY, [1, 0])
    assert table.shape == (2, 22)
    assert features.names[11:13] == ["title.bm25", "title.log_bm25"]
    assert table[:, features.names.index("title.tf")].tolist() == [0, 1]
    np.testing.assert_allclose(table[1, :11], list(HAND.values()))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_bm25_is_that_of_the_ranker(seed):
    rng = np.random.default_rng(seed)
    counts = sp.csr_array(rng.poisson(0.7, (8, 6)).astype(np.float32) + np.eye(8, 6, dtype=np.float32))
    queries = sp.csr_array(rng.poisson(0.6, (2, 6)).astype(np.float32))
    scores = Bm25Ranker().fit(None, counts).scores(queries)
    features = QueryDocumentFeatures({"both": counts})
    for query in range(2):
        found = features.of(queries[[query]], np.arange(8))
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[:, 0], scores[query], atol=1e-5)  # the ranker keeps float32


def test_a_query_of_unknown_words_has_features_all_the_same():
    features = QueryDocumentFeatures({"body": COUNTS})
    assert not features.of(sp.csr_array(np.array([[0.0, 0, 3]])), [0, 1]).any()
    assert features.of(QUERY, []).shape == (0, 11)


@pytest.mark.parametrize(
    ("query", "docs", "problem"), [(np.ones((1, 2)), [0], "shape"), (np.ones((1, 3)), [3], "row 3")]
)
def test_what_does_not_fit_is_refused(query, docs, problem):
    with pytest.raises(TacitError, match=problem):
        QueryDocumentFeatures({"body": COUNTS}).of(sp.csr_array(query), docs)
    with pytest.raises(TacitError, match="want one"):
        QueryDocumentFeatures({"body": COUNTS, "title": sp.csr_array((3, 2))})
