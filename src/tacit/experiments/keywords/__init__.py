"""Experiment `keywords`."""
