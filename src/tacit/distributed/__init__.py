"""Training and searching on the machines of a Ray cluster (extra `ray`), with the same bits as on one machine.

Names are imported when they are first used.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names stand in __init__.pyi
