"""Typed queries: their syntax, expansion and completion."""
