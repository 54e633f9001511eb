"""`blend`: combines several rankers of one collection into one ranker."""
