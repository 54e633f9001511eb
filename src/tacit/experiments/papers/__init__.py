"""Experiment `papers`: a sample of the numbers on the papers page, computed again."""
