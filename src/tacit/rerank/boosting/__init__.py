"""Boosted stumps and trees."""
