"""Experiment `keywords`: a few words of a document as the query."""
