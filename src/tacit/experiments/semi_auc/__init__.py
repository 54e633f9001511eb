"""Experiment `semi-auc`: one relevant document and a few others are known."""
