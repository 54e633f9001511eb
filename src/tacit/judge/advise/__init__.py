"""`advise`: recommends a system for the user's data, with evidence from cross-validation."""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
