"""The rankers of collections by the names that the command line and the experiments use.

A method joins by one entry here: how to make it, which features it reads, and what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tacit.core import check_choice
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.bm25 import Bm25Ranker
from tacit.retrieve.cosine import CosineRanker
from tacit.retrieve.embedding import EmbeddingRanker
from tacit.retrieve.expansion import QueryExpansionRanker
from tacit.retrieve.lsi import LsiRanker, LsiTfidfRanker


@dataclass(frozen=True)
class System:
    """A named way to rank a collection."""

    name: str
    make: Callable[[int | None, int], CollectionRanker]  # (dim, seed) -> unfitted ranker
    summary: str
    features: Literal["tfidf", "counts"] = "tfidf"
    in_demo: bool = False
    needs_pairs: bool = False


def _lsi(dim: int | None, seed: int) -> CollectionRanker:
    return LsiRanker(200 if dim is None else dim, seed=seed)


def _lsi_tfidf(dim: int | None, seed: int) -> CollectionRanker:
    return LsiTfidfRanker(200 if dim is None else dim, seed=seed)


def _embedding(name: str, summary: str, *, in_demo: bool = False, **form: Any) -> System:
    def make(dim: int | None, seed: int) -> CollectionRanker:
        return EmbeddingRanker(**{"dim": 100 if dim is None else dim, "seed": seed} | form)

    return System(name, make, summary, in_demo=in_demo, needs_pairs=True)


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System("tfidf", lambda dim, seed: CosineRanker(), "cosine of tf-idf rows", in_demo=True),
        System("bm25", lambda dim, seed: Bm25Ranker(), "Okapi BM25", "counts", in_demo=True),
        System("qe", lambda dim, seed: QueryExpansionRanker(), "tf-idf, the query expanded by its best items"),
        System("lsi", _lsi, "latent semantic indexing", in_demo=True),
        System("lsi+tfidf", _lsi_tfidf, "mixture of LSI and tf-idf", in_demo=True),
        _embedding("ssi-d", "SSI, W = D: tf-idf with a learned weight for each word", dim=0, identity="learned"),
        _embedding("ssi-uu", "SSI, W = U'U + I: both sides alike", items="tied"),
        _embedding("ssi-uv", "SSI, W = U'V + I", in_demo=True),
        _embedding("ssi-uv-d", "SSI, W = U'V + D", identity="learned"),
        _embedding("ssi-uv-noi", "SSI, W = U'V", identity="none"),
        _embedding("htr", "HTR: a free vector for each item", items="free", identity="none", gamma=1.0),
        _embedding("htr-gamma0", "HTR, free vectors not held to the words", items="free", identity="none"),
        _embedding("htr-identity", "HTR + I", items="free", gamma=1.0),
        _embedding("htr-residual", "SSI, and a vector that each item learns by itself", in_demo=True, items="residual"),
    )
}

RANKER_CLASSES: dict[str, type[CollectionRanker]] = {
    ranker.__name__: ranker
    for ranker in (CosineRanker, Bm25Ranker, QueryExpansionRanker, LsiRanker, LsiTfidfRanker, EmbeddingRanker)
}


def get_system(name: str) -> System:
    """The system of that name, or an error that lists the names."""
    return SYSTEMS[check_choice("method", name, SYSTEMS)]
