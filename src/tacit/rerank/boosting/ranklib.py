"""RankBoost models in RankLib's text format, which search engines' learning-to-rank plugins load, and back.

    ## RankBoost
    ## Iteration = 2
    ## No. of threshold candidates = 128
    3:0.25:0.81 1:12.5:-0.07

Each token is feature:threshold:weight, features from 1. A stump adds its weight if feature > threshold, and scores are
summed in the order of the tokens, as here. RankLib stores feature values in 32 bits and reads an absent one as 0, so
scores may differ there for rows that differ from a threshold in the eighth digit only, or that miss values.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.core import DataError, TacitError, UsageError, check_number, checked
from tacit.data import open_output, read_lines
from tacit.rerank.base import ListRanker
from tacit.rerank.boosting.rankboost import RankBoostRanker
from tacit.rerank.boosting.stumps import Stumps

TITLE = "## RankBoost"


def format_ranklib(ranker: ListRanker) -> str:
    """Return the model as text.

    >>> ranker = RankBoostRanker(n_rounds=1, n_bins=None).fit([[0, 5], [0, 7], [0, 7]], [0, 1, 2])
    >>> format_ranklib(ranker)[:-13]
    '## RankBoost\\n## Iteration = 1\\n## No. of threshold candidates = -1\\n2:6.0:0.8047'
    """
    if not isinstance(ranker, RankBoostRanker):
        raise UsageError(f"the model is a {type(ranker).__name__}; RankLib's format has stumps only, want rankboost")
    ranker._check_fitted()
    stumps = ranker.stumps_
    if not len(stumps.features):
        raise TacitError("the model has no stump, as no feature separated rows; RankLib cannot read empty models")
    tokens = [
        f"{feature + 1}:{threshold!r}:{weight!r}"
        for feature, threshold, weight in zip(*(column.tolist() for column in stumps), strict=True)
    ]
    head = [TITLE, f"## Iteration = {len(tokens)}", f"## No. of threshold candidates = {ranker.n_bins or -1}"]
    return "\n".join([*head, " ".join(tokens)]) + "\n"


@checked
def write_ranklib(ranker: ListRanker, path: str) -> None:
    """Write a fitted RankBoost ranker; `-` is standard output."""
    text = format_ranklib(ranker)
    with open_output(path) as out:
        out.write(text)


@checked
def read_ranklib(path: str, n_features: int | None = None) -> RankBoostRanker:
    """Read a fitted ranker from a RankLib file; n_features is the width of rows, default: largest feature."""
    lines = [(number, text.strip()) for number, text in read_lines(path) if text.strip()]
    if not lines or lines[0][1] != TITLE:
        found = lines[0][1][:40] if lines else ""
        raise DataError(f"begins with {found!r}, want {TITLE!r}", path=path, line=1)
    body = [(number, text) for number, text in lines if not text.startswith("##")]
    if len(body) != 1:
        raise DataError(f"has {len(body)} lines of stumps, want one", path=path)
    number, text = body[0]
    stumps = [_read_token(token, path, number) for token in text.split("#")[0].split()]
    if not stumps:
        raise DataError("has no stump, want feature:threshold:weight", path=path, line=number)
    return _ranker_of(stumps, path, n_features)


def _read_token(token: str, path: str, line: int) -> tuple[int, float, float]:
    try:
        feature, threshold, weight = token.split(":")
        stump = int(feature), float(threshold), float(weight)
    except ValueError:
        stump = 0, 0.0, 0.0
    if not (1 <= stump[0] < 2**31 and math.isfinite(stump[1]) and math.isfinite(stump[2])):
        wanted = "feature:threshold:weight, a feature from 1 and two finite numbers"
        raise DataError(f"token {token!r}, want {wanted}", path=path, line=line)
    return stump


def _ranker_of(tokens: list[tuple[int, float, float]], path: str, n_features: int | None) -> RankBoostRanker:
    features, thresholds, weights = (np.array(column) for column in zip(*tokens, strict=True))
    largest = int(features.max())
    width = largest if n_features is None else int(check_number("n_features", n_features, low=1, whole=True))
    if largest > width:
        raise DataError(f"has feature {largest}, rows have {width}", path=path)
    ranker = RankBoostRanker(n_rounds=len(tokens))
    stumps = Stumps(features.astype(np.int64) - 1, thresholds.astype(np.float64), weights.astype(np.float64))
    ranker.stump_features_, ranker.stump_thresholds_, ranker.stump_weights_ = stumps
    ranker.n_features_in_ = width
    return ranker
