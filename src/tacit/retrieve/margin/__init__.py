"""Rankers trained on the margin ranking loss: SSI, HTR and what is built on them."""
