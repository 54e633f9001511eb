"""RankLib's text keeps every bit, and what is no such text is refused with its line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import DataError, TacitError, UsageError
from tacit.rerank.boosting.rankboost import RankBoostRanker
from tacit.rerank.boosting.ranklib import format_ranklib, read_ranklib, write_ranklib
from tacit.rerank.linear.auc import AucRanker


def ranklib_scores(text, X):
    """RankLib's own reading and scoring: the first line without ## is split at blanks, then at colons."""
    line = next(line.strip() for line in text.split("\n") if line.strip() and not line.startswith("##"))
    scores = []
    for row in X:
        score = 0.0
        for token in line.split(" "):
            feature, threshold, weight = token.split(":")
            score += float(weight) * (1 if row[int(feature) - 1] > float(threshold) else 0)
        scores.append(score)
    return scores


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_scores_are_the_same_after_the_way_through_the_text(seed, tmp_path_factory):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    y[:2] = 0, 1
    ranker = RankBoostRanker(n_rounds=10).fit(X, y)
    path = str(tmp_path_factory.mktemp("ranklib") / "model.txt")
    write_ranklib(ranker, path)
    assert np.array_equal(read_ranklib(path, n_features=4).predict(X), ranker.predict(X))
    assert ranklib_scores(format_ranklib(ranker), X) == ranker.predict(X).tolist()
    assert format_ranklib(ranker).startswith("## RankBoost\n")


def test_width_is_given_or_the_largest_feature(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("## RankBoost\n## Iteration = 300\n\n3:0.5:0.25 1:2:-1e-3 # a remark\n")
    assert read_ranklib(str(path)).n_features_in_ == 3
    assert read_ranklib(str(path), n_features=5).predict(np.ones((1, 5))).tolist() == [0.25]
    with pytest.raises(DataError, match="has feature 3, rows have 2"):
        read_ranklib(str(path), n_features=2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "begins with ''"),
        ("## LambdaMART\n1:1:1\n", "begins with '## LambdaMART'"),
        ("## RankBoost\n", "has 0 lines of stumps"),
        ("## RankBoost\n1:1:1\n2:2:2\n", "has 2 lines of stumps"),
        ("## RankBoost\n# nothing\n", "model.txt:2: has no stump"),
        ("## RankBoost\n1:1\n", "model.txt:2: token '1:1'"),
        ("## RankBoost\n0:1:1\n", "model.txt:2: token '0:1:1'"),
        ("## RankBoost\n1:inf:1\n", "token '1:inf:1'"),
        ("## RankBoost\n1:1:nan\n", "token '1:1:nan'"),
        ("## RankBoost\n99999999999:1:1\n", "token '99999999999:1:1'"),
    ],
)
def test_other_texts_are_refused(tmp_path, text, problem):
    path = tmp_path / "model.txt"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_ranklib(str(path))
    assert problem in str(caught.value)


def test_what_ranklib_cannot_read_is_not_written():
    with pytest.raises(UsageError, match="AucRanker"):
        format_ranklib(AucRanker().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(TacitError, match="no stump"):
        format_ranklib(RankBoostRanker().fit([[1.0], [1.0]], [0, 1]))
