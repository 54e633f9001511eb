"""Compiled loops over plain arrays. No checks, no random draws, no classes: callers do that."""

from tacit.numba_cache import ensure_cache

ensure_cache(__file__)
