"""Rankers trained on the margin ranking loss: SSI, HTR and methods based on them."""
