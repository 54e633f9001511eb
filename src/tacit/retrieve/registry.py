"""Rankers of collections by the names that the command line and the experiments use.

A method is added by one entry here: its family, its class, one line of summary, and the parameters that differ from the
defaults of the class. The class declares what a ranker reads and needs (`base.CollectionRanker`).
"""

from __future__ import annotations

from typing import Any

from tacit.core import Method, MethodTable, check_choice, checked

BLEND, WORDS, LATENT, SSI = "blend", "words", "latent factors", "supervised semantic indexing"
WORD_PAIRS, HTR, CROSS = "word pairs", "half-transductive", "cross-language"

N_FREQUENT = 5000  # words with separate vectors, if the rest is left out or hashed


def _embedding(name: str, family: str, summary: str, **params: Any) -> Method:
    return Method(name, family, "tacit.retrieve.margin.embedding:EmbeddingRanker", summary, params)


def _pairs(name: str, kind: str, summary: str, **params: Any) -> Method:
    return Method(name, WORD_PAIRS, f"tacit.retrieve.margin.wordpairs:{kind}", summary, params)


def _hashed(millions: int) -> list[Method]:
    """Return hash kernels of a size, without and with the identity."""
    name, summary = f"hash-{millions}m", f"SSI, hash kernels of {millions} million buckets"
    n_buckets = millions * 1_000_000
    return [
        _pairs(name, "HashedPairRanker", summary, n_buckets=n_buckets, identity="none"),
        _pairs(f"{name}-i", "HashedPairRanker", f"{summary} + alpha I", n_buckets=n_buckets),
    ]


def _sparse(n_per_row: int) -> Method:
    summary = f"SSI, sparse W: {n_per_row} item words for each query word"
    return _pairs(f"ssi-sparse-{n_per_row}", "SparsePairRanker", summary, n_per_row=n_per_row)


def _cfh(name: str, summary: str, **params: Any) -> Method:
    return Method(name, SSI, "tacit.retrieve.margin.cfh:CfhRanker", summary, {"n_words": N_FREQUENT} | params)


def _cross(name: str, summary: str, **params: Any) -> Method:
    return Method(name, CROSS, "tacit.retrieve.margin.cross:CrossRanker", summary, params)


METHODS = MethodTable(
    "tacit.retrieve.base:CollectionRanker",
    (
        Method(
            "blend",
            BLEND,
            "tacit.retrieve.blend.ranker:BlendRanker",
            "BM25, learned concepts and pseudo relevance feedback as one score",
        ),
        Method("tfidf", WORDS, "tacit.retrieve.lexical.cosine:CosineRanker", "cosine of tf-idf rows"),
        Method("bm25", WORDS, "tacit.retrieve.lexical.bm25:Bm25Ranker", "Okapi BM25"),
        Method(
            "qe",
            WORDS,
            "tacit.retrieve.lexical.cosine:QueryExpansionRanker",
            "tf-idf, the query expanded by its best items",
        ),
        Method("lsi", LATENT, "tacit.retrieve.latent.lsi:LsiRanker", "latent semantic indexing"),
        Method("lsi+tfidf", LATENT, "tacit.retrieve.latent.lsi:LsiTfidfRanker", "mixture of LSI and tf-idf"),
        Method(
            "htr-reconstruction",
            LATENT,
            "tacit.retrieve.latent.reconstruction:ReconstructionRanker",
            "HTR without pairs: a nonlinear LSI, mixed with tf-idf",
        ),
        _embedding("ssi-d", SSI, "SSI, W = D: tf-idf with a learned weight for each word", dim=0, identity="learned"),
        _embedding("ssi-uu", SSI, "SSI, W = U'U + I: queries and items share one table", items="tied"),
        _embedding("ssi-uv", SSI, "SSI, W = U'V + I"),
        _embedding("ssi-uv-d", SSI, "SSI, W = U'V + D", identity="learned"),
        _embedding("ssi-uv-noi", SSI, "SSI, W = U'V", identity="none"),
        _embedding("ssi-uv-n", SSI, "SSI, W = U'V + I, vectors for the 5,000 most frequent words", n_words=N_FREQUENT),
        _cfh("cfh-1gram", "ssi-uv-n, and correlated feature hashing of all other words"),
        _cfh("cfh-2gram", "ssi-uv-n, and correlated feature hashing of 2-grams", hashed="grams"),
        _cfh("cfh-1+2gram", "ssi-uv-n, and hashing of other words and of 2-grams", hashed="words+grams"),
        _pairs("perceptron", "FullPairRanker", "margin ranking perceptron: SSI, full W from 0", identity="none"),
        _pairs("ssi-full", "FullPairRanker", "SSI, full W from I"),
        _pairs("ssi-full-zerodiag", "FullPairRanker", "SSI, full W, diagonal held at 0", identity="barred"),
        *map(_sparse, (1000, 100, 10)),
        *(method for millions in (1, 3, 6, 10) for method in _hashed(millions)),
        _embedding("htr", HTR, "HTR: a free vector for each item", items="free", identity="none", gamma=1.0),
        _embedding("htr-gamma0", HTR, "HTR, free vectors not held to the words", items="free", identity="none"),
        _embedding("htr-identity", HTR, "HTR + I", items="free", gamma=1.0),
        _embedding(
            "htr-residual", HTR, "SSI, and a learned residual vector for each item", items="residual", gamma=1.0
        ),
        Method(
            "htr+pairs",
            HTR,
            "tacit.retrieve.margin.htr_pairs:HtrPairsRanker",
            "htr-residual, mixed with hashed pairs of words",
        ),
        Method(
            "cl-lsi",
            CROSS,
            "tacit.retrieve.latent.lsi:ClLsiRanker",
            "cross-language LSI: each pair is two versions of one document",
        ),
        Method(
            "ssi-cross+cl-lsi",
            CROSS,
            "tacit.retrieve.margin.cross_mixture:CrossMixtureRanker",
            "mixture of ssi-cross and cl-lsi, the weight by validation",
        ),
        Method(
            "ssi-cross-multitask+cl-lsi",
            CROSS,
            "tacit.retrieve.margin.cross_mixture:CrossMixtureRanker",
            "mixture of ssi-cross-multitask and cl-lsi, the weight by validation",
            {"share": "both"},
        ),
        _cross("ssi-cross", "SSI across languages, W = U'V"),
        _cross("htr-cross", "ssi-cross, and a learned residual vector for each item", items="residual"),
        _cross("ssi-cross-multitask", "ssi-cross, trained in turn with links between the items", share="both"),
        _cross(
            "ssi-cross-multitask-target",
            "the same, with a separate table for queries in the items' language",
            share="target",
        ),
    ),
)


@checked
def get_method(name: str) -> Method:
    """The method of that name, or an error that lists the names."""
    return METHODS[check_choice("method", name, METHODS)]
