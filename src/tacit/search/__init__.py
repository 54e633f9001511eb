"""The searcher: a collection, its features and a fitted ranker, ready for text queries."""

from tacit.search.across import build_cross_searcher
from tacit.search.models import load, save
from tacit.search.searcher import Hit, Reason, Searcher, Training, build_searcher
from tacit.search.snippets import Snippet

__all__ = ["Hit", "Reason", "Searcher", "Snippet", "Training", "build_cross_searcher", "build_searcher", "load", "save"]
