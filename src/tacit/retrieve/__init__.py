"""Rankers of a whole collection: given a query, order every document."""

from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.bm25 import Bm25Ranker
from tacit.retrieve.cfh import CfhRanker
from tacit.retrieve.cl_lsi import ClLsiRanker
from tacit.retrieve.cosine import CosineRanker
from tacit.retrieve.cross import CrossRanker
from tacit.retrieve.cross_systems import CROSS_SYSTEMS, CrossSystem, get_cross_system
from tacit.retrieve.embedding import EmbeddingRanker
from tacit.retrieve.expansion import QueryExpansionRanker
from tacit.retrieve.graph_embedding import GraphEmbedding
from tacit.retrieve.graph_state import load_embedding, save_embedding
from tacit.retrieve.htr_pairs import HtrPairsRanker
from tacit.retrieve.laplacian import LaplacianEigenmaps
from tacit.retrieve.lsi import LsiRanker, LsiTfidfRanker
from tacit.retrieve.mixture import Mixture, mix
from tacit.retrieve.reconstruction import ReconstructionRanker
from tacit.retrieve.registry import (
    RANKER_CLASSES,
    SYSTEMS,
    System,
    get_system,
)
from tacit.retrieve.state import ranker_from_state, ranker_state
from tacit.retrieve.translation import translation_matrix
from tacit.retrieve.wordpair_forms import FullPairRanker, HashedPairRanker, SparsePairRanker

__all__ = [
    "CROSS_SYSTEMS",
    "RANKER_CLASSES",
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
    "ranker_from_state",
    "ranker_state",
    "save_embedding",
    "translation_matrix",
]
