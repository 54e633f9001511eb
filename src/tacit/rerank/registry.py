"""Rankers of feature lists by the names that the command line and the experiments use.

To add a method, add one row to its family: its name, its class (exported by `tacit.rerank`), a one-line description,
and the parameters that differ from the defaults of the class.
"""

from __future__ import annotations

from typing import Any

from tacit.core import Method, MethodTable, check_choice, checked

# L2 penalties of the linear baseline are chosen on validation lists; without these the first is used.
LINEAR = {"n_hidden": 0, "l2": (1.0, 0.1, 0.01)}
# Parameters of ssbt and sslambdarank: expected pairs, quantiles within lists, decorrelated decay, and neighbours if
# validation lists prefer them.
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
# PREF as printed: sums, no penalty, three hidden units, beta and epoch by nDCG; without validation lists beta is 1.
PRINTED = {"beta": (1.0, 0.1, 0.3, 2.0, 5.0), "l2": 0.0, "sum_pairs": True, "select": "nDCG-exp-judged@10"}
PRINTED_LAMBDA = PRINTED | {"positions": "list"}
# Parameters of per-list training: discovered features, importance weights, a bank of rankers trained in advance.
FG, IW, BANK = {"discover": "kernel-pca"}, {"adapt": "kliep"}, {"mode": "precomputed"}
# As printed in TRANS: kernels of raw features chosen on validation lists, the most likely bandwidth, and as many rounds
# as the supervised baseline has.
FG_PRINTED = {"discover": "kernel-pca-printed", "n_rounds": 300}
IW_PRINTED = {"adapt": "kliep-printed", "n_rounds": 300}

# Methods by family: name, class, summary and, where they differ from the defaults of the class, parameters.
_FAMILIES: dict[str, list[tuple[Any, ...]]] = {
    "boosting": [
        ("rankboost", "RankBoostRanker", "Boosted decision stumps, each fitted to the pairs still in the wrong order"),
        ("adacost", "AdaCostRanker", "RankBoost in which the weights of pairs are costs of mistakes"),
        ("sslambdamart", "LambdaMartRanker", "Trees fitted to the gradients of sslambdarank (extra bench)"),
        ("lightgbm", "LightGbmRanker", "LambdaMART of LightGBM on judged rows (extra bench)"),
        ("lightgbm-pointwise", "PointwiseLightGbmRanker", "Regression trees of LightGBM on grades (extra bench)"),
        ("rankboost-semi", "SemiRankBoostRanker", "RankBoost with grades of unjudged rows taken from neighbours"),
    ],
    "linear": [
        ("auc-logistic", "AucRanker", "Linear, exponential AUC loss in linear time"),
        ("auc-semi", "SemiAucRanker", "auc-logistic with the manifold order of the best unjudged rows"),
        ("standing", "StandingRanker", "Regression of grades on a row's position in its list, with list effects"),
        ("ranksvm", "RankSvmRanker", "Linear SVM of differences of rows"),
        ("tsvm", "TransductiveSvmRanker", "Transductive SVM: labels of unjudged rows are guessed and switched"),
    ],
    "gradient": [
        ("linear", "BradleyTerryRanker", "Linear pairwise logistic model, the supervised baseline", LINEAR),
        ("bt", "BradleyTerryRanker", "Bradley-Terry model with one hidden layer"),
        (
            "ssbt",
            "BradleyTerryRanker",
            "Linear: preference regularizer, expected pairs, list quantiles",
            SEMI_SUPERVISED,
        ),
        (
            "lambdarank",
            "LambdaRankRanker",
            "Linear, pairs weighted by the change of nDCG when they are swapped",
            LINEAR,
        ),
        ("sslambdarank", "LambdaRankRanker", "Linear lambdarank with the terms of ssbt", SEMI_SUPERVISED),
        ("bt-printed", "BradleyTerryRanker", "ssbt-printed with beta 0", PRINTED | {"beta": 0.0}),
        ("ssbt-printed", "BradleyTerryRanker", "Bradley-Terry with the preference regularizer, as in PREF", PRINTED),
        ("lambdarank-printed", "LambdaRankRanker", "sslambdarank-printed with beta 0", PRINTED_LAMBDA | {"beta": 0.0}),
        (
            "sslambdarank-printed",
            "LambdaRankRanker",
            "LambdaRank with the preference regularizer, as in PREF",
            PRINTED_LAMBDA,
        ),
    ],
    "propagation": [
        ("manifold", "ManifoldRanker", "Relevance spreads to neighbours; reads only the labels of the list it ranks"),
        ("prf", "FeedbackRanker", "Similarity to the top of the list (relevance feedback); reads its own lists only"),
        ("prf-neg", "FeedbackRanker", "prf, away from the rest of the list", {"negatives": True}),
        ("prf-retrained", "PseudoLabelRanker", "A ranker trained again, the best unjudged rows taken as relevant"),
        (
            "prf-retrained-neg",
            "PseudoLabelRanker",
            "prf-retrained, the other unjudged rows taken as irrelevant",
            {"negatives": True},
        ),
    ],
    "per-list training": [
        ("fg", "TransductiveRanker", "A ranker for each list, on features that kernel PCA finds in the list", FG),
        ("iw", "TransductiveRanker", "A ranker for each list; training pairs weighted by similarity to its own", IW),
        ("fg+iw", "TransductiveRanker", "fg and iw together; the weights are computed on the features found", FG | IW),
        ("fg-printed", "TransductiveRanker", "fg on kernels of raw features, chosen on validation lists", FG_PRINTED),
        ("iw-printed", "TransductiveRanker", "iw with KLIEP's own choice of the bandwidth", IW_PRINTED),
        ("fg+iw-printed", "TransductiveRanker", "fg-printed and iw-printed together", FG_PRINTED | IW_PRINTED),
        ("kpca-train", "DiscoveredFeaturesRanker", "One ranker for all lists; kernel PCA of each list"),
        (
            "kpca-pooled",
            "DiscoveredFeaturesRanker",
            "One ranker for all lists; kernel PCA of all training documents",
            {"source": "pooled"},
        ),
        ("fg-precomputed", "TransductiveRanker", "Rankers of clusters of lists, mixed by principal angles", FG | BANK),
        ("iw-precomputed", "TransductiveRanker", "Rankers of weightings of lists, mixed by mean embeddings", IW | BANK),
        ("guarded", "GuardedRanker", "RankBoost and a linear fg, mixed with a weight chosen on validation lists"),
    ],
}

METHODS = MethodTable(
    "tacit.rerank.base:ListRanker",
    (
        Method(name, family, f"tacit.rerank:{kind}", summary, *params)
        for family, rows in _FAMILIES.items()
        for name, kind, summary, *params in rows
    ),
)


@checked
def get_method(name: str) -> Method:
    """Return the method with that name; raise an error that lists all names."""
    return METHODS[check_choice("method", name, METHODS)]
