"""Value types that travel between packages, the estimator base, checks of input, errors.

Imports nothing of ours. Names are imported on first use.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names stand in __init__.pyi
