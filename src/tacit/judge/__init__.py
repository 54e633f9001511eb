"""Judgments: the store that keeps them, exchange with other tools, agreement of judges, what to judge next."""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
