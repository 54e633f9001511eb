"""Rankers of feature lists: learning to rank from few labels.

Names are imported from their modules on first use, because scikit-learn is slow to import.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
