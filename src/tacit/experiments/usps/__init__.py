"""Experiment `usps`: embeddings of digits by a neighbour graph."""
