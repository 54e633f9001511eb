"""Texts of documents as arrays of compressed blocks (`core.texts`), read back without unpacking any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tacit.core import StoreError
from tacit.core.texts import TextBlocks, TextWriter
from tacit.store.parts import take_array, with_prefix


def pack_texts(prefix: str, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays `prefix/blocks`, `prefix/starts`, `prefix/rows` and `prefix/ends`.

    >>> sorted(pack_texts("texts", ["they purr"]))
    ['texts/blocks', 'texts/ends', 'texts/rows', 'texts/starts']
    """
    if not isinstance(texts, TextBlocks):
        writer = TextWriter(memory=0)
        writer.extend(texts)
        texts = writer.finish()
    assert isinstance(texts, TextBlocks)
    parts = {"blocks": texts.blocks, "starts": texts.starts, "rows": texts.rows, "ends": texts.ends}
    return with_prefix(prefix, parts)


def unpack_texts(prefix: str, arrays: Mapping[str, np.ndarray]) -> TextBlocks:
    """The texts below a prefix; each block is checked when it is read."""
    blocks = take_array(arrays, f"{prefix}/blocks", dtype="uint8", shape=(None,))
    starts = take_array(arrays, f"{prefix}/starts", dtype="int64", shape=(None,))
    rows = take_array(arrays, f"{prefix}/rows", dtype="int64", shape=(len(starts),))
    ends = take_array(arrays, f"{prefix}/ends", dtype="int64", shape=(None,))
    for name, limits, total in (("starts", starts, len(blocks)), ("rows", rows, len(ends))):
        if not len(limits) or limits[0] != 0 or limits[-1] != total or (limits[1:] <= limits[:-1]).any():
            raise StoreError(f"array '{prefix}/{name}' does not rise from 0 to {total}")
    return TextBlocks(blocks, starts, rows, ends)
