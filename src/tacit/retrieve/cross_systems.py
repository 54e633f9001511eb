"""The rankers for queries in another language than the items, by name.

They read query rows over one dictionary and item rows over another, both tf-idf, which no system of `registry`
does; so they have a table of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.core import check_choice
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.latent.cl_lsi import ClLsiRanker
from tacit.retrieve.margin.cross import CrossRanker


@dataclass(frozen=True)
class CrossSystem:
    """A named way to rank across languages."""

    name: str
    make: Callable[[int | None, int], CollectionRanker]  # (dim, seed) -> unfitted ranker
    summary: str
    needs_links: bool = False  # links between the items beside pairs


def _cross(name: str, summary: str, *, needs_links: bool = False, **form: Any) -> CrossSystem:
    def make(dim: int | None, seed: int) -> CollectionRanker:
        return CrossRanker(100 if dim is None else dim, seed=seed, **form)

    return CrossSystem(name, make, summary, needs_links)


def _cl_lsi(dim: int | None, seed: int) -> CollectionRanker:
    return ClLsiRanker(200 if dim is None else dim, seed=seed)


CROSS_SYSTEMS: dict[str, CrossSystem] = {
    system.name: system
    for system in (
        CrossSystem("cl-lsi", _cl_lsi, "cross-language LSI: the pairs are mates, joined"),
        _cross("ssi-cross", "SSI across languages, W = U'V"),
        _cross("htr-cross", "ssi-cross, and a vector that each item learns by itself", items="residual"),
        _cross(
            "ssi-cross-multitask",
            "ssi-cross, learned in turn with links between the items",
            needs_links=True,
            share="both",
        ),
        _cross(
            "ssi-cross-multitask-target",
            "the same, with a table of its own for queries in the items' language",
            needs_links=True,
            share="target",
        ),
    )
}


def get_cross_system(name: str) -> CrossSystem:
    """The system of that name, or an error that lists the names."""
    return CROSS_SYSTEMS[check_choice("method", name, CROSS_SYSTEMS)]
