"""Rankers of the lists they were fitted on: relevance spreads to similar rows."""
