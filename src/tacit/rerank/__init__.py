"""Rankers of feature lists: learning to rank from few labels.

Names are imported from their modules on first use, because scikit-learn is slow to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.core import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    globals(),
    {
        "AdaCostRanker": "boosting.adacost",
        "AucRanker": "linear.auc",
        "AveragedRanker": "transduction.guarded",
        "BasisBank": "transduction.precomputed",
        "BradleyTerryRanker": "gradient.bradley_terry",
        "CommitteeRanker": "transduction.guarded",
        "DiscoveredFeaturesRanker": "transduction.discovery",
        "FeedbackRanker": "propagation.prf",
        "GuardedRanker": "transduction.guarded",
        "KliepAdaptation": "transduction.importance",
        "LambdaMartRanker": "boosting.lambdamart",
        "LambdaRankRanker": "gradient.lambdarank",
        "LightGbmRanker": "boosting.lightgbm",
        "ListRanker": "base",
        "ListRidgeRanker": "linear.ridge",
        "METHODS": "registry",
        "ManifoldRanker": "propagation.manifold",
        "RankBoostRanker": "boosting.rankboost",
        "RankSvmRanker": "linear.ranksvm",
        "RankingTask": "ranking_lists",
        "Rows": "rows",
        "SemiAucRanker": "linear.auc",
        "SemiRankBoostRanker": "boosting.semi",
        "StandingRanker": "linear.standing",
        "TransductiveRanker": "transduction.ranker",
        "TransductiveSvmRanker": "linear.tsvm",
        "WeightingBank": "transduction.precomputed",
        "fit_lists": "ranking_lists",
        "get_method": "registry",
        "rank_folds": "ranking_lists",
        "read_ranklib": "boosting.ranklib",
        "write_ranklib": "boosting.ranklib",
    },
)

if TYPE_CHECKING:
    from tacit.rerank.base import ListRanker as ListRanker
    from tacit.rerank.boosting.adacost import AdaCostRanker as AdaCostRanker
    from tacit.rerank.boosting.lambdamart import LambdaMartRanker as LambdaMartRanker
    from tacit.rerank.boosting.lightgbm import LightGbmRanker as LightGbmRanker
    from tacit.rerank.boosting.rankboost import RankBoostRanker as RankBoostRanker
    from tacit.rerank.boosting.ranklib import read_ranklib as read_ranklib
    from tacit.rerank.boosting.ranklib import write_ranklib as write_ranklib
    from tacit.rerank.boosting.semi import SemiRankBoostRanker as SemiRankBoostRanker
    from tacit.rerank.gradient.bradley_terry import BradleyTerryRanker as BradleyTerryRanker
    from tacit.rerank.gradient.lambdarank import LambdaRankRanker as LambdaRankRanker
    from tacit.rerank.linear.auc import AucRanker as AucRanker
    from tacit.rerank.linear.auc import SemiAucRanker as SemiAucRanker
    from tacit.rerank.linear.ranksvm import RankSvmRanker as RankSvmRanker
    from tacit.rerank.linear.ridge import ListRidgeRanker as ListRidgeRanker
    from tacit.rerank.linear.standing import StandingRanker as StandingRanker
    from tacit.rerank.linear.tsvm import TransductiveSvmRanker as TransductiveSvmRanker
    from tacit.rerank.propagation.manifold import ManifoldRanker as ManifoldRanker
    from tacit.rerank.propagation.prf import FeedbackRanker as FeedbackRanker
    from tacit.rerank.ranking_lists import RankingTask as RankingTask
    from tacit.rerank.ranking_lists import fit_lists as fit_lists
    from tacit.rerank.ranking_lists import rank_folds as rank_folds
    from tacit.rerank.registry import METHODS as METHODS
    from tacit.rerank.registry import get_method as get_method
    from tacit.rerank.rows import Rows as Rows
    from tacit.rerank.transduction.discovery import DiscoveredFeaturesRanker as DiscoveredFeaturesRanker
    from tacit.rerank.transduction.guarded import AveragedRanker as AveragedRanker
    from tacit.rerank.transduction.guarded import CommitteeRanker as CommitteeRanker
    from tacit.rerank.transduction.guarded import GuardedRanker as GuardedRanker
    from tacit.rerank.transduction.importance import KliepAdaptation as KliepAdaptation
    from tacit.rerank.transduction.precomputed import BasisBank as BasisBank
    from tacit.rerank.transduction.precomputed import WeightingBank as WeightingBank
    from tacit.rerank.transduction.ranker import TransductiveRanker as TransductiveRanker
