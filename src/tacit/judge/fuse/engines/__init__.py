"""Search engines: what each can express, the body or snippet for it, and its documented formula.

An engine is one module. `engine_of` finds it by name; see `base.Engine`.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
