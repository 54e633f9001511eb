"""Models on disk: one pair of functions saves and loads every estimator, searchers included.

A folder holds one estimator (`store.estimators`), a searcher also its documents. Arrays are mapped, not read: what is
opened is checked for sizes, shapes and values that compiled loops rely on; `store.verify_model` checks every byte.
Folders of versions 1 and 2 are read too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tacit.features
import tacit.rerank
import tacit.retrieve
from tacit.core import Collection, Estimator, Method, StoreError, load_plugins
from tacit.features import TextVectorizer, WordGramVectorizer
from tacit.search.searcher import Searcher
from tacit.search.two_stage import TwoStageRanker
from tacit.store import (
    Stored,
    blame,
    load_model,
    pack_estimator,
    pack_strings,
    pack_texts,
    save_model,
    take_array,
    unpack_estimator,
    unpack_strings,
    unpack_texts,
    with_prefix,
    without_prefix,
)

PACKAGES = (tacit.retrieve, tacit.rerank, tacit.features)


def find_class(name: str) -> type[Estimator]:
    """The estimator of that name among those that the packages export or an installed package registers.

    A folder can name no other class.
    """
    own: dict[str, type[Estimator]] = {"Searcher": Searcher, "TwoStageRanker": TwoStageRanker}
    if name in own:
        return own[name]
    for package in PACKAGES:
        found = getattr(package, name) if name in package.__all__ else None
        if isinstance(found, type) and issubclass(found, Estimator):
            return found
    for plugin in load_plugins():  # those of installed packages
        if isinstance(plugin, Method) and plugin.estimator.__name__ == name:
            return plugin.estimator
    raise StoreError(f"{name!r} is no estimator that this version knows")


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model into a folder.

    Parameters
    ----------
    model : Estimator
        A searcher, a ranker or a vectorizer.
    path : str or Path
        Folder; a model that it holds is replaced as a whole.
    """
    header, arrays = pack_estimator(model)
    if isinstance(model, Searcher):
        header["name"] = model.documents_.name
        arrays |= pack_strings("documents/ids", model.documents_.ids)
        arrays |= pack_strings("documents/titles", model.documents_.titles)
        arrays |= pack_texts("documents/texts", model.documents_.texts)
    else:
        header["method"] = getattr(model, "method_", "")
    save_model(path, Stored(type(model).__name__, header, arrays))


def load(path: str | Path, kind: type = object) -> Any:
    """Read what `save` wrote.

    Parameters
    ----------
    path : str or Path
        Folder of the model.
    kind : type, default=object
        Class that the model must have; any other is refused.
    """
    stored = load_model(path, mmap=True, verify=False)
    with blame(path):
        header, arrays = {"class": stored.kind} | stored.params, stored.arrays
        if stored.kind == "Searcher" and "estimators" not in header:
            header, arrays = _searcher_of_version_1(stored)
        model: Any = unpack_estimator(header, arrays, find_class)
        if not issubclass(type(model), kind):
            raise StoreError(f"holds a {type(model).__name__}, want a {kind.__name__}")
        if isinstance(model, Searcher):
            model.documents_ = _documents(arrays, str(header.get("name", "")))
            model._check_sizes()
        else:
            model.method_ = str(header.get("method", ""))
        return model


def _documents(arrays: Mapping[str, np.ndarray], name: str) -> Collection:
    """Documents, of which nothing is read before it is asked for; versions 1 and 2 had plain texts."""
    ids, titles = (unpack_strings(f"documents/{column}", arrays) for column in ("ids", "titles"))
    unpack = unpack_strings if "documents/texts/bytes" in arrays else unpack_texts
    return Collection(ids, titles, unpack("documents/texts", arrays), name=name)


def _searcher_of_version_1(stored: Stored) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Version 1 had no header of the searcher, and vectorizers were no estimators."""
    params, arrays, parts = stored.params, dict(stored.arrays), {"ranker_": stored.params.get("ranker")}
    arrays |= with_prefix("ranker_", without_prefix("ranker", arrays))
    for name, words, n_docs in (("vectorizer", "words", "n_docs"), ("query_vectorizer", "query_words", "query_n_docs")):
        if name not in params:
            continue
        given = params[name]
        kind = WordGramVectorizer if "grams" in given else TextVectorizer
        parts[f"{name}_"] = {"class": kind.__name__, "params": given, "numbers": {"n_docs_": params.get(n_docs)}}
        arrays |= with_prefix(f"{name}_/vocabulary_", without_prefix(f"{words}/names", arrays))
        arrays[f"{name}_/idf_"] = take_array(arrays, f"{words}/idf", dtype="float32", shape=(None,))
    own = {"method": params["method"]} | {name: params["vectorizer"][name] for name in ("words", "language", "stem")}
    if "query_vectorizer" in params:
        own["query_language"] = params["query_vectorizer"]["language"]
    return {"class": "Searcher", "params": own, "estimators": parts, "name": params["name"]}, arrays
