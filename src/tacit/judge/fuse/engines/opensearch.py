"""OpenSearch: the normalization processor and the score ranker processor of hybrid queries.

    normalization-processor   min_max: (s - min) / (max - min), 0.001 instead of 0, and 1 where all are equal;
                              l2: s / sqrt(sum of s^2); arithmetic_mean: sum of w x / sum of w, where a clause that did
                              not return the document counts as 0
    score-ranker-processor    rrf: sum of w / (rank_constant + rank)

z_score is left out: the engine replaces values at or below the mean by 0.001, and a score equal to the mean by the
largest raw score, so its order cannot be computed from the formula alone. The queries of the hybrid clause must be in
the order of the runs.
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

NAME, LOWEST = "opensearch", 0.001


def make_space(legs: Legs) -> Space:
    """Return the space; the default is min_max with equal weights."""
    options = [Option(Family("minmax", floor=LOWEST), LATTICE), rrf(60, COARSE)]
    return space_of(legs, NAME, options if has_negative(legs) else [*options, Option(Family("l2"))])


def export(fusion: Fusion, depth: int) -> dict[str, Any]:
    """Return the search pipeline: the body of PUT /_search/pipeline/NAME."""
    kind, weights = fusion.family.normalization, rounded(fusion.weights)
    if kind == "rrf":
        combination = {"technique": "rrf", "rank_constant": int(fusion.family.rank_constant)}
        processor: dict[str, Any] = {
            "score-ranker-processor": {"combination": combination | {"parameters": {"weights": weights}}}
        }
    elif kind in ("minmax", "l2"):
        processor = {
            "normalization-processor": {
                "normalization": {"technique": "min_max" if kind == "minmax" else "l2"},
                "combination": {"technique": "arithmetic_mean", "parameters": {"weights": weights}},
            }
        }
    else:
        raise cannot_express(fusion, NAME)
    return {"description": f"hybrid of {', '.join(fusion.names)}", "phase_results_processors": [processor]}


def evaluate(body: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Compute scores by the documented formulas."""
    ((name, processor),) = body["phase_results_processors"][0].items()
    weights = processor["combination"]["parameters"]["weights"]
    if name == "score-ranker-processor":
        return reciprocal_ranks(results, weights, processor["combination"]["rank_constant"])
    if processor["normalization"]["technique"] == "min_max":
        scaled = [[(document, value or LOWEST) for document, value in min_max(hits).items()] for hits in results]
    else:
        scaled = [list(l2(hits).items()) for hits in results]
    return weighted_sum(scaled, [weight / sum(weights) for weight in weights])


ENGINE = Engine(
    NAME,
    make_space,
    export,
    evaluate,
    "PUT it to /_search/pipeline/NAME and search with ?search_pipeline=NAME. Put the queries of the hybrid clause in "
    "the order of the runs. Weights of rrf need OpenSearch 3.",
)
