"""Models on disk: one pair of functions saves and loads every estimator, searchers included.

A folder holds one estimator (`store.estimators`), a searcher also its documents. Folders of version 1 are read too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tacit.features
import tacit.rerank
import tacit.retrieve
from tacit.core import Collection, Estimator, StoreError
from tacit.features import TextVectorizer, WordGramVectorizer
from tacit.retrieve import CollectionRanker
from tacit.search.searcher import Searcher
from tacit.store import (
    Stored,
    blame,
    load_model,
    pack_estimator,
    pack_strings,
    save_model,
    take_array,
    unpack_estimator,
    unpack_strings,
    with_prefix,
    without_prefix,
)

PACKAGES = (tacit.retrieve, tacit.rerank, tacit.features)


def find_class(name: str) -> type[Estimator]:
    """The estimator of that name among those that the packages export; a folder can name no other class."""
    for package in PACKAGES:
        found = getattr(package, name) if name in package.__all__ else None
        if isinstance(found, type) and issubclass(found, Estimator):
            return found
    raise StoreError(f"{name!r} is no estimator that this version knows")


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model into a folder; one that holds another model is replaced whole."""
    if isinstance(model, Searcher):
        save_model(path, _pack_searcher(model))
    else:
        header, arrays = pack_estimator(model)
        save_model(path, Stored(type(model).__name__, {"method": getattr(model, "method_", "")} | header, arrays))


def load(path: str | Path, kind: type = object) -> Any:
    """Read what `save` wrote, if it is a `kind`; anything else is refused with a reason."""
    stored = load_model(path)
    with blame(path):
        if stored.kind == "Searcher":
            model = _unpack_searcher(stored)
        else:
            model = unpack_estimator(stored.params, stored.arrays, find_class)
            model.method_ = str(stored.params.get("method", ""))
        if not isinstance(model, kind):
            raise StoreError(f"holds a {type(model).__name__}, want a {kind.__name__}")
        return model


def _pack_searcher(searcher: Searcher) -> Stored:
    documents = searcher.documents
    params: dict[str, Any] = {"method": searcher.method, "name": documents.name}
    arrays: dict[str, np.ndarray] = {}
    parts: dict[str, Estimator] = {"vectorizer": searcher.vectorizer, "ranker": searcher.ranker}
    if searcher.is_across:
        parts["query_vectorizer"] = searcher.query_vectorizer
    for name, part in parts.items():
        params[name], inner = pack_estimator(part)
        arrays |= with_prefix(name, inner)
    for column in ("ids", "titles", "texts"):
        arrays |= pack_strings(f"documents/{column}", getattr(documents, column))
    return Stored("Searcher", params, arrays)


def _unpack_searcher(stored: Stored) -> Searcher:
    params, arrays = _searcher_of_version_1(stored) if "n_docs" in stored.params else (stored.params, stored.arrays)
    vectorizer = _unpack_part("vectorizer", params, arrays, TextVectorizer)
    asked = vectorizer
    if "query_vectorizer" in params:
        asked = _unpack_part("query_vectorizer", params, arrays, TextVectorizer)
    ids, titles, texts = (unpack_strings(f"documents/{column}", arrays) for column in ("ids", "titles", "texts"))
    documents = Collection(ids, titles, texts, name=params["name"])
    ranker = _unpack_part("ranker", params, arrays, CollectionRanker)
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


def _unpack_part(name: str, params: dict[str, Any], arrays: dict[str, np.ndarray], kind: type) -> Any:
    found = unpack_estimator(params[name], without_prefix(name, arrays), find_class)
    if not isinstance(found, kind):
        raise StoreError(f"{name} is a {type(found).__name__}, want a {kind.__name__}")
    return found


def _searcher_of_version_1(stored: Stored) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Vectorizers were no estimators then: their parameters, words and idf lay side by side."""
    params, arrays = dict(stored.params), dict(stored.arrays)
    for name, words, n_docs in (("vectorizer", "words", "n_docs"), ("query_vectorizer", "query_words", "query_n_docs")):
        if name not in params:
            continue
        given = params[name]
        kind = WordGramVectorizer if "grams" in given else TextVectorizer
        params[name] = {"class": kind.__name__, "params": given, "numbers": {"n_docs_": params.pop(n_docs)}}
        arrays |= with_prefix(f"{name}/vocabulary_", without_prefix(f"{words}/names", arrays))
        arrays[f"{name}/idf_"] = take_array(arrays, f"{words}/idf", dtype="float32", shape=(None,))
    return params, arrays
