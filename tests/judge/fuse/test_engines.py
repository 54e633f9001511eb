"""Exports: every fusion that an engine may choose gives our order by the engine's documented formula."""

import json

import pytest

from tacit.core import Run, TacitError, UsageError
from tacit.judge.fuse import ENGINES, Family, Fusion, Legs, fuse
from tacit.judge.fuse.front import export, raw_results


@pytest.fixture
def legs(random_legs):
    return Legs.from_runs({name: Run.from_dict(scores) for name, scores in random_legs(0).items()})


@pytest.mark.parametrize("name", ENGINES)
def test_every_candidate_has_the_engines_order(name, legs):
    space = ENGINES[name].make_space(legs)
    assert space.default.engine == name
    for fusion in [space.default, *(fusion for group in space.groups for fusion in group)]:
        found = export(fusion, legs, name)
        assert found["checked_queries"] == len(legs)
        json.dumps(found)


@pytest.mark.parametrize("name", ENGINES)
def test_another_order_is_noticed(name, legs, monkeypatch):
    """An export with other weights than the fusion fails the check."""
    engine = ENGINES[name]
    space = engine.make_space(legs)
    group = space.groups[-1]
    wrong = group[len(group) // 4]
    body = engine.export(wrong, legs.depth)
    monkeypatch.setattr(engine, "export", lambda fusion, depth: body)
    other = (
        next(fusion for fusion in reversed(group) if abs(fusion.weights[0] - wrong.weights[0]) > 0.3)
        if len(group) > 1
        else space.groups[0][0]
    )
    with pytest.raises(TacitError, match="would order query"):
        export(other, legs, name)


def test_bodies_ask_for_as_many_results_as_the_runs_have(legs):
    depth = max(len(hits) for scores in (raw_results(legs, query) for query in range(len(legs))) for hits in scores)
    default = {name: export(ENGINES[name].make_space(legs).default, legs, name)["body"] for name in ENGINES}
    assert default["elasticsearch"]["retriever"]["rrf"]["rank_window_size"] == depth
    assert {part["limit"] for part in default["qdrant"]["prefetch"]} == {depth}


def test_engines_refuse_what_they_cannot_express(legs):
    for name in ENGINES:
        with pytest.raises(UsageError, match=f"{name} cannot express"):
            export(Fusion(legs.names, (0.5, 0.5), Family("log-odds")), legs, name)
    for name in ("milvus", "lancedb"):
        with pytest.raises(UsageError, match="cannot express"):
            export(Fusion(legs.names, (0.3, 0.7), Family("rrf")), legs, name)  # its rrf has no weights


def test_qdrant_counts_ranks_from_zero_and_weights_are_absolute():
    """1 / (k + position) with a weight of 1; weight 3, position 1, k = 2: 1 / (2 / 3 + 1) = .6."""
    results = [[("a", 9.0), ("b", 8.0)], [("b", 1.0)]]
    body = {"query": {"rrf": {"k": 2, "weights": [1.0, 1.0]}}}
    assert ENGINES["qdrant"].evaluate(body, results) == {"a": 1 / 2, "b": 1 / 3 + 1 / 2}
    body["query"]["rrf"]["weights"] = [3.0, 0.0]
    assert ENGINES["qdrant"].evaluate(body, results) == pytest.approx({"a": 1 / (1 / 3 + 1), "b": 0.6})


def test_scores_below_zero_leave_out_what_would_favour_missing_results(random_legs):
    nested = random_legs(0)
    nested["leg0"] = {q: {d: s - 5 for d, s in found.items()} for q, found in nested["leg0"].items()}
    legs = Legs.from_runs({name: Run.from_dict(scores) for name, scores in nested.items()})
    for name in ENGINES:
        if name == "vespa":
            with pytest.raises(UsageError, match="below 0"):
                ENGINES[name].make_space(legs)
            continue
        kinds = {option.family.normalization for option in ENGINES[name].make_space(legs).options}
        assert not kinds & {"scaled", "l2"}, name


def test_fuse_exports_what_it_chose(skilled_legs):
    nested, qrels = skilled_legs(0)
    runs = {name: Run.from_dict(scores) for name, scores in nested.items()}
    for name in ENGINES:
        report = fuse(qrels, runs, to=name)
        assert report.export["engine"] == name
        assert report.fusion.engine == name
        assert report.to_json()["export"]["body"]


def test_opensearch_replaces_only_a_score_of_zero():
    """min_max gives the last result .001, so that one just above it is below: found by the check of an export."""
    near = {"q": {"a": 1.0, "b": 0.0002, "c": 0.0001, "d": 0.0}}
    legs = Legs.from_runs({"x": Run.from_dict(near), "y": Run.from_dict({"q": {"a": 1.0, "c": 0.5}})})
    space = ENGINES["opensearch"].make_space(legs)
    for fusion in space.groups[0]:
        assert export(fusion, legs, "opensearch")["checked_queries"] == 1
    alone = Fusion(legs.names, (1.0, 0.0), space.default.family)
    assert list(alone.fuse(legs).to_dict()["q"]) == ["a", "d", "b", "c"]
