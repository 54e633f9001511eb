"""Commands about feature lists: rank, learning-curve."""
