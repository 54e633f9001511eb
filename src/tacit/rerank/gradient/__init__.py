"""Rankers trained by gradients of pairwise losses, with regularizers over unjudged rows."""
