"""Experiment `judges`: program judges beside people, for measuring and for training."""
