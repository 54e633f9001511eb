"""`fuse`: weights for the results of any search engines, learned from judged queries, tested and exported."""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
