"""Experiment `links`: a document as the query for the documents that it links to."""
