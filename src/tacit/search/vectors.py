"""Vectors of documents and queries by another model, as `Searcher` takes them: arrays, or a model of texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tacit.core import Collection, TacitError, UsageError
from tacit.retrieve import CollectionRanker
from tacit.retrieve.blend.vectors import spread_rows

SENTENCE_ENDS = (". ", "! ", "? ", "\n", "。")
MAX_SENTENCE = 200  # characters


def encode_texts(encode: Any, texts: Iterable[str], kind: str, **options: Any) -> np.ndarray:
    """Vectors of texts, float32 (n_texts, dim).

    Parameters
    ----------
    encode : callable or object
        Function of a list of texts that returns an array, or a model that has it as `encode_document` and
        `encode_query`, or as `encode`.
    texts : iterable of str
        Texts.
    kind : {"document", "query"}
        What they are.
    **options
        Passed on to the function.

    Examples
    --------
    >>> encode_texts(lambda texts: [[len(text), 1] for text in texts], ["a", "bcd"], "query")
    array([[1., 1.],
           [3., 1.]], dtype=float32)
    """
    read = getattr(encode, f"encode_{kind}", None) or getattr(encode, "encode", encode)
    if not callable(read):
        raise UsageError(f"encode is a {type(encode).__name__}, want a function of texts, or a model with `encode`")
    given = list(texts)
    try:
        found = np.ascontiguousarray(read(given, **options), np.float32)
    except (TypeError, ValueError) as error:
        raise TacitError(f"encode returned no array of numbers: {' '.join(str(error).split())}") from error
    if found.ndim != 2 or len(found) != len(given):
        raise TacitError(f"encode returned shape {found.shape}, want ({len(given)}, dim): one row for each text")
    return found


def check_vector_sources(method: str, ranker: CollectionRanker, **given: Any) -> None:
    """Raise unless the ranker reads vectors, where some are given."""
    named = [name for name, value in given.items() if value is not None]
    if named and not ranker.reads_vectors:
        raise UsageError(f"{method} reads no vectors of another model, want blend for {' and '.join(named)}")
    if named == ["query_vectors"]:
        raise UsageError("query_vectors are given without vectors, want those of the documents too")


def short_queries(documents: Collection) -> tuple[np.ndarray, list[str]]:
    """Rows of some documents, and a short query from each: its title, or else its first sentence."""
    rows = np.array([row for row in spread_rows(len(documents)) if documents.full_text(row).strip()], np.int64)
    return rows, [documents.titles[row].strip() or first_sentence(documents.texts[row]) for row in rows]


def first_sentence(text: str) -> str:
    """The first sentence of a text, or its first characters.

    >>> first_sentence(" Cats purr. They sleep."), first_sentence("no end")
    ('Cats purr', 'no end')
    """
    text = text.strip()[:MAX_SENTENCE]
    ends = [place for mark in SENTENCE_ENDS if (place := text.find(mark)) > 0]
    return text[: min(ends, default=len(text))]
