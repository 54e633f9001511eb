"""Experiment `htr-over-ssi`: when free vectors of items are better than their words."""
