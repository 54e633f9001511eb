"""Experiment `papers`: a sample of the numbers of the papers page, computed again."""
