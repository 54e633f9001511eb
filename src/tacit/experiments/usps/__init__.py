"""Experiment `usps`: embeddings of digits from a neighbour graph."""
