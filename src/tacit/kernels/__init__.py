"""Compiled loops over plain arrays. Callers do all checks and random draws."""

from tacit.numba_cache import ensure_cache

ensure_cache(__file__)
