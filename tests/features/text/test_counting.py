"""Streams of words against naive lists; scipy sums duplicates as the oracle of counting."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import TacitError, UsageError
from tacit.features import tokenizer_for
from tacit.features.text import counting
from tacit.features.text.counting import WordNumbers, count_matrix, document_frequency, read_words, stack_rows

TOKENIZER = tokenizer_for("en", stop_words=["stop"])
TEXTS = st.lists(st.lists(st.sampled_from(["a", "bb", "Été", "stop", "x_y", "", "42"]), max_size=8).map(" ".join))


@given(texts=TEXTS, chunk=st.sampled_from([1, 10, 1 << 16]))
@settings(max_examples=60, deadline=None)
def test_a_stream_holds_the_terms_of_every_text_in_order(texts, chunk):
    numbers = WordNumbers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_CHUNK", chunk)
        patch.setattr(counting, "PART_WORDS", chunk)
        stream = read_words(iter(texts), TOKENIZER, numbers.number)
    terms = numbers.words()
    found = [[] for _ in texts]
    for word, row in zip(stream.words, stream.rows, strict=True):
        found[row].append(terms[word])
    assert found == [TOKENIZER(text) for text in texts]
    assert stream.n_rows == len(texts)


def test_many_new_words_make_the_tables_grow_and_each_is_asked_for_once():
    texts = [" ".join(f"w{n}" for n in range(start, start + 3000)) for start in range(0, 90000, 3000)]
    asked = []

    def number_terms(terms):
        asked.extend(terms)
        return np.array([int(term[1:]) for term in terms])

    stream = read_words([*texts, *texts], TOKENIZER, number_terms)
    assert asked == [f"w{n}" for n in range(90000)]
    assert np.array_equal(stream.words, np.tile(np.arange(90000), 2))


def test_texts_must_be_strings():
    with pytest.raises(UsageError, match="texts is one string"):
        read_words("cat", TOKENIZER, WordNumbers().number)
    with pytest.raises(TacitError, match="text 1 is of type NoneType, want a string"):
        read_words(["cat", None], TOKENIZER, WordNumbers().number)


@given(
    st.integers(0, 5).flatmap(
        lambda n: st.tuples(
            st.just(n), st.lists(st.tuples(st.integers(0, max(n - 1, 0)), st.integers(0, 3)), max_size=30)
        )
    )
)
@settings(max_examples=60, deadline=None)
def test_counts_are_the_sums_of_duplicates(drawn):
    n_rows, entries = drawn
    rows, columns = np.array(entries if n_rows else [], np.int32).reshape(-1, 2).T
    counts = count_matrix(rows, columns, (n_rows, 4))
    expected = np.zeros((n_rows, 4), np.float32)
    np.add.at(expected, (rows, columns), 1)
    assert np.array_equal(counts.toarray(), expected)
    assert counts.dtype == np.float32
    assert sp.csr_array(counts).has_canonical_format
    assert document_frequency(columns, rows, 4).tolist() == np.count_nonzero(expected, axis=0).tolist()


def test_no_columns_give_an_empty_matrix():
    nothing = np.empty(0, np.int64)
    assert count_matrix(nothing, nothing, (3, 0)).shape == (3, 0)


@given(st.lists(st.integers(0, 4), max_size=5), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_rows_are_stacked_as_scipy_does(lengths, n_columns):
    rng = np.random.default_rng(0)
    blocks = [sp.csr_array(rng.poisson(0.5, (length, n_columns)).astype(np.float32)) for length in lengths]
    stacked = stack_rows(iter(blocks), n_columns)
    wanted = sp.vstack([*blocks, sp.csr_array((0, n_columns), dtype=np.float32)], format="csr")
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(stacked, name), getattr(wanted, name))
    assert (stacked.shape, stacked.dtype, stacked.indices.dtype) == (wanted.shape, np.float32, np.int32)
