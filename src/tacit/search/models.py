"""Models on disk: one pair of functions saves and loads every estimator, searchers included.

A folder holds one estimator (`store.estimators`); the folder of a searcher also holds its documents. Arrays are
memory-mapped. Opening a model checks the sizes, shapes and values that compiled loops rely on; `store.verify_model`
checks every byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

import tacit.features
import tacit.rerank
import tacit.retrieve
from tacit.core import Collection, Estimator, Method, StoreError, check_kind, load_plugins
from tacit.retrieve import BlendRanker
from tacit.search.searcher import Searcher
from tacit.search.two_stage import TwoStageRanker
from tacit.store import (
    Stored,
    blame,
    load_model,
    pack_estimator,
    pack_fields,
    pack_strings,
    pack_texts,
    save_model,
    unpack_estimator,
    unpack_fields,
    unpack_strings,
    unpack_texts,
)

AnySearcher = TypeVar("AnySearcher", bound=Searcher)
PACKAGES = (tacit.retrieve, tacit.rerank, tacit.features)


def find_class(name: str) -> type[Estimator]:
    """Return the estimator of that name, exported by tacit or registered by an installed package.

    A folder can name no other class.
    """
    own: dict[str, type[Estimator]] = {"Searcher": Searcher, "TwoStageRanker": TwoStageRanker}
    if name in own:
        return own[name]
    for package in PACKAGES:
        found = getattr(package, name) if name in package.__all__ else None
        if isinstance(found, type) and issubclass(found, Estimator):
            return found
    member = next((kind for kind in BlendRanker.member_kinds() if kind.__name__ == name), None)
    if member is not None:
        return member
    for plugin in load_plugins():  # estimators of installed packages
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
        Folder; a model in it is replaced as a whole.
    """
    header, arrays = pack_estimator(check_kind("model", model, Estimator, "an estimator of tacit"))
    if isinstance(model, Searcher):
        header["name"] = model.documents_.name
        arrays |= pack_strings("documents/ids", model.documents_.ids)
        arrays |= pack_strings("documents/titles", model.documents_.titles)
        arrays |= pack_texts("documents/texts", model.documents_.texts)
        if model.documents_.extras:
            header["fields"], fields = pack_fields("documents/fields", model.documents_.extras)
            arrays |= fields
    else:
        header["method"] = getattr(model, "method_", "")
    save_model(path, Stored(type(model).__name__, header, arrays))


@overload
def load(path: str | Path, kind: type[AnySearcher]) -> AnySearcher: ...
@overload
def load(path: str | Path, kind: type = object) -> Any: ...
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
        model: Any = unpack_estimator(header, arrays, find_class)
        if not issubclass(type(model), kind):
            raise StoreError(f"contains a {type(model).__name__}, want a {kind.__name__}")
        if isinstance(model, Searcher):
            model.documents_ = _documents(arrays, header)
            model._check_sizes()
        else:
            model.method_ = str(header.get("method", ""))
        return model


def _documents(arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> Collection:
    """Documents that are read from disk only when they are used."""
    ids, titles = (unpack_strings(f"documents/{column}", arrays) for column in ("ids", "titles"))
    fields = unpack_fields("documents/fields", header.get("fields", []), arrays, len(ids))
    texts = unpack_texts("documents/texts", arrays)
    return Collection(ids, titles, texts, fields, str(header.get("name", "")))
