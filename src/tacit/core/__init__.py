"""Value types shared by all packages, the estimator base class, input checks and errors.

This package imports no other tacit package. Names are imported on first use.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # names are listed in __init__.pyi
