"""Experiment `fuse`: safe weights over real runs, beside the best of a grid."""
