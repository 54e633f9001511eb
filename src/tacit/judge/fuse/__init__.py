"""`fuse`: weights over the results of any search engines, learned from judged queries, with a proof and an export."""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names stand in __init__.pyi
