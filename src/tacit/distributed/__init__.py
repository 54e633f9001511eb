"""Training and searching on a cluster, bit-identical to one machine.

A cluster is a `Backend`: Ray (`ray_cluster`, extra `ray`), or a simulated one in this process (`InProcessBackend`).

Names are imported on first use.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
