"""Experiment `links`: documents rank the documents that they link to."""
