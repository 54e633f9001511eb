"""Judgments and click logs as pairs to learn from."""

import numpy as np
import pytest

from tacit.core import Collection, DataError, Judgments
from tacit.data import judged_pairs, read_clicks


@pytest.fixture
def docs():
    return Collection(["a", "b", "c"], [""] * 3, ["x", "y", "z"])


def test_relevant_judgments_become_weighted_pairs(docs):
    queries = Collection(["1", "2"], [""] * 2, ["p", "q"])
    judgments = Judgments.from_dict({"2": {"a": 3, "b": 0}, "1": {"c": 1}})
    pairs = judged_pairs(judgments, queries, docs)
    assert list(zip(pairs.sources, pairs.targets, pairs.weights, strict=True)) == [(1, 0, 3), (0, 2, 1)]


def test_judgments_without_a_relevant_one_teach_nothing(docs):
    queries = Collection(["1"], [""], ["p"])
    with pytest.raises(DataError, match=r"no judgment \(of 1\) is relevant"):
        judged_pairs(Judgments.from_dict({"1": {"a": 0}}), queries, docs)


def test_unknown_ids_are_refused_or_skipped(docs):
    queries = Collection(["1"], [""], ["p"])
    judgments = Judgments.from_dict({"1": {"a": 1, "gone": 1}})
    with pytest.raises(DataError, match="gone"):
        judged_pairs(judgments, queries, docs)
    assert len(judged_pairs(judgments, queries, docs, skip_unknown=True)) == 1


def test_clicks_of_one_query_add_up(docs, tmp_path):
    (tmp_path / "log").write_text("cats\ta\t2\ndogs\tb\ncats\ta\n\ncats \tc\t0.5\n")
    queries, pairs = read_clicks(tmp_path / "log", docs)
    assert list(queries.texts) == ["cats", "dogs"]
    assert pairs.to_csr().toarray().tolist() == [[3, 0, 0.5], [0, 1, 0]]
    assert np.array_equal(pairs.weights, [3, 1, 0.5])


@pytest.mark.parametrize(
    ("line", "message"),
    [("cats", "log:1"), ("cats\ta\tx", "log:1"), ("cats\ta\t-1", "log:1"), ("\ta", "log:1: the query is empty"),
     ("cats\tgone", "gone"), ("", "log: has no")],
)  # fmt: skip
def test_bad_clicks_are_named(docs, tmp_path, line, message):
    (tmp_path / "log").write_text(line + "\n")
    with pytest.raises(DataError, match=message):
        read_clicks(tmp_path / "log", docs)
