"""Rankers of a whole collection: given a query, order every document.

Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.core import lazy_names

if TYPE_CHECKING:
    from tacit.retrieve.base import CollectionRanker as CollectionRanker
    from tacit.retrieve.graph.embedding import GraphEmbedding as GraphEmbedding
    from tacit.retrieve.graph.features import LinearMap as LinearMap
    from tacit.retrieve.graph.features import RbfMap as RbfMap
    from tacit.retrieve.graph.laplacian import LaplacianEigenmaps as LaplacianEigenmaps
    from tacit.retrieve.latent.cl_lsi import ClLsiRanker as ClLsiRanker
    from tacit.retrieve.latent.lsi import LsiRanker as LsiRanker
    from tacit.retrieve.latent.lsi import LsiTfidfRanker as LsiTfidfRanker
    from tacit.retrieve.latent.reconstruction import ReconstructionRanker as ReconstructionRanker
    from tacit.retrieve.lexical.bm25 import Bm25Ranker as Bm25Ranker
    from tacit.retrieve.lexical.cosine import CosineRanker as CosineRanker
    from tacit.retrieve.lexical.expansion import QueryExpansionRanker as QueryExpansionRanker
    from tacit.retrieve.margin.cfh import CfhRanker as CfhRanker
    from tacit.retrieve.margin.cross import CrossRanker as CrossRanker
    from tacit.retrieve.margin.embedding import EmbeddingRanker as EmbeddingRanker
    from tacit.retrieve.margin.htr_pairs import HtrPairsRanker as HtrPairsRanker
    from tacit.retrieve.margin.wordpair_forms import FullPairRanker as FullPairRanker
    from tacit.retrieve.margin.wordpair_forms import HashedPairRanker as HashedPairRanker
    from tacit.retrieve.margin.wordpair_forms import SparsePairRanker as SparsePairRanker
    from tacit.retrieve.mixture import Mixture as Mixture
    from tacit.retrieve.mixture import mix as mix
    from tacit.retrieve.registry import METHODS as METHODS
    from tacit.retrieve.registry import get_method as get_method

_HOMES = {
    "METHODS": "registry",
    "Bm25Ranker": "lexical.bm25",
    "CfhRanker": "margin.cfh",
    "ClLsiRanker": "latent.cl_lsi",
    "CollectionRanker": "base",
    "CosineRanker": "lexical.cosine",
    "CrossRanker": "margin.cross",
    "EmbeddingRanker": "margin.embedding",
    "FullPairRanker": "margin.wordpair_forms",
    "GraphEmbedding": "graph.embedding",
    "HashedPairRanker": "margin.wordpair_forms",
    "HtrPairsRanker": "margin.htr_pairs",
    "LaplacianEigenmaps": "graph.laplacian",
    "LinearMap": "graph.features",
    "LsiRanker": "latent.lsi",
    "LsiTfidfRanker": "latent.lsi",
    "Mixture": "mixture",
    "QueryExpansionRanker": "lexical.expansion",
    "RbfMap": "graph.features",
    "ReconstructionRanker": "latent.reconstruction",
    "SparsePairRanker": "margin.wordpair_forms",
    "get_method": "registry",
    "mix": "mixture",
}

__getattr__, __dir__, __all__ = lazy_names(globals(), _HOMES)
