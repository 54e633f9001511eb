"""Texts to sparse rows of word counts and tf-idf weights."""
