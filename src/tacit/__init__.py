"""tacit: learning to rank with few labels.

    searcher = tacit.Searcher("htr-residual").fit(docs, links=links)     # rank a collection
    ranker = tacit.StandingRanker().fit(train, validation=vali)          # rank feature lists

Names are imported on first use. Everything else is in the packages: `tacit.retrieve` (rankers of collections),
`tacit.rerank` (rankers of lists), `tacit.features`, `tacit.metrics`, `tacit.data`, `tacit.store`.
"""

from tacit.core.lazy import lazy_names

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_names(globals())  # names are listed in __init__.pyi
