"""Applying, explaining, saving and reading fusions."""

import json

import numpy as np
import pytest

from tacit.core import DataError, Run, UsageError
from tacit.data import read_run, write_run
from tacit.judge.fuse import Family, Fusion, Legs, read_fusion

FUSION = Fusion(("leg0", "leg1"), (0.25, 0.75), Family("rrf", 20))


@pytest.fixture
def runs(random_legs):
    return {name: Run.from_dict(scores, name) for name, scores in random_legs(0).items()}


def test_contributions_of_an_explanation_sum_to_the_score(runs):
    legs = Legs.from_runs(runs)
    for hit in FUSION.explain(legs, "q3", k=5):
        assert sum(leg["contribution"] for leg in hit["legs"].values()) == pytest.approx(hit["score"])
    assert [hit["rank"] for hit in FUSION.explain(legs, "q3", k=5)] == [1, 2, 3, 4, 5]
    with pytest.raises(UsageError, match="no run has results for query 'x'"):
        FUSION.explain(legs, "x")


def test_fused_scores_fall_strictly_so_that_any_reader_keeps_the_order(runs, tmp_path):
    fused = Fusion(("leg0", "leg1"), (0.5, 0.5), Family("rrf")).apply(runs)  # equal weights: many ties
    scores = FUSION.scores(Legs.from_runs(runs))
    assert len(fused) == len(scores)
    for query in range(len(fused.query_ids)):
        rows = fused.query == query
        assert (np.diff(fused.score[rows].astype(np.float32)) < 0).all()
    write_run(fused, tmp_path / "fused.run")
    again = read_run(tmp_path / "fused.run")
    assert again.to_dict() == fused.to_dict()


def test_apply_takes_runs_in_any_order_and_refuses_other_names(runs):
    swapped = dict(reversed(runs.items()))
    assert FUSION.apply(swapped).to_dict() == FUSION.apply(runs).to_dict()
    with pytest.raises(UsageError, match="the fusion is of leg0, leg1; got leg0, other"):
        FUSION.apply({"leg0": runs["leg0"], "other": runs["leg1"]})


@pytest.mark.parametrize(
    "fusion",
    [FUSION, Fusion(("a", "b"), (1.0, 0.0), Family("scaled", scales=(2.0, 3.0)), "qdrant"),
     Fusion(("a", "b"), (1.0, 0.5), Family("minmax", floor=0.001), "opensearch")],
    ids=str,
)  # fmt: skip
def test_json_reads_back(fusion, tmp_path):
    (tmp_path / "f.json").write_text(json.dumps({"fusion": fusion.to_json(), "helps": True}))
    assert read_fusion(str(tmp_path / "f.json")) == fusion
    assert Fusion.from_json(json.loads(json.dumps(fusion.to_json()))) == fusion


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a fusion"),
        ('{"weights": {"a": 1, "b": 1}, "normalization": "softmax"}', "normalization"),
        ('{"weights": {"a": -1, "b": 1}, "normalization": "rrf"}', "weight of a"),
        ('{"weights": {"a": 0, "b": 0}, "normalization": "rrf"}', "all weights are 0"),
        ('{"weights": {"a": "x", "b": 0}, "normalization": "rrf"}', "is not a fusion"),
    ],
)
def test_a_file_that_is_no_fusion_is_named(text, message, tmp_path):
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_fusion(str(tmp_path / "f.json"))
    assert "f.json" in str(caught.value)
