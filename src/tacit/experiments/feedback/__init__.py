"""Experiment `feedback`: one query and a few judged results."""
