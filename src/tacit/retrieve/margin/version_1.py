"""Model folders of format version 1 of rankers that hold two models: their arrays lay side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Estimator
from tacit.features.cfh import hashed_rows
from tacit.features.text.weighting import best_words, weigh
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.wordpair_forms import HashedPairRanker
from tacit.store import pack_csr, pack_estimator, unpack_csr, with_prefix

Arrays = Mapping[str, Any]
TRAINING = ("rate", "margin", "n_epochs", "tune", "seed", "threads")


def read_cfh(params: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Headers of the nested models of `CfhRanker`, and all arrays."""
    items, hash_map = unpack_csr("items_", arrays), unpack_csr("map_", arrays)
    n_words, dim = params["grams_from"] or items.shape[1], arrays["query_table_"].shape[1]
    how = {"dim": dim} | {name: params[name] for name in TRAINING}
    vectors, hashed_vectors = np.hsplit(arrays["item_vectors_"], [dim])
    found: dict[str, Any] = pack_csr("map_", hash_map)
    if params["grams_from"] is not None:
        found |= pack_csr("grams_", sp.csr_array(items[:, n_words:]))
    words, hashed = sp.csr_array(items[:, :n_words]), weigh(hashed_rows(items, hash_map), np.ones(hash_map.shape[1]))
    models: dict[str, Estimator | None] = {
        "vectors_": _embedding(EmbeddingRanker(n_words=params["n_words"], **how), words, arrays, "", vectors),
        "hashed_": None,
    }
    if hash_map.nnz:
        second = EmbeddingRanker(identity="none", **how)
        models["hashed_"] = _embedding(second, hashed, arrays, "hashed_", hashed_vectors)
    return _packed(models, found)


def read_htr_pairs(params: Mapping[str, Any], alpha: float, arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Headers of the nested models of `HtrPairsRanker`, and all arrays."""
    items, buckets, dim = unpack_csr("items_", arrays), arrays["places_"], arrays["query_table_"].shape[1]
    how = {name: params[name] for name in ("n_epochs", "tune", "seed", "threads")}
    vectors = EmbeddingRanker(dim, items="residual", gamma=params["gamma"], **how)
    heaviest = items if params["longest"] is None else best_words(items, params["longest"])
    pairs = _fitted(
        HashedPairRanker(len(buckets), rate=1.0, **how),
        heaviest,
        buckets_=buckets,
        alpha_=alpha,
        n_words_=int(items.shape[1]),
        n_item_words_=int(items.shape[1]),
    )
    first = _embedding(vectors, items, arrays, "", arrays["item_vectors_"], arrays["diagonal_"])
    return _packed({"vectors_": first, "pairs_": pairs}, {})


def _embedding(
    model: EmbeddingRanker,
    items: sp.csr_array,
    arrays: Arrays,
    prefix: str,
    vectors: np.ndarray,
    diagonal: np.ndarray | None = None,
) -> EmbeddingRanker:
    if diagonal is None:
        diagonal = np.full(items.shape[1], model.identity != "none", np.float32)
    tables = {name: arrays[prefix + name] for name in ("query_table_", "item_table_")}
    return _fitted(model, items, **tables, item_vectors_=np.ascontiguousarray(vectors), diagonal_=diagonal)


def _fitted(model: Any, items: sp.csr_array, **attributes: Any) -> Any:
    numbers = {"best_epoch_": 0, "rate_": model.rate, "margin_": model.margin, "n_added_": 0, "n_removed_": 0}
    vars(model).update(numbers, n_features_=int(items.shape[1]), items_=items, **attributes)
    return model


def _packed(models: Mapping[str, Estimator | None], found: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    headers: dict[str, Any] = {}
    for name, model in models.items():
        headers[name] = None
        if model is not None:
            headers[name], inner = pack_estimator(model)
            found |= with_prefix(name, inner)
    return headers, found
