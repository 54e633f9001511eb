"""Rankers by latent factors, learned without labels."""
