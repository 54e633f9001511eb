"""How the words are shared among owners (the steps themselves are tested in `test_embedding_oracle`)."""

import itertools

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.retrieve.margin.embedding_sgd import _borders, _share


@given(counts=st.lists(st.integers(0, 50), min_size=1, max_size=12), n_owners=st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_owners_share_the_words_about_equally(counts, n_owners):
    """Each owner's range holds its share of the entries, but for the one word that a border falls into."""
    borders = _borders(np.array(counts), n_owners)
    assert (borders[0], borders[-1], len(borders)) == (0, len(counts), n_owners + 1)
    held = [sum(counts[start:stop]) for start, stop in itertools.pairwise(borders)]
    assert sum(held) == sum(counts)
    assert all(abs(part - sum(counts) / n_owners) <= max(counts) for part in held)


def test_a_word_has_one_owner_on_both_sides():
    """Queries use the first words and items the last; tied data change one table, so a word's owner must be one."""
    queries = sp.csr_array(np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0]], np.float32))
    items = sp.csr_array(np.array([[0, 0, 1, 1, 1, 1]], np.float32))
    owned = [[set(), set()], [set(), set()]]
    for side, shares in enumerate(_share(queries, items, 2)):
        for owner in range(2):
            starts, ends, words, _ = shares.of(owner)
            for start, end in zip(starts, ends, strict=True):
                owned[side][owner] |= set(words[start:end].tolist())
    assert owned[0][0] | owned[0][1] == {0, 1, 2, 3}
    assert owned[1][0] | owned[1][1] == {2, 3, 4, 5}
    assert not (owned[0][0] | owned[1][0]) & (owned[0][1] | owned[1][1])


def test_rows_without_any_word_have_owners_too():
    empty = sp.csr_array((3, 4), dtype=np.float32)
    for shares in _share(empty, empty, 3):
        for owner in range(3):
            starts, ends, _, _ = shares.of(owner)
            assert np.array_equal(starts, ends)
