"""Rankers that score by the words that a query and a document share."""
