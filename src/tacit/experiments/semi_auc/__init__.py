"""Experiment `semi-auc`."""
