"""Text to sparse rows: tokenizers by language, counts of words and n-grams, tf-idf, correlated feature hashing.

Also components of feature lists (kernel PCA). Names are imported from their modules on first use.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
