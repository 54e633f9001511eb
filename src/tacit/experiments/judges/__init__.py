"""Experiment `judges`: program judges in addition to people, for measuring and for training."""
