"""Files to core types and back: collections, links, judgments, runs, clicks, LETOR lists; the embedded corpus.

Names are imported on first use, so that reading a run does not load the compiled LETOR scanner.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
