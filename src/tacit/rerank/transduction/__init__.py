"""Per-list transduction: a ranker trained for every list."""
