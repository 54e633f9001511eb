"""`transduction`: a ranker trained for every list."""
