"""Rankers of a whole collection: given a query, order every document."""

from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.cross_systems import CROSS_SYSTEMS, CrossSystem, get_cross_system
from tacit.retrieve.graph.embedding import GraphEmbedding
from tacit.retrieve.graph.laplacian import LaplacianEigenmaps
from tacit.retrieve.graph.state import load_embedding, save_embedding
from tacit.retrieve.latent.cl_lsi import ClLsiRanker
from tacit.retrieve.latent.lsi import LsiRanker, LsiTfidfRanker
from tacit.retrieve.latent.reconstruction import ReconstructionRanker
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.lexical.cosine import CosineRanker
from tacit.retrieve.lexical.expansion import QueryExpansionRanker
from tacit.retrieve.margin.cfh import CfhRanker
from tacit.retrieve.margin.cross import CrossRanker
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.htr_pairs import HtrPairsRanker
from tacit.retrieve.margin.wordpair_forms import FullPairRanker, HashedPairRanker, SparsePairRanker
from tacit.retrieve.mixture import Mixture, mix
from tacit.retrieve.registry import (
    SYSTEMS,
    System,
    get_system,
)

__all__ = [
    "CROSS_SYSTEMS",
    "SYSTEMS",
    "Bm25Ranker",
    "CfhRanker",
    "ClLsiRanker",
    "CollectionRanker",
    "CosineRanker",
    "CrossRanker",
    "CrossSystem",
    "EmbeddingRanker",
    "FullPairRanker",
    "GraphEmbedding",
    "HashedPairRanker",
    "HtrPairsRanker",
    "LaplacianEigenmaps",
    "LsiRanker",
    "LsiTfidfRanker",
    "Mixture",
    "QueryExpansionRanker",
    "ReconstructionRanker",
    "SparsePairRanker",
    "System",
    "get_cross_system",
    "get_system",
    "load_embedding",
    "mix",
    "save_embedding",
]
