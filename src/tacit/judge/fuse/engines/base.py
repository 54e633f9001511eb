"""The interface of a search engine.

Each engine has two independent descriptions of its formula. `make_space` uses our normalisations and is used for the
search. `evaluate` reads the exported body and computes scores from raw results, document by document, with the formula
in the engine's documentation. Exports are checked with `evaluate` on the user's own results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.core import UsageError
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.learning import Option, Space
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.normalizations import Family

# Raw results of one query: for each leg, (document, score), best first.
Results = Sequence[Sequence[tuple[str, float]]]


@dataclass(frozen=True)
class Engine:
    """A search engine.

    Parameters
    ----------
    name : str
        Name for `--to`.
    make_space : callable
        Returns the space of fusions that the engine can express, given legs.
    export : callable
        Returns the body (JSON) or snippet (text) to paste, given a fusion and the number of results per run.
    evaluate : callable
        Returns the score of each document by the documented formula, given the exported body and one query's results.
    note : str
        What users must edit or know.
    """

    name: str
    make_space: Callable[[Legs], Space]
    export: Callable[[Fusion, int], Any]
    evaluate: Callable[[Any, Results], Mapping[str, float]]
    note: str


def space_of(
    legs: Legs,
    engine: str | None,
    options: Sequence[Option],
    weights: Sequence[float] | None = None,
    total: float = 1.0,
) -> Space:
    """Return a space whose default has the first option's family, and equal weights unless others are given."""
    n = len(legs.names)
    shares = [total / n] * n if weights is None else list(weights)
    default = Fusion(legs.names, tuple(round(share, 6) for share in shares), options[0].family, engine)
    return Space(default, options, total)


def check_two_legs(legs: Legs, engine: str, what: str) -> None:
    """Raise unless there are two legs."""
    if len(legs.names) != 2:
        raise UsageError(f"{engine} cannot express a fusion of {len(legs.names)} runs, want two: {what}")


def cannot_express(fusion: Fusion, engine: str) -> UsageError:
    """Return the error for a fusion that an engine has no formula for."""
    return UsageError(f"{engine} cannot express {fusion.title}")


def has_negative(legs: Legs) -> bool:
    """Return whether a leg has negative scores, so a missing result without contribution would beat a returned one."""
    return bool((legs.scores < 0).any())


def rrf(rank_constant: float, points: int) -> Option:
    """Return the option of reciprocal rank fusion with a constant, and a number of lattice points."""
    return Option(Family("rrf", rank_constant), points)


def reciprocal_ranks(results: Results, weights: Sequence[float], constant: float) -> dict[str, float]:
    """Return the sum over lists of w / (k + rank), rank from 1; the formula that most engines document."""
    found = dict[str, float]()
    for weight, hits in zip(weights, results, strict=True):
        for rank, (document, _) in enumerate(hits, 1):
            found[document] = found.get(document, 0.0) + weight / (constant + rank)
    return found


def weighted_sum(results: Results, weights: Sequence[float]) -> dict[str, float]:
    """Return the sum over lists of w times the raw score; a list without the document adds nothing."""
    found = dict[str, float]()
    for weight, hits in zip(weights, results, strict=True):
        for document, score in hits:
            found[document] = found.get(document, 0.0) + weight * score
    return found


def min_max(hits: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Scale the scores of one list to 0 to 1; all 1 if they are equal."""
    values = [score for _, score in hits]
    low, high = min(values, default=0.0), max(values, default=0.0)
    return {document: (score - low) / (high - low) if high > low else 1.0 for document, score in hits}


def l2(hits: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Divide the scores of one list by the root of the sum of their squares."""
    length = math.sqrt(sum(score * score for _, score in hits))
    return {document: score / length if length else 0.0 for document, score in hits}


def rounded(weights: Sequence[float], digits: int = 6) -> list[float]:
    """Round weights as they are written."""
    return [round(float(weight), digits) for weight in weights]
