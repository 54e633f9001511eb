"""Training and searching on a cluster, with the same bits as on one machine.

A cluster is a `Backend`: Ray (`ray_cluster`, extra `ray`), or one within this process (`InProcessBackend`).

Names are imported when they are first used.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names stand in __init__.pyi
