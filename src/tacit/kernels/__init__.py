"""Compiled loops over plain arrays. No checks, no random draws, no classes: callers do that."""
