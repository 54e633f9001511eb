"""Words that two dictionaries share: a dense oracle, explanations, items that come and go, stored models."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import UsageError
from tacit.retrieve import SharedWordsRanker, find_same_words
from tacit.search.models import load, save

QUERY_WORDS, ITEM_WORDS = ["und", "rom", "haus", "7"], ["7", "house", "rom"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    dense = [rng.random(shape).astype(np.float32) * (rng.random(shape) < 0.7) for shape in ((5, 4), (6, 3))]
    return [sp.csr_array(values) for values in dense]


@pytest.fixture
def fitted(rows):
    return SharedWordsRanker().fit(*rows, same_words=find_same_words(QUERY_WORDS, ITEM_WORDS))


def test_scores_are_products_of_equal_words(rows, fitted):
    queries, items = (part.toarray() for part in rows)
    wanted = np.outer(queries[:, 1], items[:, 2]) + np.outer(queries[:, 3], items[:, 0])
    np.testing.assert_allclose(fitted.scores(rows[0]), wanted, rtol=1e-6)


def test_explanations_name_the_word_in_both_dictionaries(rows, fitted):
    scores = fitted.scores(rows[0]).astype(np.float64)
    for query in range(5):
        explained = fitted.explain(rows[0][[query]], 1, 4)
        assert explained.total == pytest.approx(scores[query, 1] - scores[query, 4], abs=1e-6)
        assert {(term.query_word, term.item_word) for term in explained.terms} <= {(1, 2), (3, 0)}


def test_items_come_and_go_and_models_are_stored(rows, fitted, tmp_path):
    queries = rows[0]
    before = fitted.scores(queries)
    wider = sp.csr_array(np.array([[1, 0, 0, 5]], np.float32))  # the last word came with the item
    fitted.add_items(wider).remove_items([0])
    save(fitted, tmp_path / "m")
    again = load(tmp_path / "m", SharedWordsRanker)
    assert np.array_equal(again.scores(queries)[:, :-1], before[:, 1:])
    np.testing.assert_allclose(again.scores(queries)[:, -1], queries.toarray()[:, 3])


@pytest.mark.parametrize("same", [None, find_same_words(ITEM_WORDS, QUERY_WORDS)])
def test_pairs_of_words_that_do_not_fit_are_refused(rows, same):
    with pytest.raises(UsageError, match=r"same_words is of shape .*, want \(4, 3\)"):
        SharedWordsRanker().fit(*rows, same_words=same)
