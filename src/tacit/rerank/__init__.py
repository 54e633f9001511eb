"""Rankers of feature lists: what is known of some rows of a list, and of other lists, orders the rest.

Names are imported from their modules on first use, since scikit-learn behind them takes its time.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME_OF = {
    "AucRanker": "linear.auc",
    "ManifoldRanker": "propagation.manifold",
    "SemiAucRanker": "linear.auc",
    "AdaCostRanker": "boosting.adacost",
    "BradleyTerryRanker": "gradient.bradley_terry",
    "DiscoveredFeaturesRanker": "transduction.discovery",
    "FeedbackRanker": "propagation.prf",
    "GuardedRanker": "transduction.guarded",
    "KliepAdaptation": "transduction.importance",
    "LIST_SYSTEMS": "registry",
    "LambdaMartRanker": "boosting.lambdamart",
    "LambdaRankRanker": "gradient.lambdarank",
    "LightGbmRanker": "boosting.lightgbm",
    "ListRanker": "base",
    "ListRidgeRanker": "linear.ridge",
    "ListSystem": "registry",
    "RankBoostRanker": "boosting.rankboost",
    "RankSvmRanker": "linear.ranksvm",
    "RankingTask": "ranking_lists",
    "Rows": "rows",
    "SemiRankBoostRanker": "boosting.semi",
    "StandingRanker": "linear.standing",
    "TransductiveRanker": "transduction.ranker",
    "TransductiveSvmRanker": "linear.tsvm",
    "fit_lists": "ranking_lists",
    "get_list_system": "registry",
    "rank_folds": "ranking_lists",
    "rank_lists": "ranking_lists",
    "read_ranklib": "boosting.ranklib",
    "write_ranklib": "boosting.ranklib",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
