"""Experiment `label`: which documents to judge first."""
