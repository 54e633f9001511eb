"""Experiments on feature lists: few labels, transduction, feedback."""
