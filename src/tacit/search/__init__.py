"""The searcher: a collection, its features and a fitted ranker, ready for text queries."""

from tacit.search.searcher import Hit, Reason, Searcher, Training, build_searcher
from tacit.search.snippets import Snippet

__all__ = ["Hit", "Reason", "Searcher", "Snippet", "Training", "build_searcher"]
