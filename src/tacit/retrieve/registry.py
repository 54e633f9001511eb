"""Rankers of collections by the names that the command line and the experiments use.

To add a method, add one row to its family: its name, its class (exported by `tacit.retrieve`), a one-line summary, and
the parameters that differ from the defaults of the class. The class declares what a ranker reads and needs
(`base.CollectionRanker`).
"""

from __future__ import annotations

from typing import Any

from tacit.core import Method, MethodTable, check_choice, checked

N_FREQUENT = 5000  # words with separate vectors, if the rest is left out or hashed
CFH, FREE, RESIDUAL = {"n_words": N_FREQUENT}, {"items": "free"}, {"items": "residual"}


def _sparse(n_per_row: int) -> tuple[Any, ...]:
    summary = f"SSI, sparse W: {n_per_row} item words for each query word"
    return f"ssi-sparse-{n_per_row}", "SparsePairRanker", summary, {"n_per_row": n_per_row}


def _hashed(millions: int) -> list[tuple[Any, ...]]:
    """Return hash kernels of a size, without and with the identity."""
    name, summary = f"hash-{millions}m", f"SSI, hash kernels of {millions} million buckets"
    size = {"n_buckets": millions * 1_000_000}
    return [
        (name, "HashedPairRanker", summary, size | {"identity": "none"}),
        (f"{name}-i", "HashedPairRanker", f"{summary} + alpha I", size),
    ]


# Methods by family: name, class, summary and, where they differ from the defaults of the class, parameters.
_FAMILIES: dict[str, list[tuple[Any, ...]]] = {
    "blend": [("blend", "BlendRanker", "BM25, learned concepts and pseudo relevance feedback as one score")],
    "words": [
        ("tfidf", "CosineRanker", "cosine of tf-idf rows"),
        ("bm25", "Bm25Ranker", "Okapi BM25"),
        ("qe", "QueryExpansionRanker", "tf-idf, the query expanded by its best items"),
    ],
    "latent factors": [
        ("lsi", "LsiRanker", "latent semantic indexing"),
        ("lsi+tfidf", "LsiTfidfRanker", "mixture of LSI and tf-idf"),
        ("htr-reconstruction", "ReconstructionRanker", "HTR without pairs: a nonlinear LSI, mixed with tf-idf"),
    ],
    "supervised semantic indexing": [
        (
            "ssi-d",
            "EmbeddingRanker",
            "SSI, W = D: tf-idf with a learned weight for each word",
            {"dim": 0, "identity": "learned"},
        ),
        ("ssi-uu", "EmbeddingRanker", "SSI, W = U'U + I: queries and items share one table", {"items": "tied"}),
        ("ssi-uv", "EmbeddingRanker", "SSI, W = U'V + I"),
        ("ssi-uv-d", "EmbeddingRanker", "SSI, W = U'V + D", {"identity": "learned"}),
        ("ssi-uv-noi", "EmbeddingRanker", "SSI, W = U'V", {"identity": "none"}),
        (
            "ssi-uv-n",
            "EmbeddingRanker",
            "SSI, W = U'V + I, vectors for the 5,000 most frequent words",
            {"n_words": N_FREQUENT},
        ),
        ("cfh-1gram", "CfhRanker", "ssi-uv-n, and correlated feature hashing of all other words", CFH),
        ("cfh-2gram", "CfhRanker", "ssi-uv-n, and correlated feature hashing of 2-grams", CFH | {"hashed": "grams"}),
        (
            "cfh-1+2gram",
            "CfhRanker",
            "ssi-uv-n, and hashing of other words and of 2-grams",
            CFH | {"hashed": "words+grams"},
        ),
    ],
    "word pairs": [
        ("perceptron", "FullPairRanker", "margin ranking perceptron: SSI, full W from 0", {"identity": "none"}),
        ("ssi-full", "FullPairRanker", "SSI, full W from I"),
        ("ssi-full-zerodiag", "FullPairRanker", "SSI, full W, diagonal held at 0", {"identity": "barred"}),
        *map(_sparse, (1000, 100, 10)),
        *(row for millions in (1, 3, 6, 10) for row in _hashed(millions)),
    ],
    "half-transductive": [
        ("htr", "EmbeddingRanker", "HTR: a free vector for each item", FREE | {"identity": "none", "gamma": 1.0}),
        ("htr-gamma0", "EmbeddingRanker", "HTR, free vectors not held to the words", FREE | {"identity": "none"}),
        ("htr-identity", "EmbeddingRanker", "HTR + I", FREE | {"gamma": 1.0}),
        (
            "htr-residual",
            "EmbeddingRanker",
            "SSI, and a learned residual vector for each item",
            RESIDUAL | {"gamma": 1.0},
        ),
        ("htr+pairs", "HtrPairsRanker", "htr-residual, mixed with hashed pairs of words"),
    ],
    "cross-language": [
        ("cl-lsi", "ClLsiRanker", "cross-language LSI: each pair is two versions of one document"),
        ("ssi-cross+cl-lsi", "CrossMixtureRanker", "mixture of ssi-cross and cl-lsi, the weight by validation"),
        (
            "ssi-cross-multitask+cl-lsi",
            "CrossMixtureRanker",
            "mixture of ssi-cross-multitask and cl-lsi, the weight by validation",
            {"share": "both"},
        ),
        ("ssi-cross", "CrossRanker", "SSI across languages, W = U'V"),
        ("htr-cross", "CrossRanker", "ssi-cross, and a learned residual vector for each item", RESIDUAL),
        (
            "ssi-cross-multitask",
            "CrossRanker",
            "ssi-cross, trained in turn with links between the items",
            {"share": "both"},
        ),
        (
            "ssi-cross-multitask-target",
            "CrossRanker",
            "the same, with a separate table for queries in the items' language",
            {"share": "target"},
        ),
    ],
}

METHODS = MethodTable(
    "tacit.retrieve.base:CollectionRanker",
    (
        Method(name, family, f"tacit.retrieve:{kind}", summary, *params)
        for family, rows in _FAMILIES.items()
        for name, kind, summary, *params in rows
    ),
)


@checked
def get_method(name: str) -> Method:
    """The method of that name, or an error that lists the names."""
    return METHODS[check_choice("method", name, METHODS)]
