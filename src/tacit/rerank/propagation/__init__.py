"""Rankers of their training lists: relevance spreads to similar rows."""
