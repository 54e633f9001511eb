"""The rankers of feature lists by the names that the command line and the experiments use.

A method joins by one line: its name, where it lives, with which parameters, and what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.core import check_choice

if TYPE_CHECKING:
    from tacit.rerank.base import ListRanker


@dataclass(frozen=True)
class ListSystem:
    """A named way to rank feature lists; `home` is "module:Class" in this room."""

    name: str
    home: str
    summary: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def make(self, seed: int = 0, threads: int | None = None) -> ListRanker:
        """An unfitted ranker; seed and threads reach those that have a use for them."""
        module, name = self.home.split(":")
        kind = getattr(import_module(f"tacit.rerank.{module}"), name)
        offered = {"seed": seed, "threads": threads} | dict(self.params)
        known = kind._get_param_names()
        ranker: ListRanker = kind(**{key: value for key, value in offered.items() if key in known})
        return ranker


# What linear and semi-supervised rankers choose from on validation; the first is for few labels.
LINEAR_DECAYS = (1.0, 0.1, 0.01)
# What ssbt and sslambdarank take from unjudged rows: expected pairs, quantiles, the price of decay, and neighbours
# where validation wants them.
UNJUDGED = {
    "expected": 0.5, "beta": (0.0, 1.0, 10.0), "n_neighbours": 10, "scale": "quantiles", "decorrelate": 0.5,
}  # fmt: skip

_SYSTEMS: tuple[ListSystem, ...] = (
    ListSystem(
        "rankboost", "boosting.rankboost:RankBoostRanker", "stumps, each against the pairs still ordered wrongly"
    ),
    ListSystem(
        "adacost", "boosting.adacost:AdaCostRanker", "rankboost in which the weights of pairs are costs of mistakes"
    ),
    ListSystem(
        "fg",
        "transduction.ranker:TransductiveRanker",
        "a ranker for each list, on features that kernel PCA finds in it",
        {"discover": "kernel-pca"},
    ),
    ListSystem(
        "iw",
        "transduction.ranker:TransductiveRanker",
        "a ranker for each list, from training pairs that are like its own",
        {"adapt": "kliep"},
    ),
    ListSystem(
        "fg+iw",
        "transduction.ranker:TransductiveRanker",
        "both, the weights by the features found",
        {"discover": "kernel-pca", "adapt": "kliep"},
    ),
    ListSystem(
        "kpca-train",
        "transduction.discovery:DiscoveredFeaturesRanker",
        "one ranker, each list by directions of its own",
    ),
    ListSystem(
        "kpca-pooled",
        "transduction.discovery:DiscoveredFeaturesRanker",
        "one ranker, all lists by directions of the training documents",
        {"source": "pooled"},
    ),
    ListSystem(
        "fg-precomputed",
        "transduction.ranker:TransductiveRanker",
        "rankers of clusters of lists, mixed by principal angles",
        {"discover": "kernel-pca", "mode": "precomputed"},
    ),
    ListSystem(
        "iw-precomputed",
        "transduction.ranker:TransductiveRanker",
        "rankers of random weightings, mixed by mean embeddings",
        {"adapt": "kliep", "mode": "precomputed"},
    ),
    ListSystem(
        "guarded",
        "transduction.guarded:GuardedRanker",
        "rankboost and a linear fg, each trusted as validation lists bear it out",
    ),
    ListSystem("auc-logistic", "linear.auc:AucRanker", "linear, exponential AUC loss in linear time"),
    ListSystem("auc-semi", "linear.auc:SemiAucRanker", "auc-logistic and the manifold order of the best unjudged rows"),
    ListSystem(
        "manifold",
        "propagation.manifold:ManifoldRanker",
        "manifold ranking: relevance spreads to neighbours, own lists only",
    ),
    ListSystem(
        "linear",
        "gradient.bradley_terry:BradleyTerryRanker",
        "linear pairwise logistic model: the honest baseline",
        {"n_hidden": 0, "l2": LINEAR_DECAYS},
    ),
    ListSystem("bt", "gradient.bradley_terry:BradleyTerryRanker", "Bradley-Terry, one hidden layer"),
    ListSystem(
        "ssbt",
        "gradient.bradley_terry:BradleyTerryRanker",
        "linear, with the preference regularizer, expected pairs and quantiles of lists",
        {"n_hidden": 0, "l2": (1.0, 0.1), "n_epochs": 50} | UNJUDGED,
    ),
    ListSystem(
        "standing",
        "linear.standing:StandingRanker",
        "grades regressed on how a row stands in its whole list, judged or not; with effects of lists",
    ),
    ListSystem(
        "lambdarank", "gradient.lambdarank:LambdaRankRanker", "pairs weighted by what their swap changes in nDCG"
    ),
    ListSystem(
        "sslambdarank",
        "gradient.lambdarank:LambdaRankRanker",
        "linear lambdarank, with the rank-sensitive preference regularizer and all else that ssbt has",
        {"n_hidden": 0, "l2": (1.0, 0.1), "n_epochs": 50} | UNJUDGED,
    ),
    ListSystem(
        "sslambdamart", "boosting.lambdamart:LambdaMartRanker", "trees on the gradients of sslambdarank (extra bench)"
    ),
    ListSystem("lightgbm", "boosting.lightgbm:LightGbmRanker", "LambdaMART of LightGBM on judged rows (extra bench)"),
    ListSystem("ranksvm", "linear.ranksvm:RankSvmRanker", "linear SVM of differences"),
    ListSystem("tsvm", "linear.tsvm:TransductiveSvmRanker", "transductive SVM, labels of unjudged rows switched"),
    ListSystem("rankboost-semi", "boosting.semi:SemiRankBoostRanker", "rankboost, grades guessed from neighbours"),
    ListSystem(
        "prf", "propagation.prf:FeedbackRanker", "pseudo relevance feedback: nearness to the top, own lists only"
    ),
    ListSystem("prf-neg", "propagation.prf:FeedbackRanker", "prf, away from the rest of the list", {"negatives": True}),
)

LIST_SYSTEMS: dict[str, ListSystem] = {system.name: system for system in _SYSTEMS}


def get_list_system(name: str) -> ListSystem:
    """The system of that name, or an error that lists the names."""
    return LIST_SYSTEMS[check_choice("method", name, LIST_SYSTEMS)]
