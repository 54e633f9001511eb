"""Vespa: a rank profile whose global phase fuses rank features.

    linear   sum of weight times feature                         scaled: a weighted sum of raw scores
    minmax   sum of weight times normalize_linear(feature)       (s - min) / (max - min) over all hits, 0 where equal
    rrf      sum of weight times reciprocal_rank(feature, k)     1 / (k + rank); 0 for a hit that the leg did not match

A feature is 0 for a hit that its operator did not match (bm25 without a matching word, rawScore of a nearest neighbour
operator that did not return the hit), and normalize_linear includes these zeros. So scores must not be negative. The
snippet has one function for each run; replace its expression by the run's feature.
"""

from __future__ import annotations

import re

from tacit.core import UsageError
from tacit.judge.fuse.engines.base import Engine, Results, cannot_express, has_negative, rrf, space_of
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.learning import COARSE, LATTICE, Option, Space
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.normalizations import Family, leg_scales

NAME = "vespa"
CONSTANT = re.compile(r"reciprocal_rank\(\w+, ([0-9.]+)\)")
TERM = re.compile(r"(?P<weight>[0-9.e-]+) \* (?P<term>.+)")


def make_space(legs: Legs) -> Space:
    """Return the space; the default is rrf with a constant of 60 and equal weights."""
    options = [rrf(60, LATTICE), rrf(10, COARSE)]
    if has_negative(legs):
        raise UsageError(f"{NAME} scores results without a match as 0, but a run has scores below 0")
    scaled = Family("scaled", scales=leg_scales(legs))
    return space_of(legs, NAME, [*options, Option(Family("minmax-zero")), Option(scaled)])


def export(fusion: Fusion, depth: int) -> str:
    """Return the rank profile."""
    kind = fusion.family.normalization
    features = [f"leg_{number}" for number in range(1, len(fusion.names) + 1)]
    constant = f"{fusion.family.rank_constant:g}"
    forms = {
        "rrf": "if ({0} > 0, reciprocal_rank({0}, " + constant + "), 0)",
        "minmax-zero": "normalize_linear({0})",
        "scaled": "{0}",
    }
    if kind not in forms:
        raise cannot_express(fusion, NAME)
    scales = fusion.family.scales or (1.0,) * len(features)
    terms = [
        f"{weight / scale:.9g} * {forms[kind].format(feature)}"
        for weight, scale, feature in zip(fusion.weights, scales, features, strict=True)
    ]
    functions = "\n".join(
        f"    function {feature}() {{\n        expression: FEATURE  # the score of {name}\n    }}"
        for feature, name in zip(features, fusion.names, strict=True)
    )
    expression = "\n            + ".join(terms)
    return (
        f"rank-profile fused {{\n{functions}\n    global-phase {{\n        rerank-count: 1000\n"
        f"        expression {{\n            {expression}\n        }}\n    }}\n}}\n"
    )


def evaluate(body: str, results: Results) -> dict[str, float]:
    """Compute scores by the documented functions, read from the expression of the snippet."""
    expression = body.split("expression {", 1)[1].split("}", 1)[0]
    documents = list(dict.fromkeys(document for hits in results for document, _ in hits))
    found = dict.fromkeys(documents, 0.0)
    for part, hits in zip(expression.split("\n            + "), results, strict=True):
        match = TERM.search(part)
        assert match is not None
        features = dict.fromkeys(documents, 0.0) | dict(hits)
        for document, value in _term(match["term"].strip(), features, [document for document, _ in hits]).items():
            found[document] += float(match["weight"]) * value
    return found


def _term(term: str, features: dict[str, float], order: list[str]) -> dict[str, float]:
    """Return values of one function over all hits; `order` has the matching hits, best first."""
    if "reciprocal_rank" in term:
        match = CONSTANT.search(term)
        assert match is not None
        constant = float(match[1])
        return {document: 1 / (constant + rank) for rank, document in enumerate(order, 1) if features[document] > 0}
    if "normalize_linear" in term:
        low, high = min(features.values()), max(features.values())
        return {document: (value - low) / (high - low) if high > low else 0.0 for document, value in features.items()}
    return features


ENGINE = Engine(
    NAME,
    make_space,
    export,
    evaluate,
    "Use the rank feature of each run in its function: bm25(FIELD) of a text search, itemRawScore(LABEL) of a nearest "
    "neighbour search. A feature must be 0 for hits that the search did not match.",
)
