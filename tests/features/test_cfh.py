"""DICE by the formula on dense counts; equation 6 of the paper, written out, is the oracle of k = 1."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import NotFittedError, TacitError, UsageError
from tacit.features.cfh import (
    Correlated,
    CorrelatedHashing,
    correlated_words,
    dice_table,
    hash_map,
    informative_terms,
)
from tacit.features.text.vectorizer import TextVectorizer, WordGramVectorizer

SEEDS = st.integers(0, 2**32 - 1)


def random_counts(seed, n_docs=15, n_words=12):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.5, (n_docs, n_words)).astype(np.float32)
    counts[rng.integers(n_docs)] = 0  # a document without words
    counts[:, rng.integers(n_words)] = 0  # a word without documents
    return counts


def dice_matrix(terms, words):
    """DICE of all terms and words by the formula; 0 where neither occurs."""
    a, b = (np.asarray(side) > 0 for side in (terms, words))
    together = a.T.astype(np.float64) @ b
    occur = a.sum(axis=0)[:, None] + b.sum(axis=0)[None, :]
    return 2 * together / np.maximum(occur, 1)


@given(seed=SEEDS, n_frequent=st.integers(1, 15), k=st.integers(1, 6))
@settings(max_examples=50, deadline=None)
def test_words_and_dice_are_those_of_the_formula(seed, n_frequent, k):
    counts = random_counts(seed)
    dice = dice_matrix(counts, counts[:, :n_frequent])
    found = correlated_words(sp.csr_array(counts), n_frequent, k)
    for term, row in enumerate(dice):
        order = [word for word in np.argsort(-row, kind="stable")[:k] if row[word] > 0]
        assert [word for word in found.words[term] if word >= 0] == order
        assert found.dice[term, : len(order)].tolist() == row[order].tolist()
        assert not found.dice[term, len(order) :].any()


def test_occurrences_count_in_the_denominator_where_asked():
    """occur is 8, 2, 1 and 2 instead of 4, 2, 1 and 1; what is counted together stays a number of documents."""
    counts = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 2], [5, 0, 0, 0]])
    hashing = CorrelatedHashing(2, 2, occur="occurrences").fit(counts)
    assert hashing.correlated_.words.tolist() == [[0, 1], [1, 0], [1, 0], [0, -1]]
    expected = [[2 * 4 / 16, 2 * 2 / 10], [1, 2 * 2 / 10], [2 / 3, 2 / 9], [2 / 10, 0]]
    assert hashing.correlated_.dice.tolist() == expected
    with pytest.raises(UsageError, match="occur is 'words'"):
        CorrelatedHashing(2, occur="words").fit(counts)
    with pytest.raises(TacitError, match="occurrences are of 1 words and 4 terms"):
        correlated_words(counts, 2, 2, occurrences=(np.ones(1), np.ones(4)))


def test_dice_by_hand():
    # Word 0 stands in all 4 documents, word 1 in 2, word 2 in 1 of those, word 3 in another one.
    counts = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 2], [5, 0, 0, 0]])
    found = correlated_words(counts, 2, 2)
    assert found.words.tolist() == [[0, 1], [1, 0], [1, 0], [0, -1]]
    expected = [[1, 2 * 2 / 6], [1, 2 * 2 / 6], [2 / 3, 2 / 5], [2 / 5, 0]]
    assert found.dice.tolist() == expected


def test_equal_dice_goes_to_the_smaller_word_even_before_the_word_itself():
    counts = np.array([[1, 1, 1], [1, 1, 1], [0, 0, 0]])
    assert correlated_words(counts, 3, 2).words.tolist() == [[0, 1]] * 3


def test_a_stored_zero_is_no_occurrence_and_counts_beyond_one_do_not_matter():
    stored = sp.csr_array((np.array([1.0, 0.0, 7.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert correlated_words(stored, 2, 2).words.tolist() == [[0, -1], [1, -1]]
    assert stored.nnz == 3


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_the_order_of_documents_and_the_number_of_threads_change_nothing(seed):
    counts = random_counts(seed, 30, 200)
    first = correlated_words(counts, 50, threads=1)
    again = correlated_words(counts[np.random.default_rng(seed).permutation(30)], 50, threads=4)
    assert np.array_equal(first.words, again.words)
    assert np.array_equal(first.dice, again.dice)


def test_terms_before_the_first_are_left_alone():
    counts = random_counts(5)
    whole, rest = correlated_words(counts, 6), correlated_words(counts, 6, first=4)
    assert np.array_equal(rest.words[4:], whole.words[4:])
    assert (rest.words[:4] == -1).all()
    assert (correlated_words(counts, 6, first=99).words == -1).all()


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_one_best_word_is_equation_6_of_the_paper(seed):
    """Phi_(s,t)(q, d) = sum over i, j with h(i, j) = (s, t) of q_i d_j, h(i, j) = (S_1(i), S_1(j))."""
    counts, n_frequent = random_counts(seed), 5
    hashing = CorrelatedHashing(n_frequent, 1).fit(counts)
    rng = np.random.default_rng(seed)
    q, d = rng.random((2, 1, counts.shape[1]))
    best = dice_matrix(counts, counts[:, :n_frequent])
    expected = np.zeros((n_frequent, n_frequent))
    for i in range(counts.shape[1]):
        for j in range(counts.shape[1]):
            if best[i].any() and best[j].any():
                expected[best[i].argmax(), best[j].argmax()] += q[0, i] * d[0, j]
    rewritten = hashing.transform(q).toarray().T @ hashing.transform(d).toarray()
    np.testing.assert_allclose(rewritten, expected, rtol=1e-5, atol=1e-6)  # float32


@given(seed=SEEDS, k=st.integers(1, 6), skip=st.integers(0, 14))
@settings(max_examples=30, deadline=None)
def test_each_word_becomes_its_best_words_at_one_kth_each(seed, k, skip):
    counts = random_counts(seed)
    hashing = CorrelatedHashing(6, k, skip_first=skip).fit(counts)
    expected = np.zeros((len(counts), 6))
    for word in range(skip, counts.shape[1]):
        for other in hashing.correlated_.words[word]:
            if other >= 0:
                expected[:, other] += counts[:, word] / k
    rows = hashing.transform(counts)
    np.testing.assert_allclose(rows.toarray(), expected, rtol=1e-5)
    assert rows.dtype == np.float32
    assert rows.has_canonical_format


def test_a_row_is_hashed_alike_alone_and_among_others():
    counts = sp.csr_array(random_counts(3, 20, 40))
    hashing = CorrelatedHashing(10).fit(counts)
    together = hashing.transform(counts).toarray()
    assert all(np.array_equal(hashing.transform(counts[[row]]).toarray()[0], together[row]) for row in range(20))


def test_fewer_words_than_asked_for_are_all_that_there_are():
    counts = random_counts(1)
    assert CorrelatedHashing(30_000).fit(counts).map_.shape == (12, 12)
    assert hash_map(np.full((3, 5), -1), 4).nnz == 0


def test_2_grams_are_mapped_to_the_words_of_their_documents():
    texts = ["star trek spock", "star trek spock", "trek star", "a star", "a trek"]
    words, grams = TextVectorizer(), TextVectorizer(ngrams=(2, 2))
    counts, gram_counts = words.fit_counts(texts), grams.fit_counts(texts)
    found = correlated_words(counts, 9, 3, terms=gram_counts)
    rows = {row.term: row.words for row in dice_table(found, grams.vocabulary_, words.vocabulary_, range(5))}
    # "star trek" and "trek spock" stand in the two documents of spock: DICE 1; star and trek stand in four: 4 / 6.
    assert rows["star trek"] == rows["trek spock"] == ["spock", "star", "trek"]
    assert rows["a star"] == ["a", "star"]
    dice = dice_matrix(gram_counts.toarray(), counts.toarray())
    assert found.dice[:, 0].tolist() == dice.max(axis=1).tolist()


def test_examples_are_the_heaviest_columns():
    rows = sp.csr_array(np.array([[5.0, 1, 3, 3], [5, 0, 0, 0]]))
    assert informative_terms(rows, 2).tolist() == [0, 2]
    assert informative_terms(rows, 9, first=1).tolist() == [2, 3, 1]
    assert dice_table(Correlated(np.array([[0, -1]]), np.array([[0.5, 0]])), ["x"], ["y"], [0])[0].words == ["y"]


def test_words_and_2_grams_stand_side_by_side_each_at_unit_length():
    vectorizer = WordGramVectorizer(grams=3)
    texts = ["new york city", "new jersey", "old city", ""]
    rows = vectorizer.fit_transform(iter(texts))
    words, grams = rows[:, : vectorizer.grams_from_], rows[:, vectorizer.grams_from_ :]
    assert grams.shape[1] == 3
    assert len(vectorizer.vocabulary_) == rows.shape[1]
    assert np.array_equal(words.toarray(), TextVectorizer(None).fit_transform(texts).toarray())
    assert np.array_equal(grams.toarray(), TextVectorizer(3, (2, 2)).fit_transform(texts).toarray())
    assert np.array_equal(vectorizer.transform(texts).toarray(), rows.toarray())


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_frequent": 0}, "n_frequent is 0"),
        ({"n_frequent": 2, "k": 0}, "k is 0"),
        ({"n_frequent": 2, "first": -1}, "first is -1"),
        ({"n_frequent": 2, "terms": np.ones((2, 3))}, "terms has 2 rows and counts 15"),
        ({"n_frequent": 2, "terms": -np.ones((15, 3))}, "terms contains -1"),
    ],
)
def test_refuses_what_cannot_be_counted(how, message):
    with pytest.raises(TacitError, match=message):
        correlated_words(random_counts(0), **how)


def test_refuses_rows_of_another_width_or_before_fit():
    with pytest.raises(TacitError, match="features has 3 features, want 12"):
        CorrelatedHashing(3).fit(random_counts(0)).transform(np.ones((1, 3)))
    with pytest.raises(NotFittedError):
        CorrelatedHashing(3).transform(np.ones((1, 3)))
    with pytest.raises(NotFittedError):
        WordGramVectorizer().transform(["a"])


def test_a_dictionary_of_computing_has_the_dice_of_a_sparse_product(data_folder):
    from tacit.data import read_collection

    texts = list(read_collection(data_folder / "linked" / "foldoc" / "docs.jsonl.gz").full_texts())
    counts = TextVectorizer(None).fit_counts(texts)
    found = correlated_words(counts, 2000)
    present = (counts > 0).astype(np.float64)
    chosen = np.random.default_rng(0).choice(counts.shape[1], 100, replace=False)
    together = (present[:, chosen].T @ present[:, :2000]).toarray()
    occur = np.asarray(present.sum(axis=0)).ravel()
    dice = 2 * together / (occur[chosen][:, None] + occur[None, :2000])
    for row, term in zip(dice, chosen, strict=True):
        order = [word for word in np.argsort(-row, kind="stable")[:5] if row[word] > 0]
        assert found.words[term, : len(order)].tolist() == order


def test_a_vectorizer_of_words_and_2_grams_comes_back_from_its_parts():
    first = WordGramVectorizer(grams=2)
    rows = first.fit_transform(["new york city", "new york", "old city"])
    again = WordGramVectorizer.from_vocabulary(first.vocabulary_, first.idf_, first.n_docs_, grams=2)
    assert again.grams_from_ == first.grams_from_ == 4
    assert np.array_equal(again.transform(["new york city", "new york", "old city"]).toarray(), rows.toarray())
