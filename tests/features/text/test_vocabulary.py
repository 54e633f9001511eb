"""Counting strings of all grams is the oracle of the vocabulary and of its counts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.features import tokenizer_for
from tacit.features.text import counting
from tacit.features.text.counting import WordNumbers, WordStream, read_words, row_blocks, word_parts
from tacit.features.text.grams import GramTable
from tacit.features.text.vocabulary import choose_vocabulary, count_and_spell

TERMS = ["b", "a", "ab", "c", "é"]
TEXTS = st.lists(st.lists(st.integers(0, len(TERMS) - 1), max_size=9), max_size=7)
NGRAMS = st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3), (4, 4)])


def stream_of(texts):
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts]).astype(np.int32)
    return WordStream(np.array([word for text in texts for word in text], np.int32), rows, len(texts))


def grams_by_hand(text, ngrams):
    words = [TERMS[word] for word in text]
    return Counter(
        " ".join(words[start : start + size])
        for size in range(ngrams[0], ngrams[1] + 1)
        for start in range(len(words) - size + 1)
    )


def vocabulary_by_hand(texts, ngrams, limit, min_df):
    counted = [grams_by_hand(text, ngrams) for text in texts]
    total, in_texts = sum(counted, Counter()), Counter(gram for per_text in counted for gram in per_text)
    kept = [gram for gram in total if in_texts[gram] >= min_df]
    return sorted(kept, key=lambda gram: (-total[gram], gram))[:limit]


@given(TEXTS, NGRAMS, st.one_of(st.none(), st.integers(1, 12)), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_the_most_frequent_grams_are_those_counted_by_hand(texts, ngrams, limit, min_df):
    chosen = choose_vocabulary(stream_of(texts), TERMS, ngrams, limit, min_df)
    assert chosen == vocabulary_by_hand(texts, ngrams, limit, min_df)


@given(TEXTS, TEXTS, NGRAMS, st.one_of(st.none(), st.integers(1, 6)))
@settings(max_examples=100, deadline=None)
def test_a_table_counts_the_grams_of_other_texts(texts, others, ngrams, limit):
    vocabulary = vocabulary_by_hand(texts, ngrams, limit, 1)
    table = GramTable(vocabulary)
    numbered = [[table.word_number.get(TERMS[word], table.unknown) for word in text] for text in others]
    counts = table.count([stream_of(numbered)]).toarray()
    assert counts.shape == (len(others), len(vocabulary))
    for row, text in enumerate(others):
        by_hand = grams_by_hand(text, ngrams)
        assert counts[row].tolist() == [by_hand[gram] for gram in vocabulary]


@given(TEXTS, st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_counting_in_parts_counts_the_same(texts, n_words):
    table = GramTable(["b a", "b", "ab ab ab"])
    stream = stream_of([[min(word, table.unknown) for word in text] for text in texts])
    at_once, in_parts = table.count([stream]), table.count(row_blocks(stream, n_words))
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(at_once, name), getattr(in_parts, name))
        assert getattr(at_once, name).dtype == getattr(in_parts, name).dtype
    assert at_once.shape == in_parts.shape == (len(texts), 3)


def test_equal_frequencies_go_by_the_word():
    assert choose_vocabulary(stream_of([[0, 1, 2, 3, 4]]), TERMS, limit=3) == ["a", "ab", "b"]


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_order_of_texts_does_not_matter(ngrams):
    texts = [[0, 1, 0], [2, 3], [4, 4, 1, 0], []]
    assert choose_vocabulary(stream_of(texts), TERMS, ngrams) == choose_vocabulary(
        stream_of(texts[::-1]), TERMS, ngrams
    )


@given(TEXTS, st.sampled_from([None, 1, 2, 4]), st.integers(1, 2), st.integers(1, 8), st.booleans())
@settings(max_examples=80, deadline=None)
def test_words_counted_while_they_are_read_are_those_of_the_whole_stream(texts, limit, min_df, part, stem):
    tokenizer = tokenizer_for("en", stem=stem, stop_words=["ab"])
    words = ["runs running run", "Ran", "ab", "b c d", ""]
    texts = [" ".join(words[word] for word in text) for text in texts]
    numbers = WordNumbers()
    stream = read_words(texts, tokenizer, numbers.number)
    wanted = choose_vocabulary(stream, numbers.words(), (1, 1), limit, min_df)
    table = GramTable(wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_CHUNK", 1)
        patch.setattr(counting, "PART_WORDS", part)
        patch.setattr(counting, "LARGE_ENTRIES", 2 * part)
        found, counts, _ = count_and_spell(iter(texts), tokenizer, limit, min_df)
        again = table.count(word_parts(texts, tokenizer, table.number))
    assert found == wanted
    at_once = table.count([stream._replace(words=table.number(numbers.words())[stream.words])]) if wanted else again
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(counts, name), getattr(at_once, name))
        assert np.array_equal(getattr(again, name), getattr(at_once, name))
    assert counts.shape == again.shape == (len(texts), len(wanted))
