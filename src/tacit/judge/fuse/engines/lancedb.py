"""LanceDB: rerankers of hybrid search, of one full-text and one vector search.

    RRFReranker(K)                        sum of 1 / (K + rank); it has no weights
    LinearCombinationReranker(weight)     weight (1 - distance) + (1 - weight) text score. Hybrid search first scales
                                          distances and text scores to (s - min) / (max - min), 0 where all are equal;
                                          a search that did not return the row adds nothing (fill = 1)

The first run is the full-text search. The second is the vector search, with scores that fall as the distance rises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.judge.fuse.engines.base import (
    Engine,
    Results,
    cannot_express,
    check_two_legs,
    reciprocal_ranks,
    rrf,
    space_of,
    weighted_sum,
)
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.learning import EQUAL_ONLY, LATTICE, Option, Space
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.normalizations import Family

NAME = "lancedb"
EQUAL = (0.0, 1.0)  # values of text scores and of 1 - distance if all are equal


def make_space(legs: Legs) -> Space:
    """Return the space; the default is RRFReranker(60)."""
    check_two_legs(legs, NAME, "the full-text run, then the vector run")
    options = [rrf(60, EQUAL_ONLY), rrf(10, EQUAL_ONLY), rrf(100, EQUAL_ONLY)]
    return space_of(legs, NAME, [*options, Option(Family("minmax", equal=EQUAL), LATTICE)])


def export(fusion: Fusion, depth: int) -> dict[str, Any]:
    """Return the reranker, its arguments, and the same as Python code."""
    if fusion.family.normalization == "rrf" and len(set(fusion.weights)) == 1:
        constant = int(fusion.family.rank_constant)
        return {"reranker": "RRFReranker", "arguments": {"K": constant}, "python": f"RRFReranker(K={constant})"}
    if fusion.family != Family("minmax", equal=EQUAL) or len(fusion.names) != 2:
        raise cannot_express(fusion, NAME)
    weight = round(fusion.weights[1] / sum(fusion.weights), 9)
    return {
        "reranker": "LinearCombinationReranker",
        "arguments": {"weight": weight, "fill": 1.0},
        "python": f"LinearCombinationReranker(weight={weight!r}, fill=1.0)",
    }


def evaluate(body: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Compute scores by the documented formulas."""
    if body["reranker"] == "RRFReranker":
        return reciprocal_ranks(results, [1.0, 1.0], body["arguments"]["K"])
    weight, (text, vector) = body["arguments"]["weight"], results
    near = [(document, 1 - distance) for document, distance in _scaled([(name, -score) for name, score in vector])]
    return weighted_sum([_scaled(text), near], [1 - weight, weight])


def _scaled(hits: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Scale scores or distances of one list to 0 to 1; all 0 if they are equal."""
    values = [value for _, value in hits]
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(document, (value - low) / (high - low) if high > low else 0.0) for document, value in hits]


ENGINE = Engine(
    NAME,
    make_space,
    export,
    evaluate,
    "Pass it to .rerank() of a hybrid search. The first run is the full-text search, the second the vector search.",
)
