"""Compiled loops over plain arrays. Callers do all checks and random draws."""
