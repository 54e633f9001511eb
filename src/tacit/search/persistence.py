"""A searcher as a model folder, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Collection, StoreError, check_choice
from tacit.features import TextVectorizer, WordGramVectorizer
from tacit.retrieve import CROSS_SYSTEMS, SYSTEMS, ranker_from_state, ranker_state
from tacit.search.searcher import Searcher
from tacit.store import (
    Stored,
    blame,
    load_model,
    pack_strings,
    save_model,
    take_array,
    unpack_strings,
    with_prefix,
    without_prefix,
)

KIND = "Searcher"


def save_searcher(searcher: Searcher, path: str | Path) -> None:
    """Write the searcher with its documents; a folder that holds another model is replaced whole."""
    documents, vectorizer = searcher.documents, searcher.vectorizer
    header, arrays = ranker_state(searcher.ranker)
    params = {
        "method": searcher.method,
        "name": documents.name,
        "vectorizer": vectorizer.params(),
        "n_docs": vectorizer.n_docs_,
        "ranker": header,
    }
    packed = with_prefix("ranker", arrays) | _pack_words("words", vectorizer)
    if searcher.is_across:
        params["query_vectorizer"] = searcher.query_vectorizer.params()
        params["query_n_docs"] = searcher.query_vectorizer.n_docs_
        packed |= _pack_words("query_words", searcher.query_vectorizer)
    for column in ("ids", "titles", "texts"):
        packed |= pack_strings(f"documents/{column}", getattr(documents, column))
    save_model(path, Stored(KIND, params, packed))


def load_searcher(path: str | Path) -> Searcher:
    """Read what `save_searcher` wrote; anything else is refused with a reason."""
    stored = load_model(path, kinds={KIND})
    with blame(path):
        return _build(stored)


def _build(stored: Stored) -> Searcher:
    params, arrays = stored.params, stored.arrays
    vectorizer = _unpack_words("words", params["vectorizer"], params["n_docs"], arrays)
    asked = vectorizer
    if "query_vectorizer" in params:
        asked = _unpack_words("query_words", params["query_vectorizer"], params["query_n_docs"], arrays)
    ids, titles, texts = (unpack_strings(f"documents/{column}", arrays) for column in ("ids", "titles", "texts"))
    documents = Collection(ids, titles, texts, name=params["name"])
    ranker = ranker_from_state(params["ranker"], without_prefix("ranker", arrays))
    check_choice("method", params["method"], [*SYSTEMS, *CROSS_SYSTEMS])
    n_words = len(asked.vocabulary_)
    if ranker.n_features_ != n_words or ranker.n_items_ != len(documents):
        raise StoreError(
            f"the ranker is for {ranker.n_features_} words and {ranker.n_items_} documents, "
            f"the folder holds {n_words} and {len(documents)}"
        )
    items = getattr(ranker, "items_", None)
    if items is not None and items.shape[1] != len(vectorizer.vocabulary_):
        raise StoreError(f"the items have {items.shape[1]} words, the folder holds {len(vectorizer.vocabulary_)}")
    return Searcher(documents, vectorizer, ranker, params["method"], asked)


def _pack_words(name: str, vectorizer: TextVectorizer) -> dict[str, np.ndarray]:
    return {f"{name}/idf": vectorizer.idf_} | pack_strings(f"{name}/names", vectorizer.vocabulary_)


def _unpack_words(
    name: str, params: Mapping[str, Any], n_docs: int, arrays: Mapping[str, np.ndarray]
) -> TextVectorizer:
    vocabulary = unpack_strings(f"{name}/names", arrays)
    idf = take_array(arrays, f"{name}/idf", dtype="float32", shape=(len(vocabulary),))
    kind = WordGramVectorizer if "grams" in params else TextVectorizer
    return kind.from_parts(params, vocabulary, idf, n_docs)
