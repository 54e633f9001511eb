"""Embeddings of a graph of nearest neighbours."""
