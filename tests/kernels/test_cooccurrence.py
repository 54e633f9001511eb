"""Sets of documents are the oracle of DICE; a full sort is the oracle of the short list."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.cooccurrence import keep_best, most_correlated


def best_by_sets(term_docs, word_docs, k):
    """(DICE, word) of the best words: those of one document at least, higher DICE first, then smaller word."""
    found = [
        (2 * len(term_docs & docs) / (len(term_docs) + len(docs)), word)
        for word, docs in enumerate(word_docs)
        if term_docs & docs
    ]
    return sorted(found, key=lambda entry: (-entry[0], entry[1]))[:k]


def documents_of(matrix):
    return [set(np.flatnonzero(column)) for column in matrix.T]


def run(terms, words, k, start=0, stop=None):
    posts, docs = sp.csc_array(terms), sp.csr_array(words)
    best, dice = np.full((terms.shape[1], k), -7), np.full((terms.shape[1], k), -7.0)
    occur = np.asarray(words.sum(axis=0)).astype(np.int64)
    span = (start, terms.shape[1] if stop is None else stop)
    most_correlated(
        posts.indptr, posts.indices, docs.indptr, docs.indices, occur, np.diff(posts.indptr), *span, best, dice
    )
    return best, dice


@given(
    seed=st.integers(0, 2**32 - 1),
    n_docs=st.integers(1, 12),
    n_words=st.integers(1, 10),
    k=st.integers(1, 12),
    share=st.sampled_from([0.1, 0.4, 0.9]),
)
@settings(max_examples=60, deadline=None)
def test_finds_what_sets_and_a_sort_find(seed, n_docs, n_words, k, share):
    rng = np.random.default_rng(seed)
    terms, words = rng.random((n_docs, 8)) < share, rng.random((n_docs, n_words)) < share  # few documents: many ties
    best, dice = run(terms, words, k)
    for term, docs in enumerate(documents_of(terms)):
        expected = best_by_sets(docs, documents_of(words), k)
        n_empty = k - len(expected)
        assert best[term].tolist() == [word for _, word in expected] + [-1] * n_empty
        assert dice[term].tolist() == [value for value, _ in expected] + [0.0] * n_empty


def test_writes_the_terms_of_its_range_only():
    words = np.random.default_rng(0).random((6, 5)) < 0.5
    whole, part = run(words, words, 2)[0], run(words, words, 2, 1, 3)[0]
    assert np.array_equal(part[1:3], whole[1:3])
    assert (part[[0, 3, 4]] == -7).all()


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 30)), unique_by=lambda entry: entry[1]), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_a_short_list_ends_as_the_head_of_the_sorted_list(entries, k):
    best, values = np.full(k, -1), np.zeros(k)
    for value, word in entries:
        keep_best(float(value), word, best, values)
    expected = sorted(entries, key=lambda entry: (-entry[0], entry[1]))[:k]
    n_empty = k - len(expected)
    assert best.tolist() == [word for _, word in expected] + [-1] * n_empty
    assert values.tolist() == [float(value) for value, _ in expected] + [0.0] * n_empty
