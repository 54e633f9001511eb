"""`advise`: which system to use on the user's own data, with a proof by cross-validation."""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names stand in __init__.pyi
