"""The part of a ranker that other engines can compute: a sum of trees or of weighted features; and alternatives.

A search engine scores one document at a time. A ranker whose scores depend on all rows of a list cannot be exported;
`nearest` returns the most similar ranker that can, and `cost` its loss on held-out lists.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.core import Lists, TacitError
from tacit.rerank import (
    AucRanker,
    LightGbmRanker,
    ListRanker,
    ListRidgeRanker,
    RankBoostRanker,
    RankSvmRanker,
    StandingRanker,
    TransductiveSvmRanker,
)
from tacit.rerank.gradient.ranker import GradientRanker


class Linear(NamedTuple):
    """score = sum of weights (x - means) / deviations; float64 (n_features,) each."""

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray


class Alternative(NamedTuple):
    """An unfitted ranker that can be exported, and the options of `tacit rank` that make it."""

    ranker: ListRanker
    options: str


def has_trees(ranker: ListRanker) -> bool:
    """Return whether the ranker is a sum of stumps or trees that scores each row separately."""
    return isinstance(ranker, RankBoostRanker | LightGbmRanker) and not ranker.needs_lists()


def to_linear(ranker: ListRanker) -> Linear | None:
    """Return the weights of a fitted linear ranker that scores each row separately; None for all others."""
    if isinstance(ranker, AucRanker | ListRidgeRanker):
        weights = ranker.weights_
    elif isinstance(ranker, RankSvmRanker):
        weights = ranker.coef_
    elif isinstance(ranker, StandingRanker) and not ranker.needs_lists():
        return Linear(ranker.coef_, ranker.center_, ranker.spread_)
    elif isinstance(ranker, GradientRanker) and not ranker.needs_lists() and ranker.n_hidden == 0:
        return Linear(ranker.theta_, ranker.center_, ranker.spread_)
    else:
        return None
    return Linear(weights, np.zeros(len(weights)), np.ones(len(weights)))


def why_not(ranker: ListRanker) -> str:
    """Return a short reason why a ranker is neither trees nor linear."""
    if isinstance(ranker, GradientRanker) and not ranker.needs_lists():
        return f"a {type(ranker).__name__} with a hidden layer is neither linear nor a sum of trees"
    return f"scores of {type(ranker).__name__} depend on the full list, but a search engine scores each document alone"


def nearest(ranker: ListRanker) -> Alternative:
    """Return the most similar ranker that can be exported, for one that cannot."""
    if isinstance(ranker, StandingRanker):
        return Alternative(ranker.clone().set_params(view="features"), "--method standing --set view=features")
    if isinstance(ranker, GradientRanker):
        method = getattr(ranker, "method_", "") or "linear"
        linear = ranker.clone().set_params(scale="global", n_hidden=0)
        return Alternative(linear, f"--method {method} --set scale=global --set n_hidden=0")
    if isinstance(ranker, TransductiveSvmRanker):
        return Alternative(RankSvmRanker(), "--method ranksvm")
    return Alternative(RankBoostRanker(), "--method rankboost")


def cost(ranker: ListRanker, alternative: ListRanker, train: Lists, validation: Lists) -> tuple[float, float]:
    """Return nDCG-letor@10 on validation lists of the ranker, and of the alternative fitted on the training lists."""
    if not (validation.y >= 0).any():
        raise TacitError(
            f"the validation lists have no judged row (rows: {len(validation.y)}), so there is nothing to measure"
        )
    return ranker.score(validation), alternative.fit(train).score(validation)
