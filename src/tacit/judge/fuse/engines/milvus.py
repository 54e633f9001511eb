"""Milvus: rankers of hybrid search.

    RRFRanker(k)         sum of 1 / (k + rank); it has no weights
    WeightedRanker(...)  sum of weight times score, weights from 0 to 1; with norm_score=False raw scores. A search that
                         did not return the entity adds nothing

Metrics must be ones where higher is better: IP, COSINE, BM25.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.judge.fuse.engines.base import (
    Engine,
    Results,
    cannot_express,
    has_negative,
    reciprocal_ranks,
    rounded,
    rrf,
    space_of,
    weighted_sum,
)
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.learning import EQUAL_ONLY, LATTICE, Option, Space
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.normalizations import Family, leg_scales

NAME = "milvus"


def make_space(legs: Legs) -> Space:
    """Return the space; the default is RRFRanker(60)."""
    options = [rrf(60, EQUAL_ONLY), rrf(10, EQUAL_ONLY), rrf(100, EQUAL_ONLY)]
    weighted = [] if has_negative(legs) else [Option(Family("scaled", scales=leg_scales(legs)), LATTICE)]
    return space_of(legs, NAME, [*options, *weighted])


def export(fusion: Fusion, depth: int) -> dict[str, Any]:
    """Return the rerank function of hybrid search: {"strategy", "params"}, and the same as Python code."""
    if fusion.family.normalization == "rrf" and len(set(fusion.weights)) == 1:
        constant = int(fusion.family.rank_constant)
        return {"strategy": "rrf", "params": {"k": constant}, "python": f"RRFRanker({constant})"}
    if fusion.family.normalization != "scaled":
        raise cannot_express(fusion, NAME)
    raw = [weight / scale for weight, scale in zip(fusion.weights, fusion.family.scales, strict=True)]
    weights = rounded([weight / max(raw) for weight in raw], 9)  # from 0 to 1
    shown = ", ".join(f"{weight:g}" if weight in (0, 1) else repr(weight) for weight in weights)
    params = {"weights": weights, "norm_score": False}
    return {"strategy": "weighted", "params": params, "python": f"WeightedRanker({shown}, norm_score=False)"}


def evaluate(body: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Compute scores by the documented formulas."""
    if body["strategy"] == "rrf":
        return reciprocal_ranks(results, [1.0] * len(results), body["params"]["k"])
    return weighted_sum(results, body["params"]["weights"])


ENGINE = Engine(
    NAME,
    make_space,
    export,
    evaluate,
    "Pass it as `ranker` of hybrid_search, with one AnnSearchRequest for each run, in the same order. "
    "Use metrics where higher is better (IP, COSINE, BM25).",
)
