"""Formats of tables and documents: one file for each family, one table of them (`registry`)."""
