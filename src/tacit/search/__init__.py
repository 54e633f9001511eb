"""Searchers: a collection, its features and a fitted ranker, ready for text queries."""

from tacit.search.answers import Hit, Hits, Reason
from tacit.search.models import load, save
from tacit.search.searcher import Searcher
from tacit.search.snippets import Snippet
from tacit.search.two_stage import TwoStageRanker

__all__ = ["Hit", "Hits", "Reason", "Searcher", "Snippet", "TwoStageRanker", "load", "save"]
