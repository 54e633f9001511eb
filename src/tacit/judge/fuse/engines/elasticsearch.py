"""Elasticsearch: the `linear` and `rrf` retrievers.

    linear   sum of weight times normalised score; minmax: (s - min) / (max - min), 1 where all scores are equal;
             l2_norm: s / sqrt(sum of s^2); a retriever that did not return the document adds nothing
    rrf      sum of weight / (rank_constant + rank)

The body has a placeholder query for each run. rank_window_size is the depth of the runs, because the engine's default
of 10 would fuse fewer results than were measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.judge.fuse.engines.base import (
    Engine,
    Results,
    cannot_express,
    has_negative,
    l2,
    min_max,
    reciprocal_ranks,
    rounded,
    rrf,
    space_of,
    weighted_sum,
)
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.learning import COARSE, LATTICE, Option, Space
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.normalizations import Family

NAME = "elasticsearch"
NORMALIZERS = {"minmax": "minmax", "l2": "l2_norm"}


def make_space(legs: Legs) -> Space:
    """Return the space; the default is rrf with a constant of 60 and equal weights."""
    options = [rrf(60, LATTICE), rrf(10, COARSE), Option(Family("minmax"))]
    return space_of(legs, NAME, options if has_negative(legs) else [*options, Option(Family("l2"))])


def export(fusion: Fusion, depth: int) -> dict[str, Any]:
    """Return the retriever of a search request."""
    kind = fusion.family.normalization
    if kind != "rrf" and kind not in NORMALIZERS:
        raise cannot_express(fusion, NAME)
    normalizer = {} if kind == "rrf" else {"normalizer": NORMALIZERS[kind]}
    retrievers = [
        {"retriever": {"standard": {"query": {"match": {name: "QUERY"}}}}, "weight": weight, **normalizer}
        for name, weight in zip(fusion.names, rounded(fusion.weights), strict=True)
    ]
    constant = {"rank_constant": int(fusion.family.rank_constant)} if kind == "rrf" else {}
    fused = {"retrievers": retrievers, **constant, "rank_window_size": depth}
    return {"retriever": {"rrf" if kind == "rrf" else "linear": fused}}


def evaluate(body: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Compute scores by the documented formulas."""
    ((name, retriever),) = body["retriever"].items()
    weights = [part["weight"] for part in retriever["retrievers"]]
    if name == "rrf":
        return reciprocal_ranks(results, weights, retriever["rank_constant"])
    scales = [min_max if part["normalizer"] == "minmax" else l2 for part in retriever["retrievers"]]
    return weighted_sum([list(scale(hits).items()) for scale, hits in zip(scales, results, strict=True)], weights)


ENGINE = Engine(
    NAME,
    make_space,
    export,
    evaluate,
    "Replace each placeholder query by the run's own retriever. rank_window_size is the depth of your runs. "
    "Weights of rrf need version 9.2.",
)
