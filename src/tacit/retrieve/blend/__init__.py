"""`blend`: several rankers of one collection as one ranker."""
