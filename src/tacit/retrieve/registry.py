"""The rankers of collections by the names that the command line and the experiments use.

A method joins by one entry here: how to make it, which features it reads, and what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tacit.core import check_choice
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.latent.lsi import LsiRanker, LsiTfidfRanker
from tacit.retrieve.latent.reconstruction import ReconstructionRanker
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.lexical.cosine import CosineRanker
from tacit.retrieve.lexical.expansion import QueryExpansionRanker
from tacit.retrieve.margin.cfh import CfhRanker
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.htr_pairs import HtrPairsRanker
from tacit.retrieve.margin.wordpair_forms import FullPairRanker, HashedPairRanker, SparsePairRanker

N_FREQUENT = 5000  # words with vectors of their own, where the rest is left out or hashed


@dataclass(frozen=True)
class System:
    """A named way to rank a collection."""

    name: str
    make: Callable[..., CollectionRanker]  # (dim, seed, **further parameters of its class) -> unfitted ranker
    summary: str
    features: Literal["tfidf", "counts", "words+grams"] = "tfidf"
    in_demo: bool = False
    needs_pairs: bool = False
    by_word_pairs: bool = False  # a weight for each pair of words: long texts cost the square of their length


def _lsi(dim: int | None, seed: int) -> CollectionRanker:
    return LsiRanker(200 if dim is None else dim, seed=seed)


def _lsi_tfidf(dim: int | None, seed: int) -> CollectionRanker:
    return LsiTfidfRanker(200 if dim is None else dim, seed=seed)


def _reconstruction(dim: int | None, seed: int) -> CollectionRanker:
    return ReconstructionRanker(100 if dim is None else dim, seed=seed)


def _embedding(name: str, summary: str, *, in_demo: bool = False, **form: Any) -> System:
    def make(dim: int | None, seed: int, **more: Any) -> CollectionRanker:
        return EmbeddingRanker(**{"dim": 100 if dim is None else dim, "seed": seed} | form | more)

    return System(name, make, summary, in_demo=in_demo, needs_pairs=True)


def _pairs(name: str, summary: str, form: type[CollectionRanker], **how: Any) -> System:
    def make(dim: int | None, seed: int, **more: Any) -> CollectionRanker:
        return form(**how | {"seed": seed} | more)

    return System(name, make, summary, needs_pairs=True, by_word_pairs=True)


def _hashed(millions: int) -> list[System]:
    """Hash kernels of a size, without and with the identity beside them."""
    name, summary = f"hash-{millions}m", f"SSI, hash kernels of {millions} million places"
    places = {"n_places": millions * 1_000_000}
    return [
        _pairs(name, summary, HashedPairRanker, identity="none", **places),
        _pairs(f"{name}-i", f"{summary} + alpha I", HashedPairRanker, **places),
    ]


def _sparse(per_row: int) -> System:
    summary = f"SSI, sparse W: {per_row} item words for each query word"
    return _pairs(f"ssi-sparse-{per_row}", summary, SparsePairRanker, per_row=per_row)


def _cfh(dim: int | None, seed: int, **more: Any) -> CollectionRanker:
    return CfhRanker(**{"dim": 100 if dim is None else dim, "n_words": N_FREQUENT, "seed": seed} | more)


def _htr_pairs(dim: int | None, seed: int, **more: Any) -> CollectionRanker:
    return HtrPairsRanker(**{"dim": 100 if dim is None else dim, "seed": seed} | more)


def _gram_cfh(name: str, summary: str, hashed: str) -> System:
    """Rows are [words | 2-grams] (`features.WordGramVectorizer`); `grams_from` is to be given to `make`."""

    def make(dim: int | None, seed: int, **more: Any) -> CollectionRanker:
        return _cfh(dim, seed, **{"hashed": hashed} | more)

    return System(name, make, summary, "words+grams", needs_pairs=True)


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System("tfidf", lambda dim, seed: CosineRanker(), "cosine of tf-idf rows", in_demo=True),
        System("bm25", lambda dim, seed: Bm25Ranker(), "Okapi BM25", "counts", in_demo=True),
        System("qe", lambda dim, seed: QueryExpansionRanker(), "tf-idf, the query expanded by its best items"),
        System("lsi", _lsi, "latent semantic indexing", in_demo=True),
        System("lsi+tfidf", _lsi_tfidf, "mixture of LSI and tf-idf", in_demo=True),
        System("htr-reconstruction", _reconstruction, "HTR without pairs: a nonlinear LSI, mixed with tf-idf"),
        _embedding("ssi-d", "SSI, W = D: tf-idf with a learned weight for each word", dim=0, identity="learned"),
        _pairs("perceptron", "margin ranking perceptron: SSI, full W from 0", FullPairRanker, identity="none"),
        _pairs("ssi-full", "SSI, full W from I", FullPairRanker),
        _pairs("ssi-full-zerodiag", "SSI, full W, diagonal held at 0", FullPairRanker, identity="barred"),
        *map(_sparse, (1000, 100, 10)),
        *(system for millions in (1, 3, 6, 10) for system in _hashed(millions)),
        _embedding("ssi-uu", "SSI, W = U'U + I: both sides alike", items="tied"),
        _embedding("ssi-uv", "SSI, W = U'V + I", in_demo=True),
        _embedding("ssi-uv-d", "SSI, W = U'V + D", identity="learned"),
        _embedding("ssi-uv-noi", "SSI, W = U'V", identity="none"),
        _embedding("ssi-uv-n", "SSI, W = U'V + I, vectors for the 5,000 most frequent words", n_words=N_FREQUENT),
        System("cfh-1gram", _cfh, "ssi-uv-n, and correlated feature hashing of all other words", needs_pairs=True),
        _gram_cfh("cfh-2gram", "ssi-uv-n, and correlated feature hashing of 2-grams", "grams"),
        _gram_cfh("cfh-1+2gram", "ssi-uv-n, and hashing of other words and of 2-grams", "words+grams"),
        _embedding("htr", "HTR: a free vector for each item", items="free", identity="none", gamma=1.0),
        _embedding("htr-gamma0", "HTR, free vectors not held to the words", items="free", identity="none"),
        _embedding("htr-identity", "HTR + I", items="free", gamma=1.0),
        _embedding(
            "htr-residual",
            "SSI, and a vector that each item learns by itself",
            in_demo=True,
            items="residual",
            gamma=1.0,
        ),
        System("htr+pairs", _htr_pairs, "htr-residual, mixed with hashed pairs of words", needs_pairs=True),
    )
}


def get_system(name: str) -> System:
    """The system of that name, or an error that lists the names."""
    return SYSTEMS[check_choice("method", name, SYSTEMS)]
