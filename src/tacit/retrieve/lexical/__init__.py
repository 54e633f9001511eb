"""Rankers by the words that a query and a document share."""
