"""Rankers of a whole collection: given a query, order every document."""

from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.bm25 import Bm25Ranker
from tacit.retrieve.cfh import CfhRanker
from tacit.retrieve.cosine import CosineRanker
from tacit.retrieve.embedding import EmbeddingRanker
from tacit.retrieve.expansion import QueryExpansionRanker
from tacit.retrieve.lsi import LsiRanker, LsiTfidfRanker
from tacit.retrieve.registry import (
    GRAM_SYSTEMS,
    RANKER_CLASSES,
    SYSTEMS,
    GramSystem,
    System,
    get_gram_system,
    get_system,
)
from tacit.retrieve.state import ranker_from_state, ranker_state
from tacit.retrieve.wordpair_forms import FullPairRanker, HashedPairRanker, SparsePairRanker

__all__ = [
    "GRAM_SYSTEMS",
    "RANKER_CLASSES",
    "SYSTEMS",
    "Bm25Ranker",
    "CfhRanker",
    "CollectionRanker",
    "CosineRanker",
    "EmbeddingRanker",
    "FullPairRanker",
    "GramSystem",
    "HashedPairRanker",
    "LsiRanker",
    "LsiTfidfRanker",
    "QueryExpansionRanker",
    "SparsePairRanker",
    "System",
    "get_gram_system",
    "get_system",
    "ranker_from_state",
    "ranker_state",
]
