"""A fusion: a normalisation with its constants, and one weight for each leg, applied to results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core import DataError, Run, UsageError, check_kind, check_list, check_number, plural
from tacit.judge.fuse.legs import Legs, check_names
from tacit.judge.fuse.normalizations import MISSING, Family, weighted_sum
from tacit.retrieve.rank_fusion import RANK_CONSTANT

NAME = "fused"
MOST_CHARACTERS = 1 << 24  # of a file


@dataclass(frozen=True)
class Fusion:
    """A formula that fuses results of several legs.

    Parameters
    ----------
    names : tuple of str
        Names of the legs.
    weights : tuple of float
        Weight of each leg, none below 0.
    family : Family
        Normalisation and its constants.
    engine : str or None, default=None
        Engine that has this formula.

    Examples
    --------
    >>> fusion = Fusion(("bm25", "dense"), (0.25, 0.75), Family("minmax"))
    >>> bm25, dense = Run.from_dict({"q": {"a": 9.0, "b": 7.5}}), Run.from_dict({"q": {"c": 0.8, "a": 0.6}})
    >>> fusion.apply({"bm25": bm25, "dense": dense}).to_dict()
    {'q': {'c': 0.75, 'a': 0.25, 'b': 0.0}}
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]
    family: Family
    engine: str | None = None

    def __post_init__(self) -> None:
        check_names([check_kind("names", name, str, "texts") for name in check_list("names", self.names, "texts")])
        check_kind("family", self.family, Family, "a Family")
        for name in ("weights", "scales", "equal"):
            numbers = self.weights if name == "weights" else getattr(self.family, name)
            found = len(check_list(name, numbers, "a number for each leg"))
            is_needed = name == "weights" or (name == "scales" and self.family.normalization == "scaled")
            if found != len(self.names) and (found or is_needed):
                raise UsageError(f"{name} has {plural(found, 'number')}, want {len(self.names)}: one for each leg")
        for name, weight in zip(self.names, self.weights, strict=True):
            check_number(f"weight of {name}", weight, low=0)
        if not any(self.weights):
            raise UsageError("all weights are 0, want one above 0")

    @property
    def title(self) -> str:
        """One line: normalisation and weights."""
        constant = f" (k = {self.family.rank_constant:g})" if self.family.of_ranks else ""
        weights = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(self.names, self.weights, strict=True))
        return f"{self.family.normalization}{constant}: {weights}"

    def contributions(self, legs: Legs) -> np.ndarray:
        """Return the contribution of each leg to the score of each row."""
        return self.family.contributions(legs, np.asarray(self.weights, np.float64))

    def scores(self, legs: Legs) -> np.ndarray:
        """Return fused score of each row."""
        if self.family.is_linear:
            return weighted_sum(self.family.normalize(legs), self.weights)
        return weighted_sum(self.contributions(legs), [1.0] * len(self.names))

    def fuse(self, legs: Legs, name: str = NAME) -> Run:
        """Return one run of all results, best first, with ranks; ties keep the order of the legs' ranks."""
        scores = self.scores(legs)
        order = np.lexsort((-scores, legs.query))
        query = legs.query[order]
        rank = np.arange(1, len(query) + 1) - legs.starts[:-1][query]
        return Run(legs.query_ids, legs.doc_ids, query, legs.doc[order], _falling(scores[order], rank), name, rank)

    def apply(self, runs: Mapping[str, Run], name: str = NAME) -> Run:
        """Fuse runs by name; the names must be the legs' names, in any order."""
        return self.fuse(Legs.from_runs(self.order(runs)), name)

    def order(self, runs: Mapping[str, Run]) -> dict[str, Run]:
        """Return the runs in the order of the legs; raise if a leg is missing or unknown."""
        if set(runs) != set(self.names):
            raise UsageError(f"the fusion is of {', '.join(self.names)}; got {', '.join(runs)}")
        return {leg: runs[leg] for leg in self.names}

    def explain(self, legs: Legs, query: str, k: int = 10) -> list[dict[str, Any]]:
        """Return the first k documents of a query: the score, and each leg's contribution, which sum to the score."""
        if query not in legs.query_ids:
            raise UsageError(f"no run has results for query {query!r}")
        some = legs.take([legs.query_ids.index(query)])
        parts, scores = self.contributions(some), self.scores(some)
        found = []
        for rank, row in enumerate(np.argsort(-scores, kind="stable")[:k].tolist(), 1):
            of_row = (table[row].tolist() for table in (some.ranks, some.scores, parts))
            of_legs = {
                leg: {"rank": int(r) if r == r else None, "score": s if s == s else None, "contribution": part}
                for leg, r, s, part in zip(self.names, *of_row, strict=True)
            }
            document = some.doc_ids[some.doc[row]]
            found.append({"rank": rank, "document": document, "score": float(scores[row]), "legs": of_legs})
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the fusion as one JSON object."""
        family = self.family
        return {
            "normalization": family.normalization,
            "weights": dict(zip(self.names, self.weights, strict=True)),
            **({"rank_constant": family.rank_constant} if family.of_ranks else {}),
            **({"floor": family.floor} if family.floor else {}),
            **({"scales": dict(zip(self.names, family.scales, strict=True))} if family.scales else {}),
            **({"equal": dict(zip(self.names, family.equal, strict=True))} if family.equal else {}),
            **({} if self.engine is None else {"engine": self.engine}),
            "missing": MISSING[family.normalization],
        }

    @classmethod
    def from_json(cls, found: Any, path: object = None) -> Fusion:
        """Make the fusion of a JSON object, or of the object that `tacit fuse -o` wrote around it."""
        body = found.get("fusion", found) if isinstance(found, dict) else found
        wanted = 'want the JSON object that `tacit fuse -o` writes, with "normalization" and "weights"'
        if not isinstance(body, dict) or not isinstance(body.get("weights"), dict):
            raise DataError(f"is not a fusion: {wanted}", path=path)
        try:
            weights = {str(name): float(weight) for name, weight in body["weights"].items()}
            scales, equal = (
                tuple(float(body[part][name]) for name in weights) if part in body else ()
                for part in ("scales", "equal")
            )
            constant = float(body.get("rank_constant", RANK_CONSTANT))
            family = Family(body.get("normalization", ""), constant, float(body.get("floor", 0)), scales, equal)
            return cls(tuple(weights), tuple(weights.values()), family, body.get("engine"))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise DataError(f"is not a fusion: {error}", path=path) from None


def read_fusion(path: str) -> Fusion:
    """Read the fusion in a file that `tacit fuse -o` wrote."""
    from tacit.data.files import read_lines
    from tacit.store.stored import parse_json

    lines, size = list[str](), 0
    for number, line in read_lines(path):
        size += len(line) + 1
        if size > MOST_CHARACTERS:
            raise DataError(
                f"is longer than {MOST_CHARACTERS:,} characters, so it is no fusion", path=path, line=number
            )
        lines.append(line)
    try:
        found = parse_json("\n".join(lines).encode())
    except ValueError as error:
        raise DataError(f"is not JSON: {error}", path=path) from None
    return Fusion.from_json(found, path)


def _falling(scores: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return the scores with ties broken by one step of float32, so that every reader keeps the order.

    Readers break ties differently, and some keep scores as float32.
    """
    found = scores.astype(np.float64)
    narrow = scores.astype(np.float32)
    tied = np.flatnonzero((rank[1:] > 1) & (narrow[1:] >= narrow[:-1])) + 1
    for row in tied.tolist():  # rows in order, so that scores of a chain of ties fall step by step
        found[row] = min(found[row], float(np.nextafter(np.float32(found[row - 1]), np.float32(-np.inf))))
    return found
