"""Loops over graphs of nearest neighbours: distances, training, search."""
