"""Formats of tables and documents: one module for each family, listed in `registry`."""
