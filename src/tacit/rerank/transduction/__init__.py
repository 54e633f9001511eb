"""A ranker for every list: per-list transduction."""
