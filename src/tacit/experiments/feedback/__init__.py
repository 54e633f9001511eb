"""Experiment `feedback`: one query and a few judged answers."""
