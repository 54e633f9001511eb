"""Experiment `htr-over-ssi`: when free vectors of items are better than vectors of their words."""
