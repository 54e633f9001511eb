"""Terms add up to the score that the ranker gives, in every form, and say what the form can say."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, TacitError
from tacit.retrieve.explanation import (
    Explanation,
    Term,
    difference,
    item_terms,
    pair_terms,
    sparse_row,
    strongest_first,
    word_terms,
)
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.search.models import find_class
from tacit.store import pack_estimator, unpack_estimator

# Form: its parameters, and the kinds of terms that it has.
FORMS = {
    "d": ({"dim": 0, "identity": "learned"}, {"word"}),
    "uv": ({"identity": "none"}, {"pair"}),
    "uv+i": ({}, {"word", "pair"}),
    "uv+d-n": ({"identity": "learned", "n_words": 7}, {"word", "pair"}),
    "uu": ({"items": "tied", "identity": "none"}, {"pair"}),
    "uu+i": ({"items": "tied"}, {"word", "pair"}),
    "htr": ({"items": "free", "identity": "none", "gamma": 1.0}, {"item"}),
    "htr+i-n": ({"items": "free", "n_words": 7}, {"word", "item"}),
    "residual": ({"items": "residual", "identity": "none"}, {"pair", "item"}),
    "residual+d-n": ({"items": "residual", "identity": "learned", "n_words": 7}, {"word", "pair", "item"}),
}
EACH_FORM = pytest.mark.parametrize("name", FORMS)


def random_rows(seed, n_rows=20, n_words=10):
    rng = np.random.default_rng(seed)
    return (rng.random((n_rows, n_words)) * (rng.random((n_rows, n_words)) < 0.4)).astype(np.float32)


@pytest.fixture(scope="module")
def fitted():
    rows, pairs = sp.csr_array(random_rows(0)), Links(np.arange(20), (np.arange(20) + 3) % 20, 20, 20)
    return {
        name: EmbeddingRanker(**{"dim": 4, "n_epochs": 3, "rate": 1.0} | form).fit(rows, rows, pairs)
        for name, (form, _) in FORMS.items()
    }


@EACH_FORM
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_terms_add_up_to_the_score_and_to_the_difference(name, form, fitted):
    ranker, queries, rng = fitted[name], random_rows(1, 6), np.random.default_rng(2)
    scores = ranker.scores(queries).astype(np.float64)
    for query in range(6):
        a, b = (int(item) for item in rng.permutation(20)[:2])
        row = form(queries[query : query + 1])
        assert ranker.explain(row, a).total == pytest.approx(scores[query, a], abs=1e-5)
        assert ranker.explain(row, a, b).total == pytest.approx(scores[query, a] - scores[query, b], abs=1e-5)
        assert ranker.explain(row, a, a).total == pytest.approx(0, abs=1e-12)


@EACH_FORM
def test_terms_are_of_the_kinds_that_the_form_has(name, fitted):
    ranker, queries, items = fitted[name], random_rows(1, 6), random_rows(0)
    kinds = set()
    for query, a in ((0, 3), (1, 4), (2, 5)):
        for term in ranker.explain(queries[query : query + 1], a).terms:
            kinds.add(term.kind)
            assert queries[query, term.query_word] != 0
            assert term.kind == "word" or term.query_word < len(ranker.query_table_)
            if term.kind == "item":
                assert term.item_word == -1
            else:
                assert items[a, term.item_word] != 0
            if term.kind == "word":
                assert term.item_word == term.query_word
    assert kinds == FORMS[name][1]


@EACH_FORM
def test_each_term_is_its_own_product(name, fitted):
    """x_w D_w y_w; x_w (U_w . V_t) y_t; x_w (U_w . rest of the item)."""
    ranker, query, y = fitted[name], random_rows(1, 6)[2], random_rows(0)[5].astype(np.float64)
    u, v = ranker.query_table_.astype(np.float64), ranker.item_table_.astype(np.float64)
    rest = ranker.item_vectors_[5] - y[: len(v)] @ v
    for term in ranker.explain(query[None], 5).terms:
        w, t = term.query_word, term.item_word
        if term.kind == "word":
            expected = ranker.diagonal_[w] * y[w]
        elif term.kind == "pair":
            expected = u[w] @ v[t] * y[t]
        else:
            expected = u[w] @ rest
        assert term.value == pytest.approx(query[w] * expected, rel=1e-6, abs=1e-9)


@EACH_FORM
def test_the_strongest_term_comes_first(name, fitted):
    terms = fitted[name].explain(random_rows(1, 6)[:1], 3, 4).terms
    sizes = [abs(term.value) for term in terms]
    assert sizes == sorted(sizes, reverse=True)
    assert len(terms) == len({term[:3] for term in terms})


@pytest.mark.parametrize("name", ["d", "uv+i", "uu+i", "residual+d-n"])
def test_new_items_are_explained_by_their_words(name, fitted):
    ranker, query = unpack_estimator(*pack_estimator(fitted[name]), find_class), random_rows(1, 6)[:1]
    ranker.add_items(sp.csr_array(random_rows(3, 2)))
    found = ranker.explain(query, 21)
    assert found.total == pytest.approx(float(ranker.scores(query)[0, 21]), abs=1e-5)
    own = sum(abs(term.value) for term in found.terms if term.kind == "item")
    assert own < 1e-6  # nothing was learned of this item alone


def test_a_query_without_words_has_no_terms(fitted):
    for ranker in fitted.values():
        assert ranker.explain(np.zeros((1, 10)), 3, 4).terms == []


@pytest.mark.parametrize(("a", "b"), [(20, None), (-1, None), (0, 20), (0, -1), (0.5, None)])
def test_refuses_items_that_are_not_there(a, b, fitted):
    with pytest.raises(TacitError, match="want a whole number >= 0 and <= 19"):
        fitted["uv+i"].explain(random_rows(1, 6)[:1], a, b)


def test_refuses_more_than_one_query(fitted):
    with pytest.raises(TacitError, match="query has 2 rows, want 1"):
        fitted["uv+i"].explain(random_rows(1, 6)[:2], 0)


# The pieces, worked by hand.


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_are_read_in_either_form(form):
    rows = form(np.array([[0, 2, 0], [1, 0, 5]], np.float32))
    words, values = sparse_row(rows, 1)
    assert words.tolist() == [0, 2]
    assert values.tolist() == [1, 5]
    assert values.dtype == np.float64
    assert difference(rows, 1, None).tolist() == [1, 0, 5]
    assert difference(rows, 1, 0).tolist() == [1, -2, 5]


def test_words_pairs_and_items_by_hand():
    words, values = np.array([0, 2]), np.array([1.0, 3.0])
    item = np.array([2.0, 7.0, 0.0])
    assert word_terms(words, values, item) == [Term("word", 0, 0, 2.0)]
    u, v = np.array([[1, 0], [9, 9], [0, 1]], np.float32), np.array([[4, 0], [0, 5]], np.float32)
    assert pair_terms(words, values, u, item, v) == [Term("pair", 0, 0, 8.0), Term("pair", 2, 1, 105.0)]
    assert item_terms(words, values, u, np.array([0.5, 0])) == [Term("item", 0, -1, 0.5)]


def test_order_and_sum():
    terms = [Term("word", 1, 1, -3.0), Term("pair", 0, 4, 3.0), Term("item", 0, -1, 5.0), Term("pair", 0, 2, 3.0)]
    assert [terms.index(term) for term in strongest_first(terms)] == [2, 3, 1, 0]
    assert Explanation(terms).total == 8
    assert Explanation([]).total == 0
