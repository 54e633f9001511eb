"""Weaviate: `alpha` of hybrid search with relativeScoreFusion.

    score = alpha v + (1 - alpha) b,   v and b: vector and keyword scores, each (s - min) / (max - min), 1 where equal;
    a search that did not return the object adds nothing

The first run is the keyword search, the second the vector search. Weaviate's default is alpha = .75.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.judge.fuse.engines.base import Engine, Results, cannot_express, check_two_legs, min_max, space_of
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.learning import LATTICE, Option, Space
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.normalizations import Family

NAME, DEFAULT_ALPHA = "weaviate", 0.75


def make_space(legs: Legs) -> Space:
    """Return the space; the default is alpha = .75."""
    check_two_legs(legs, NAME, "the keyword run, then the vector run")
    return space_of(legs, NAME, [Option(Family("minmax"), LATTICE)], [1 - DEFAULT_ALPHA, DEFAULT_ALPHA])


def export(fusion: Fusion, depth: int) -> dict[str, Any]:
    """Return the arguments of the hybrid query."""
    if fusion.family.normalization != "minmax" or len(fusion.names) != 2:
        raise cannot_express(fusion, NAME)
    alpha = round(fusion.weights[1] / sum(fusion.weights), 6)
    return {"hybrid": {"query": "QUERY", "alpha": alpha, "fusionType": "relativeScoreFusion"}}


def evaluate(body: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Compute scores by the documented formula."""
    alpha = body["hybrid"]["alpha"]
    found = dict[str, float]()
    for weight, hits in zip((1 - alpha, alpha), results, strict=True):
        for document, value in min_max(hits).items():
            found[document] = found.get(document, 0.0) + weight * value
    return found


ENGINE = Engine(
    NAME, make_space, export, evaluate, "The first run is the keyword search, the second the vector search."
)
