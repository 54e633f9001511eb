"""Texts in blocks give back what a list gives, and refuse damage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Collection, StoreError, TacitError, texts
from tacit.core.texts import TextBlocks, TextWriter, join_texts, take_texts

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def blocks(strings):
    writer = TextWriter(memory=0)
    writer.extend(strings)
    return writer.finish()


@given(st.lists(words, max_size=30), st.integers(1, 60), st.data())
@settings(max_examples=60, deadline=None)
def test_blocks_are_the_same_sequence(strings, size, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "BLOCK_BYTES", size)
        stored = blocks(strings)
        assert isinstance(stored, TextBlocks)
        assert stored == strings
        assert list(stored) == strings
        assert [stored[row] for row in range(-len(strings), 0)] == strings
        rows = data.draw(st.lists(st.integers(0, len(strings) - 1), max_size=10)) if strings else []
        taken = take_texts(stored, rows)
        assert taken == [strings[row] for row in rows]
        joined = join_texts(join_texts(taken, stored), ["x"])
        assert joined == [*taken, *strings, "x"]
        assert blocks(joined) == [*taken, *strings, "x"]
        assert blocks(join_texts(stored, stored)) == strings * 2


def test_a_small_collection_is_a_list_and_a_large_one_is_not():
    writer = TextWriter(memory=10)
    writer.extend(["abc", "def"])
    assert writer.finish() == ["abc", "def"]
    assert type(writer.finish()) is list
    writer = TextWriter(memory=10)
    writer.extend(["abc" * 2, "def" * 2, "g"])
    large = writer.finish()
    assert type(large) is TextBlocks
    assert large == ["abcabc", "defdef", "g"]
    docs = Collection(["1", "2", "3"], [""] * 3, large)
    assert [*docs.take([2, 0])] == [("3", "", "g"), ("1", "", "abcabc")]
    with pytest.raises(IndexError):
        large[3]


def test_blocks_of_others_are_copied_without_unpacking(monkeypatch):
    first = blocks(["a" * 100, "b"])
    monkeypatch.setattr(TextBlocks, "_read", None)
    assert len(blocks(join_texts(first, first))) == 4


def test_damage_is_refused_and_a_claim_of_much_text_unpacks_nothing():
    stored = blocks(["they purr " * 200, "they bark"])
    for place in range(0, len(stored.blocks), 7):
        data = stored.blocks.copy()
        data[place] ^= 0x41
        damaged = TextBlocks(data, stored.starts, stored.rows, stored.ends)
        with pytest.raises(StoreError, match="block 0 cannot be decompressed"):
            damaged[1]
    for ends in ([2000, 2**62], [2000, -1], [4000, 2009], [2000, 2008], [-1, 2009], [2**62, 2009]):
        with pytest.raises(StoreError, match="block 0 cannot be decompressed"):
            list(TextBlocks(stored.blocks, stored.starts, stored.rows, np.array(ends)))
    not_utf8 = TextWriter(memory=0)
    not_utf8.append("é")
    half = not_utf8.finish()
    with pytest.raises(StoreError, match="block 0"):
        list(TextBlocks(half.blocks, half.starts, np.array([0, 2]), np.array([1, 2])))


def test_a_folder_that_cannot_be_written_is_named(monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(texts.tempfile, "TemporaryFile", full)
    with pytest.raises(TacitError, match=r"cannot write texts: No space left on device; set TMPDIR"):
        blocks(["a"])


def test_half_a_character_is_refused():
    with pytest.raises(TacitError, match="text 1 cannot be written as UTF-8"):
        blocks(["a", "\ud800"])
