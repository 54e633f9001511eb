"""Experiment `questions`: typed queries, of which few are judged."""
