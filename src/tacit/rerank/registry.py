"""Rankers of feature lists by the names that the command line and the experiments use.

To add a method, add one entry: its name, its family, its class, one line of description, and the parameters in which
it differs from the defaults of the class.
"""

from __future__ import annotations

from tacit.core import Method, check_choice

# L2 penalties of the linear baseline, chosen on validation lists; without any the first is taken.
LINEAR_DECAYS = (1.0, 0.1, 0.01)
# Parameters of ssbt and sslambdarank: expected pairs, quantiles within lists, decorrelated decay, and neighbours
# where validation lists prefer them.
SEMI_SUPERVISED = {
    "n_hidden": 0,
    "l2": (1.0, 0.1),
    "n_epochs": 50,
    "expected": 0.5,
    "beta": (0.0, 1.0, 10.0),
    "n_neighbours": 10,
    "scale": "quantiles",
    "decorrelate": 0.5,
}

_METHODS: tuple[Method, ...] = (
    Method(
        "rankboost",
        "boosting",
        "tacit.rerank.boosting.rankboost:RankBoostRanker",
        "Boosted decision stumps, each fitted to the pairs that are still in the wrong order",
    ),
    Method(
        "adacost",
        "boosting",
        "tacit.rerank.boosting.adacost:AdaCostRanker",
        "RankBoost in which the weights of pairs are costs of mistakes",
    ),
    Method(
        "sslambdamart",
        "boosting",
        "tacit.rerank.boosting.lambdamart:LambdaMartRanker",
        "Trees fitted to the gradients of sslambdarank (extra bench)",
    ),
    Method(
        "lightgbm",
        "boosting",
        "tacit.rerank.boosting.lightgbm:LightGbmRanker",
        "LambdaMART of LightGBM on judged rows (extra bench)",
    ),
    Method(
        "rankboost-semi",
        "boosting",
        "tacit.rerank.boosting.semi:SemiRankBoostRanker",
        "RankBoost with grades of unjudged rows guessed from their neighbours",
    ),
    Method(
        "auc-logistic", "linear", "tacit.rerank.linear.auc:AucRanker", "Linear, exponential AUC loss in linear time"
    ),
    Method(
        "auc-semi",
        "linear",
        "tacit.rerank.linear.auc:SemiAucRanker",
        "auc-logistic with the manifold order of the best unjudged rows",
    ),
    Method(
        "standing",
        "linear",
        "tacit.rerank.linear.standing:StandingRanker",
        "Regression of grades on the position of a row in its whole list, judged or not, with list effects",
    ),
    Method("ranksvm", "linear", "tacit.rerank.linear.ranksvm:RankSvmRanker", "Linear SVM of differences of rows"),
    Method(
        "tsvm",
        "linear",
        "tacit.rerank.linear.tsvm:TransductiveSvmRanker",
        "Transductive SVM: labels of unjudged rows are guessed and switched",
    ),
    Method(
        "linear",
        "gradient",
        "tacit.rerank.gradient.bradley_terry:BradleyTerryRanker",
        "Linear pairwise logistic model, the supervised baseline",
        {"n_hidden": 0, "l2": LINEAR_DECAYS},
    ),
    Method(
        "bt",
        "gradient",
        "tacit.rerank.gradient.bradley_terry:BradleyTerryRanker",
        "Bradley-Terry model with one hidden layer",
    ),
    Method(
        "ssbt",
        "gradient",
        "tacit.rerank.gradient.bradley_terry:BradleyTerryRanker",
        "Linear, with the preference regularizer, expected pairs and quantiles of lists",
        SEMI_SUPERVISED,
    ),
    Method(
        "lambdarank",
        "gradient",
        "tacit.rerank.gradient.lambdarank:LambdaRankRanker",
        "Pairs weighted by the change of nDCG when they are swapped",
    ),
    Method(
        "sslambdarank",
        "gradient",
        "tacit.rerank.gradient.lambdarank:LambdaRankRanker",
        "Linear lambdarank, with the rank-sensitive preference regularizer and the terms of ssbt",
        SEMI_SUPERVISED,
    ),
    Method(
        "manifold",
        "propagation",
        "tacit.rerank.propagation.manifold:ManifoldRanker",
        "Manifold ranking: relevance spreads to neighbours; reads the labels of its own lists only",
    ),
    Method(
        "prf",
        "propagation",
        "tacit.rerank.propagation.prf:FeedbackRanker",
        "Pseudo-relevance feedback: similarity to the top of the list; reads its own lists only",
    ),
    Method(
        "prf-neg",
        "propagation",
        "tacit.rerank.propagation.prf:FeedbackRanker",
        "prf, away from the rest of the list",
        {"negatives": True},
    ),
    Method(
        "fg",
        "per-list training",
        "tacit.rerank.transduction.ranker:TransductiveRanker",
        "A ranker for each list, on features that kernel PCA finds in the list",
        {"discover": "kernel-pca"},
    ),
    Method(
        "iw",
        "per-list training",
        "tacit.rerank.transduction.ranker:TransductiveRanker",
        "A ranker for each list, with training pairs weighted by their similarity to the list's own",
        {"adapt": "kliep"},
    ),
    Method(
        "fg+iw",
        "per-list training",
        "tacit.rerank.transduction.ranker:TransductiveRanker",
        "fg and iw together; the weights are computed on the features found",
        {"discover": "kernel-pca", "adapt": "kliep"},
    ),
    Method(
        "kpca-train",
        "per-list training",
        "tacit.rerank.transduction.discovery:DiscoveredFeaturesRanker",
        "One ranker for all lists; kernel PCA directions of each list",
    ),
    Method(
        "kpca-pooled",
        "per-list training",
        "tacit.rerank.transduction.discovery:DiscoveredFeaturesRanker",
        "One ranker for all lists; kernel PCA directions of the training documents",
        {"source": "pooled"},
    ),
    Method(
        "fg-precomputed",
        "per-list training",
        "tacit.rerank.transduction.ranker:TransductiveRanker",
        "Rankers of clusters of lists, mixed by principal angles",
        {"discover": "kernel-pca", "mode": "precomputed"},
    ),
    Method(
        "iw-precomputed",
        "per-list training",
        "tacit.rerank.transduction.ranker:TransductiveRanker",
        "Rankers of random weightings of the training lists, mixed by mean embeddings",
        {"adapt": "kliep", "mode": "precomputed"},
    ),
    Method(
        "guarded",
        "per-list training",
        "tacit.rerank.transduction.guarded:GuardedRanker",
        "RankBoost and a linear fg, mixed with a weight chosen on validation lists",
    ),
)

METHODS: dict[str, Method] = {method.name: method for method in _METHODS}


def get_method(name: str) -> Method:
    """The method of that name; an unknown name is an error that lists all names."""
    return METHODS[check_choice("method", name, METHODS)]
