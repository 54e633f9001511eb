"""Qdrant: weighted reciprocal rank fusion and formula queries.

rrf      sum over prefetches of 1 / (k + (position + 1) / weight - 1), position from 0. With a weight of 1 this is
         1 / (k + position): k is counted from 0. Weights are absolute: doubling all weights changes the order
formula  sum of weight times $score[i]; `defaults` gives the score of a prefetch that did not return the point
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.judge.fuse.engines.base import Engine, Results, cannot_express, has_negative, rounded, space_of, weighted_sum
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.learning import COARSE, LATTICE, Option, Space
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.normalizations import Family, leg_scales

NAME = "qdrant"
DEFAULT_K = 2


def make_space(legs: Legs) -> Space:
    """Return the space; the default is rrf with k = 2 and weights of 1, and k = 61 is the usual constant of 60."""
    options = [Option(Family("rrf-rank", DEFAULT_K), LATTICE), *(Option(Family("rrf-rank", k)) for k in (10, 61))]
    scaled = [] if has_negative(legs) else [Option(Family("scaled", scales=leg_scales(legs)), COARSE)]
    return space_of(legs, NAME, [*options, *scaled], total=float(len(legs.names)))


def export(fusion: Fusion, depth: int) -> dict[str, Any]:
    """Return the body of POST /collections/NAME/points/query, with a placeholder prefetch for each run."""
    prefetch = [{"query": "QUERY", "using": name, "limit": depth} for name in fusion.names]
    if fusion.family.normalization == "rrf-rank":
        rrf = {"k": int(fusion.family.rank_constant), "weights": rounded(fusion.weights)}
        return {"prefetch": prefetch, "query": {"rrf": rrf}}
    if fusion.family.normalization != "scaled":
        raise cannot_express(fusion, NAME)
    weights = [weight / scale for weight, scale in zip(fusion.weights, fusion.family.scales, strict=True)]
    terms = [{"mult": [round(weight, 9), f"$score[{leg}]"]} for leg, weight in enumerate(weights)]
    defaults = {f"$score[{leg}]": 0.0 for leg in range(len(weights))}
    return {"prefetch": prefetch, "query": {"formula": {"sum": terms}, "defaults": defaults}}


def evaluate(body: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Compute scores by the documented formulas."""
    query = body["query"]
    if "formula" in query:
        return weighted_sum(results, [term["mult"][0] for term in query["formula"]["sum"]])
    found = dict[str, float]()
    for weight, hits in zip(query["rrf"]["weights"], results, strict=True):
        for position, (document, _) in enumerate(hits):
            part = 1 / ((position + 1) / weight + query["rrf"]["k"] - 1) if weight > 0 else 0.0
            found[document] = found.get(document, 0.0) + part
    return found


ENGINE = Engine(
    NAME,
    make_space,
    export,
    evaluate,
    "Replace QUERY and `using` of each prefetch by the run's own search; `limit` is the depth of your runs. "
    "Weights need version 1.17.",
)
