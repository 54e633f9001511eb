"""`transduction`: a ranker for every list."""
