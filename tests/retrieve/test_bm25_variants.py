"""Every variant of BM25 against the library bm25s; explanations sum to scores; unmatched documents are no results."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Collection, StoreError, TacitError
from tacit.data import read_collection, read_queries
from tacit.features import TextVectorizer
from tacit.features.bm25 import VARIANTS
from tacit.retrieve import Bm25Ranker
from tacit.search import Searcher
from tacit.store import pack_estimator, unpack_estimator

DATA = os.environ.get("TACIT_DATA")
HOW = {"k1": 1.2, "b": 0.6, "delta": 0.7}


def small_counts(seed=3):
    counts = np.random.default_rng(seed).poisson(0.5, (40, 12)).astype(np.float32)
    counts[:, 0] = 1  # in every item: idf 0 in some variants
    counts[:, 11] = 0  # in none
    counts[:30, 1] += 1  # in more than half of them
    return counts


def peer(counts, variant):
    """An index of bm25s on the same counts."""
    import bm25s

    rows = sp.csr_array(counts)
    texts = [
        np.repeat(rows.indices[first:last], rows.data[first:last].astype(int)).tolist()
        for first, last in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
    index = bm25s.BM25(method=variant, **HOW)
    vocabulary = {f"w{word}": word for word in range(rows.shape[1])}
    index.index((texts, vocabulary), create_empty_token=False, show_progress=False)
    return index


def check_same_scores(counts, queries, variant):
    ours = Bm25Ranker(variant=variant, **HOW).fit(None, sp.csr_array(counts)).scores(queries)
    index, rows = peer(counts, variant), sp.csr_array(queries)
    for number, found in enumerate(ours):
        at = slice(rows.indptr[number], rows.indptr[number + 1])
        words = np.repeat(rows.indices[at], rows.data[at].astype(int))
        wanted = index.get_scores_from_ids(words.tolist())
        np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_are_those_of_bm25s(variant):
    queries = np.random.default_rng(4).poisson(0.4, (9, 12)).astype(np.float32)
    check_same_scores(small_counts(), queries, variant)


@pytest.mark.skipif(not DATA, reason="TACIT_DATA does not name the folder of the collections")
@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_on_cranfield_are_those_of_bm25s(variant):
    folder = Path(DATA) / "text" / "cranfield"
    vectorizer = TextVectorizer(words=None, language="en", stem=True)
    counts = vectorizer.fit_counts(read_collection(folder).full_texts())
    queries = vectorizer.counts(list(read_queries(folder).full_texts())[:60])
    check_same_scores(counts, queries, variant)


@pytest.mark.parametrize("variant", VARIANTS)
def test_terms_sum_to_the_score_and_to_differences(variant):
    ranker = Bm25Ranker(variant=variant, **HOW).fit(None, sp.csr_array(small_counts()))
    query = np.array([[1, 0, 2, 0, 0, 1, 0, 0, 0, 0, 1, 1]], np.float32)
    scores = ranker.scores(query)[0].astype(np.float64)
    for a, b in ((0, None), (7, None), (3, 9)):
        explanation = ranker.explain(query, a, b)
        wanted = scores[a] - (0 if b is None else scores[b])
        assert sum(term.value for term in explanation.terms) == pytest.approx(wanted, abs=2e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_stored_weights_are_never_negative(variant):
    """Bounds for pruning add them up."""
    ranker = Bm25Ranker(variant=variant, **HOW).fit(None, sp.csr_array(small_counts()))
    assert (ranker.weights_.data >= 0).all()
    assert (ranker.absent_ is not None) == VARIANTS[variant].is_shifted


@pytest.mark.parametrize("variant", VARIANTS)
def test_new_items_keep_the_idf_of_known_words_and_give_one_to_new_words(variant):
    counts = small_counts()
    ranker = Bm25Ranker(variant=variant, **HOW).fit(None, sp.csr_array(counts))
    idf = ranker.idf_.copy()
    wide = np.hstack([counts[:5], np.array([[1, 1, 0, 0, 0]], np.float32).T])
    wide[0, 11] = 1
    ranker.add_items(sp.csr_array(wide))
    assert np.array_equal(ranker.idf_[:11], idf[:11])
    assert ranker.idf_[11] == pytest.approx(VARIANTS[variant].idf(1, 45))
    assert ranker.idf_[12] == pytest.approx(VARIANTS[variant].idf(2, 45))
    assert np.array_equal(ranker.weights_[42:, :11].toarray(), ranker.weights_[2:5, :11].toarray())
    query = np.eye(13, dtype=np.float32)[[12]]
    scores, unmatched = ranker.scores(query)[0], ranker.unmatched_scores(query)[0, 0]
    assert np.flatnonzero(scores != unmatched).tolist() == [40, 41]
    assert (scores[40:42] > unmatched).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_documents_without_a_word_of_the_query_are_no_results(variant):
    docs = Collection(["a", "b", "c", "d"], [""] * 4, ["cats purr", "dogs bark", "bark beetles", "fish swim"])
    searcher = Searcher("bm25", variant=variant).fit(docs)
    hits = searcher.search("purr dogs")
    assert {hit.id for hit in hits} == {"a", "b"}
    ranking = searcher.rank(Collection(["q"], [""], ["purr"]), 4)
    assert ranking.items.tolist() == [[0, -1, -1, -1]]


def test_a_model_keeps_its_variant_and_others_are_refused():
    ranker = Bm25Ranker(variant="bm25+").fit(None, sp.csr_array(small_counts()))
    header, arrays = pack_estimator(ranker)
    again = unpack_estimator(header, arrays, lambda name: Bm25Ranker)
    assert np.array_equal(again.scores(small_counts(5)), ranker.scores(small_counts(5)))
    header["params"]["variant"] = "lucene"
    with pytest.raises(StoreError, match="absent_ is stored with 'lucene'"):
        unpack_estimator(header, arrays, lambda name: Bm25Ranker)
    header["params"]["variant"] = "x"
    with pytest.raises(StoreError, match="variant is 'x'"):
        unpack_estimator(header, arrays, lambda name: Bm25Ranker)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"variant": "okapi"}, "variant is 'okapi', want one of"),
        ({"delta": -1}, "delta is -1"),
        ({"variant": "bm25l", "k1": 0, "delta": 0}, "k1 and delta are both 0"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(TacitError, match=message):
        Bm25Ranker(**params).fit(None, sp.csr_array(small_counts()))
