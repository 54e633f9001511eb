"""Rankers of a whole collection: given a query, order every document.

Names are imported when they are first used.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
