"""Experiment `fuse`: learned weights over real runs, compared with the best of a grid."""
