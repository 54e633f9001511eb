"""tacit: learning to rank with few labels.

    searcher = tacit.Searcher("htr-residual").fit(docs, links=links)     # rank a collection
    ranker = tacit.StandingRanker().fit(train, validation=vali)          # rank feature lists

Names are imported on first use. Everything else is in the packages: `tacit.retrieve` (rankers of collections),
`tacit.rerank` (rankers of lists), `tacit.features`, `tacit.metrics`, `tacit.data`, `tacit.store`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.core.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.core import Collection as Collection
    from tacit.core import Judgments as Judgments
    from tacit.core import Links as Links
    from tacit.core import Lists as Lists
    from tacit.core import Ranking as Ranking
    from tacit.core import Run as Run
    from tacit.core import TacitError as TacitError
    from tacit.data import read_clicks as read_clicks
    from tacit.data import read_collection as read_collection
    from tacit.data import read_letor as read_letor
    from tacit.data import read_links as read_links
    from tacit.data import read_pairs as read_pairs
    from tacit.data import read_pydocs as read_pydocs
    from tacit.data import read_qrels as read_qrels
    from tacit.data import read_queries as read_queries
    from tacit.data import read_run as read_run
    from tacit.data import write_letor as write_letor
    from tacit.data import write_qrels as write_qrels
    from tacit.data import write_run as write_run
    from tacit.judge.advise import advise as advise
    from tacit.metrics import compare as compare
    from tacit.metrics import evaluate as evaluate
    from tacit.rerank import BradleyTerryRanker as BradleyTerryRanker
    from tacit.rerank import GuardedRanker as GuardedRanker
    from tacit.rerank import LambdaRankRanker as LambdaRankRanker
    from tacit.rerank import RankBoostRanker as RankBoostRanker
    from tacit.rerank import StandingRanker as StandingRanker
    from tacit.rerank import TransductiveRanker as TransductiveRanker
    from tacit.retrieve import Bm25Ranker as Bm25Ranker
    from tacit.retrieve import EmbeddingRanker as EmbeddingRanker
    from tacit.search import Hit as Hit
    from tacit.search import Searcher as Searcher
    from tacit.search import load as load
    from tacit.search import save as save

__version__ = "0.1.0"

_HOMES = {
    "Bm25Ranker": ".retrieve",
    "BradleyTerryRanker": ".rerank",
    "Collection": ".core",
    "EmbeddingRanker": ".retrieve",
    "GuardedRanker": ".rerank",
    "Hit": ".search",
    "Judgments": ".core",
    "LambdaRankRanker": ".rerank",
    "Links": ".core",
    "Lists": ".core",
    "RankBoostRanker": ".rerank",
    "Ranking": ".core",
    "Run": ".core",
    "Searcher": ".search",
    "StandingRanker": ".rerank",
    "TacitError": ".core",
    "TransductiveRanker": ".rerank",
    "advise": ".judge.advise",
    "compare": ".metrics",
    "evaluate": ".metrics",
    "load": ".search",
    "read_clicks": ".data",
    "read_collection": ".data",
    "read_letor": ".data",
    "read_links": ".data",
    "read_pairs": ".data",
    "read_pydocs": ".data",
    "read_qrels": ".data",
    "read_queries": ".data",
    "read_run": ".data",
    "save": ".search",
    "write_letor": ".data",
    "write_qrels": ".data",
    "write_run": ".data",
}

__getattr__, __dir__, __all__ = lazy_names(globals(), _HOMES)
