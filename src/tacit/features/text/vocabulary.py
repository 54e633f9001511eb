"""The most frequent words and n-grams of a stream: the columns of a vectorizer.

Frequency is the number of occurrences in the whole collection. Columns are ordered by decreasing frequency, ties by the
word (n-grams: words joined by a space), so the same texts in any order give the same vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core.threads import cluster, gather, map_tasks
from tacit.features.text.counting import (
    WordNumbers,
    WordStream,
    WordTotals,
    checked_texts,
    choose_columns,
    count_matrix,
    document_frequency,
    large_blocks,
    stack_rows,
    word_parts,
)
from tacit.features.text.grams import extend_grams
from tacit.features.text.lexicon import Surfaces, hashes_of
from tacit.features.text.tokenizers import Tokenizer

TASK_CHARACTERS = 1 << 22  # of the texts counted by one task


class _Level(NamedTuple):
    """All grams of one size: keys as in `grams` (for size 1 the word numbers), and their counts."""

    keys: np.ndarray
    frequency: np.ndarray


class Spellings(NamedTuple):
    """Spellings of the terms of a vocabulary, and the terms outside it; see `lexicon`.

    Attributes
    ----------
    forms : list of str or None
        Words before stemming, most frequent first; None if words are not stemmed.
    columns : ndarray of int32 or None
        Column of each form.
    rare : ndarray of int32
        Hashes of the terms that are not in the vocabulary.
    """

    forms: list[str] | None
    columns: np.ndarray | None
    rare: np.ndarray


def count_and_spell(
    texts: Iterable[str], tokenizer: Tokenizer, limit: int | None = None, min_df: int = 1
) -> tuple[list[str], sp.csr_array, Spellings]:
    """Return the `limit` most frequent terms (None: all) that occur in at least min_df texts, and their counts.

    Equal to `choose_vocabulary` for single words; texts are read once, and only their counts are kept.

    >>> from tacit.features.text.tokenizers import tokenizer_for
    >>> words, counts, _ = count_and_spell(["to be or", "not to be", "be"], tokenizer_for("en"), limit=3)
    >>> words, counts.toarray().tolist()
    (['be', 'to', 'not'], [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    """
    terms, totals = WordNumbers(), WordTotals()
    surfaces = None if tokenizer.stem_word is None else Surfaces()
    counted = _counted if cluster.get() is None else _counted_by_tasks

    def added() -> Iterator[sp.csr_array]:
        for block in counted(texts, tokenizer, terms, surfaces):
            totals.add(block)
            yield block

    blocks = list(large_blocks(added()))
    frequency = totals.of(len(terms), min_df)
    chosen = np.flatnonzero(frequency >= _floor(frequency, limit)).tolist()
    ranked = sorted(zip((-frequency[chosen]).tolist(), terms.spell(chosen), chosen, strict=True))[:limit]
    column_of = np.full(len(terms), -1, np.int32)
    column_of[[number for _, _, number in ranked]] = np.arange(len(ranked))
    blocks.reverse()
    kept = (choose_columns(blocks.pop(), column_of, len(ranked)) for _ in range(len(blocks)))
    forms, columns = (None, None) if surfaces is None else surfaces.forms(column_of)
    rare = hashes_of(terms, np.flatnonzero(column_of >= 0))
    return [term for _, term, _ in ranked], stack_rows(kept, len(ranked)), Spellings(forms, columns, rare)


def _counted(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    terms: WordNumbers,
    surfaces: Surfaces | None,
    threads: int | None = None,
) -> Iterator[sp.csr_array]:
    """Return counts of the terms of texts, some texts at a time."""
    for part in word_parts(texts, tokenizer, terms.number, threads, None if surfaces is None else surfaces.add):
        yield count_matrix(part.rows, part.words, (part.n_rows, len(terms)))


def _counted_by_tasks(
    texts: Iterable[str], tokenizer: Tokenizer, terms: WordNumbers, surfaces: Surfaces | None
) -> Iterator[sp.csr_array]:
    """Return the same, counted by tasks; the columns of a row are unordered."""
    blocks = gather(checked_texts(texts), len, TASK_CHARACTERS)
    for found, counts, spelled in map_tasks(partial(_count_block, tokenizer), blocks):
        numbers = terms.number(found)
        if surfaces is not None and spelled is not None:
            words, frequency, own = spelled
            surfaces.add(words, frequency, np.where(own >= 0, numbers[own], -1))
        columns = numbers[counts.indices]
        yield sp.csr_array((counts.data, columns, counts.indptr), shape=(counts.shape[0], len(terms)))


def _count_block(
    tokenizer: Tokenizer, texts: list[str]
) -> tuple[list[str], sp.csr_array, tuple[list[str], np.ndarray, np.ndarray] | None]:
    """Return the terms of some texts, their counts, and their words before stemming; a task of one thread."""
    terms, surfaces = WordNumbers(), None if tokenizer.stem_word is None else Surfaces()
    counts = list(_counted(texts, tokenizer, terms, surfaces, threads=1))
    spelled = None if surfaces is None else (surfaces.numbers.words(), surfaces.frequency, surfaces.terms)
    return terms.words(), stack_rows(counts, len(terms)), spelled


def choose_vocabulary(
    stream: WordStream,
    terms: Sequence[str],
    ngrams: tuple[int, int] = (1, 1),
    limit: int | None = None,
    min_df: int = 1,
) -> list[str]:
    """Return the `limit` most frequent grams (None: all) that occur in at least min_df texts.

    terms[w] is the string of word number w; ngrams are the smallest and the largest size.

    >>> stream = WordStream(np.array([0, 1, 0, 1, 2]), np.array([0, 0, 0, 1, 1]), 2)
    >>> choose_vocabulary(stream, ["to", "be", "or"], (1, 2), limit=4)
    ['be', 'to', 'be or', 'be to']
    """
    low, high = ngrams
    levels: list[_Level] = []
    floor, prefix = 1, stream.words
    for size in range(1, high + 1):
        places, keys, numbers = _grams_of_size(prefix, stream, size, len(terms))
        frequency = np.bincount(numbers, minlength=len(keys))
        if min_df > 1:
            frequency[document_frequency(numbers, stream.rows[places], len(keys)) < min_df] = 0
        levels.append(_Level(keys, frequency))
        # A gram is no more frequent than its parts, and the floor never falls, so a gram below it now cannot become
        # part of a gram that is kept.
        counted = [level.frequency for level in levels[low - 1 :]]
        floor = _floor(np.concatenate([np.empty(0, np.int64), *counted]), limit)
        if size < high:
            prefix = np.full(len(stream.words), -1, np.int32)
            prefix[places] = np.where(frequency >= floor, np.arange(len(keys)), -1)[numbers]
            stream = stream._replace(words=prefix) if size == 1 else stream
    return _spell_best(levels, terms, low, floor, limit)


def _grams_of_size(
    prefix: np.ndarray, stream: WordStream, size: int, n_words: int
) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
    """Return positions of the grams, their distinct keys, and the number of the key at each position."""
    if size == 1:
        return slice(None), np.arange(n_words), prefix
    places, found = extend_grams(prefix, stream, size, n_words)
    keys, numbers = np.unique(found, return_inverse=True)
    return places, keys, numbers


def _floor(frequency: np.ndarray, limit: int | None) -> int:
    """Return the smallest frequency that may still be among the `limit` best; 0 marks excluded grams."""
    if limit is None or len(frequency) <= limit:
        return 1
    return max(1, int(np.partition(frequency, -limit)[-limit]))


def _spell_best(levels: list[_Level], terms: Sequence[str], low: int, floor: int, limit: int | None) -> list[str]:
    """Return strings of the grams with at least the floor's frequency, best first, up to the limit."""
    ranked: list[tuple[int, str]] = []
    for size in range(low, len(levels) + 1):
        frequency = levels[size - 1].frequency
        chosen = np.flatnonzero(frequency >= floor)
        ranked += zip((-frequency[chosen]).tolist(), _spell(levels, terms, size, chosen), strict=True)
    return [gram for _, gram in sorted(ranked)[:limit]]


def _spell(levels: list[_Level], terms: Sequence[str], size: int, numbers: np.ndarray) -> list[str]:
    """Decode the keys: repeatedly split off the last word; the rest is the first word."""
    tails: list[list[str]] = []
    for level in reversed(levels[1:size]):
        numbers, last = np.divmod(level.keys[numbers], len(terms))
        tails.append([terms[word] for word in last.tolist()])
    columns = [[terms[word] for word in numbers.tolist()], *reversed(tails)]
    return list(map(" ".join, zip(*columns, strict=True)))
