"""scikit-learn's vectorizers are the oracle; small collections are counted by hand."""

import copy
import gzip
import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from tacit.core import NotFittedError, TacitError, UsageError
from tacit.features import TextVectorizer, WordGramVectorizer, tokenizer_for
from tacit.store import pack_estimator, unpack_estimator

TEXTS = st.lists(st.text(st.sampled_from("abcAÉé_ .1ΣｆÅहि"), max_size=25), min_size=1, max_size=6)
NGRAMS = st.sampled_from([(1, 1), (1, 2), (2, 3)])


def in_order_of(vectorizer, oracle, matrix):
    """The oracle's columns in our order; both must know the same words."""
    assert set(vectorizer.vocabulary_) == set(oracle.vocabulary_)
    return sp.csc_array(matrix)[:, [oracle.vocabulary_[gram] for gram in vectorizer.vocabulary_]]


@given(TEXTS, TEXTS, NGRAMS, st.integers(1, 2))
@settings(max_examples=80, deadline=None)
def test_counts_and_weights_are_those_of_scikit_learn(texts, others, ngrams, min_df):
    same = {"tokenizer": tokenizer_for("any"), "token_pattern": None, "lowercase": False}
    same |= {"ngram_range": ngrams, "min_df": min_df}
    ours = TextVectorizer(words=None, ngrams=ngrams, language="any", min_df=min_df, idf="smooth")
    try:
        counter = CountVectorizer(**same).fit(texts)
    except ValueError:
        with pytest.raises(TacitError, match="nothing to count"):
            ours.fit(texts)
        return
    weigher = TfidfVectorizer(**same).fit(texts)
    counts = ours.fit_counts(texts)
    assert np.array_equal(counts.toarray(), in_order_of(ours, counter, counter.transform(texts)).toarray())
    assert np.array_equal(
        ours.counts(others).toarray(), in_order_of(ours, counter, counter.transform(others)).toarray()
    )
    np.testing.assert_allclose(
        ours.transform(others).toarray(), in_order_of(ours, weigher, weigher.transform(others)).toarray(), atol=1e-6
    )


@given(TEXTS, NGRAMS, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_permuting_the_texts_permutes_the_rows(texts, ngrams, seed):
    order = np.random.default_rng(seed).permutation(len(texts))
    texts = [*texts, "a b c"]  # so that there is something to count
    order = [*order, len(order)]
    first, second = TextVectorizer(words=5, ngrams=ngrams), TextVectorizer(words=5, ngrams=ngrams)
    rows = first.fit_transform(iter(texts))
    permuted = second.fit_transform(texts[row] for row in order)
    assert first.vocabulary_ == second.vocabulary_
    assert np.array_equal(first.idf_, second.idf_)
    assert np.array_equal(rows.toarray()[order], permuted.toarray())


def test_the_same_texts_give_the_same_bits_with_one_pass_or_two():
    texts = ["a b a", "", "b c d d", "new york new york"]
    first = TextVectorizer(ngrams=(1, 2))
    counts = first.fit_counts(texts)
    second = TextVectorizer(ngrams=(1, 2)).fit(iter(texts))
    for one, other in ((counts, second.counts(iter(texts))), (first.tfidf(counts), second.transform(texts))):
        for name in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
            assert getattr(one, name).dtype == getattr(other, name).dtype
    assert counts.dtype == np.float32


def test_the_vocabulary_is_cut_by_frequency_then_by_word():
    vectorizer = TextVectorizer(words=3).fit(["d d b", "c a", "a b"])
    assert vectorizer.vocabulary_ == ["a", "b", "d"]
    assert vectorizer.n_docs_ == 3
    np.testing.assert_allclose(vectorizer.idf_, np.log([3 / 2, 3 / 2, 3 / 1]), rtol=1e-6)


def test_empty_and_unknown_texts_are_rows_of_zeros():
    vectorizer = TextVectorizer().fit(["cat dog", "cat", ""])
    rows = vectorizer.transform(["", "horse", "...", "dog"])
    assert rows.toarray()[:3].any() == np.False_
    assert np.isfinite(rows.data).all()
    assert vectorizer.transform([]).shape == (0, 2)


def test_an_unknown_word_breaks_a_gram_and_a_stop_word_does_not():
    vectorizer = TextVectorizer(ngrams=(2, 2), stop_words=["of"]).fit(["king of spain", "king of france"])
    assert vectorizer.vocabulary_ == ["king france", "king spain"]
    counts = vectorizer.counts(["king spain", "king great spain", "king of of spain", "of", "spain king"])
    assert counts.toarray().tolist() == [[0, 1], [0, 0], [0, 1], [0, 0], [0, 0]]


def test_stems_share_a_column():
    vectorizer = TextVectorizer(stem=True).fit(["Ranking ranked", "cats rank"])
    assert vectorizer.vocabulary_ == ["rank", "cat"]
    assert vectorizer.counts(["ranks cat cat"]).toarray().tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ngrams": (1, 3), "words": np.int64(4), "stop_words": {"the"}, "min_df": 1},
        {"stop_words": "en", "tf": "log", "idf": "smooth", "language": "english", "words": None},
    ],
)
def test_parts_through_json_make_the_same_vectorizer(params):
    texts = ["the king of spain", "the king of the hill", "a hill"]
    vectorizer = TextVectorizer(**params).fit(texts)
    header, arrays = pack_estimator(vectorizer)
    again = unpack_estimator(json.loads(json.dumps(header)), arrays, lambda name: TextVectorizer)
    assert pack_estimator(again)[0] == header
    assert (again.vocabulary_, again.n_docs_) == (vectorizer.vocabulary_, 3)
    assert np.array_equal(again.transform(texts).toarray(), vectorizer.transform(texts).toarray())


@pytest.mark.parametrize(
    ("params", "vocabulary", "idf", "problem"),
    [
        ({}, ["a"], [1.0, 2.0], "idf has shape"),
        ({}, ["a"], [np.nan], "want 1 finite"),
        ({}, ["a", "a"], [1.0, 1.0], "twice"),
    ],
)
def test_parts_that_do_not_fit_are_refused(params, vocabulary, idf, problem):
    with pytest.raises(TacitError, match=problem):
        TextVectorizer.from_vocabulary(vocabulary, np.array(idf), 1, **params)


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"words": 0}, "words is 0"),
        ({"ngrams": 2}, "ngrams is 2, want a pair"),
        ({"ngrams": (2, 1)}, r"ngrams\[1\] is 1, want a whole number >= 2"),
        ({"ngrams": (0, 1)}, r"ngrams\[0\] is 0"),
        ({"min_df": 0.5}, "min_df is 0.5"),
        ({"tf": "sqrt"}, "tf is 'sqrt'"),
        ({"idf": "none"}, "idf is 'none'"),
        ({"language": "zz"}, "language is 'zz'"),
    ],
)
def test_wrong_parameters_are_named_when_fitting(params, problem):
    with pytest.raises(TacitError, match=problem):
        TextVectorizer(**params).fit(["a"])


def test_texts_without_words_and_wrong_calls_are_refused():
    with pytest.raises(TacitError, match=r"nothing to count in the texts \(2\)"):
        TextVectorizer().fit(["", "..."])
    with pytest.raises(UsageError, match="one string"):
        TextVectorizer().fit("cat")
    with pytest.raises(NotFittedError):
        TextVectorizer().transform(["cat"])
    vectorizer = TextVectorizer().fit(["cat", "dog"])
    with pytest.raises(TacitError, match="counts has 3 features, want 2"):
        vectorizer.tfidf(np.ones((1, 3)))
    with pytest.raises(TacitError, match="counts contains -1"):
        vectorizer.tfidf(np.array([[-1.0, 0.0]]))


def test_a_real_collection_is_counted_as_by_scikit_learn(data_folder):
    with gzip.open(data_folder / "text" / "cacm" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [f"{doc['title']}\n{doc['text']}" for doc in map(json.loads, lines)]
    ours = TextVectorizer(words=None, ngrams=(1, 2), min_df=2)
    counts = ours.fit_counts(texts)
    oracle = CountVectorizer(token_pattern=r"[^\W_]+", ngram_range=(1, 2), min_df=2)
    expected = oracle.fit_transform(texts)
    assert (counts != in_order_of(ours, oracle, expected).tocsr()).nnz == 0


class TestAddWords:
    OLD, NEW = ["the cat saw", "the dog", "a cat"], ["the bird and the bird", "bird of a dog", ""]

    @pytest.mark.parametrize("params", [{}, {"words": 2, "min_df": 2}, {"ngrams": (1, 2), "idf": "smooth"}])
    def test_new_words_stand_at_the_end_and_old_columns_keep_their_bits(self, params):
        before, after = (TextVectorizer(**params).fit(self.OLD) for _ in range(2))
        added = after.add_words(self.NEW)
        n_known = len(before.vocabulary_)
        assert after.vocabulary_[:n_known] == before.vocabulary_
        assert added == len(after.vocabulary_) - n_known > 0
        assert after.idf_[:n_known].tobytes() == before.idf_.tobytes()
        assert (after.n_docs_, after.n_added_) == (3, 3)
        counts = after.counts(self.NEW)
        assert counts.shape == (3, len(after.vocabulary_))
        assert (counts[:, :n_known] != before.counts(self.NEW)).nnz == 0
        assert set(after.vocabulary_[n_known:]) == set(
            TextVectorizer(words=None, ngrams=params.get("ngrams", (1, 1))).fit(self.NEW).vocabulary_
        ) - set(before.vocabulary_)

    def test_order_and_idf_of_new_words(self):
        vectorizer = TextVectorizer().fit(self.OLD)
        vectorizer.add_words(self.NEW)
        assert vectorizer.vocabulary_[-3:] == ["bird", "and", "of"]  # 3, 1 and 1 occurrences
        # 3 texts of fit and 3 new ones; bird stands in 2 of them, the others in 1.
        np.testing.assert_allclose(vectorizer.idf_[-3:], np.log([6 / 2, 6 / 1, 6 / 1]), rtol=1e-6)
        vectorizer.add_words(["fish"])
        np.testing.assert_allclose(vectorizer.idf_[-4:], np.log([6 / 2, 6 / 1, 6 / 1, 7 / 1]), rtol=1e-6)
        assert vectorizer.add_words(["fish bird"]) == 0
        assert vectorizer.n_added_ == 5

    def test_a_copy_stays_as_it_was(self):
        vectorizer = TextVectorizer().fit(self.OLD)
        kept = copy.copy(vectorizer)
        vectorizer.add_words(self.NEW)
        assert len(kept.vocabulary_) == len(kept.idf_) == kept.counts(self.NEW).shape[1] == 5
        assert kept.n_added_ == 0

    def test_words_after_grams_are_refused(self):
        vectorizer = WordGramVectorizer().fit(self.OLD)
        with pytest.raises(UsageError, match="WordGramVectorizer cannot take new words"):
            vectorizer.add_words(self.NEW)
