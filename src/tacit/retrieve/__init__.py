"""Rankers of a whole collection: given a query, order every document."""

from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.bm25 import Bm25Ranker
from tacit.retrieve.cosine import CosineRanker
from tacit.retrieve.embedding import EmbeddingRanker
from tacit.retrieve.expansion import QueryExpansionRanker
from tacit.retrieve.lsi import LsiRanker, LsiTfidfRanker
from tacit.retrieve.registry import RANKER_CLASSES, SYSTEMS, System, get_system
from tacit.retrieve.state import ranker_from_state, ranker_state

__all__ = [
    "RANKER_CLASSES",
    "SYSTEMS",
    "Bm25Ranker",
    "CollectionRanker",
    "CosineRanker",
    "EmbeddingRanker",
    "LsiRanker",
    "LsiTfidfRanker",
    "QueryExpansionRanker",
    "System",
    "get_system",
    "ranker_from_state",
    "ranker_state",
]
