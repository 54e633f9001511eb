"""Estimates from people's grades and a program's: against slow loops, in worlds with known answers, on real judges."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from tacit.core import Judgments, Run, TacitError, UsageError
from tacit.metrics import assisted, evaluate
from tacit.metrics.assistance import PENALTY, combine, program_level
from tacit.metrics.assisted_pairs import linearize
from tacit.metrics.measures import parse_measure

DATA = Path(os.environ.get("TACIT_DATA", "/nowhere"))


def slow_fit(x, y, penalty):
    """Ridge regression with a free constant, by the normal equations."""
    A = np.column_stack([np.ones(len(x)), x])
    return np.linalg.solve(A.T @ A + np.diag([0, penalty]), A.T @ y)


def slow_combine(human, program, rows, level=0.95):
    """One column, with every leave-one-out regression fitted anew."""
    n, n_all, x = len(human), len(program), program[rows]
    penalty = PENALTY * program.var()
    _, weight = slow_fit(x, human, penalty)
    residuals = []
    for left_out in range(n):
        kept = np.arange(n) != left_out
        constant, slope = slow_fit(x[kept], human[kept], penalty)
        residuals.append(human[left_out] - constant - slope * x[left_out])
    variance = np.mean(np.square(residuals)) * (n - 1) / n * (1 / n - 1 / n_all)
    value = human.mean() + weight * (program.mean() - x.mean())
    return value, weight, np.sqrt(variance) * t.ppf((1 + level) / 2, n - 2)


def make_world(seed, n_all=60, n=12, noise=0.3):
    rng = np.random.default_rng(seed)
    program = rng.normal(size=n_all)
    human = 0.5 * program + noise * rng.normal(size=n_all)
    return human, program, np.sort(rng.choice(n_all, n, replace=False))


@pytest.mark.parametrize("seed", range(4))
def test_combine_agrees_with_refitting_without_each_query(seed):
    human, program, rows = make_world(seed)
    found = combine(human[rows][:, None], program[:, None], rows)
    value, weight, half = slow_combine(human[rows], program, rows)
    assert found.value[0] == pytest.approx(value)
    assert found.weight[0] == pytest.approx(weight)
    assert found.half[0] == pytest.approx(half)
    n = len(rows)
    alone = human[rows].std(ddof=1) * np.sqrt(1 / n - 1 / len(human)) * t.ppf(0.975, n - 1)
    assert found.people_half[0] == pytest.approx(alone)
    assert found.half[0] < found.people_half[0]


def test_a_useless_program_gets_no_weight_and_people_alone_are_reported():
    rng = np.random.default_rng(0)
    human, program = rng.normal(size=(40, 300)), rng.normal(size=(40, 300))
    rows = np.arange(8)
    found = combine(human[rows], program, rows)
    assert (found.half <= found.people_half).all()
    unused = found.weight == 0
    assert unused.mean() > 0.6
    assert found.value[unused].tolist() == found.people_value[unused].tolist()
    constant = combine(human[rows], np.ones((40, 300)), rows)
    assert not constant.weight.any()


def test_few_queries_fall_back_to_people_and_all_queries_leave_no_error():
    human, program, _ = make_world(1)
    few = combine(human[:4, None], program[:, None], np.arange(4))
    assert few.weight[0] == 0
    assert few.value[0] == human[:4].mean()
    every = combine(human[:, None], program[:, None], np.arange(60))
    assert every.value[0] == human.mean()
    assert every.half[0] == 0
    with pytest.raises(TacitError, match="people judged 1 of 60 queries, want at least 2"):
        combine(human[:1, None], program[:, None], np.arange(1))


def test_equal_human_values_do_not_give_an_interval_of_width_zero():
    program = np.random.default_rng(0).normal(size=(50, 1))
    found = combine(np.ones((10, 1)), program, np.arange(10))
    assert found.half[0] == pytest.approx(program.std() * np.sqrt(1 / 10 - 1 / 50) * t.ppf(0.975, 9))


@pytest.mark.parametrize("n", [5, 10, 20])
def test_intervals_cover_the_mean_of_all_queries(n):
    rng = np.random.default_rng(n)
    inside, narrower = [], []
    for noise in (0.2, 0.6, 3.0):
        program = rng.normal(size=(60, 4000))
        human = program + noise * rng.standard_t(4, size=(60, 4000))
        rows = np.sort(rng.choice(60, n, replace=False))
        found = combine(human[rows], program, rows)
        inside.append((abs(found.value - human.mean(axis=0)) <= found.half).mean())
        narrower.append((found.half / found.people_half).mean())
    assert min(inside) > 0.93
    assert narrower[0] < 0.8
    assert max(narrower) <= 1


def graded(pairs):
    return Judgments.from_dict(pairs)


def test_the_level_of_the_program_is_the_one_that_agrees_best():
    people = graded({"q": {str(d): d // 3 for d in range(12)}})  # 0 to 3
    program = graded({"q": {str(d): 5 * (d >= 6) + (d >= 3) for d in range(12)} | {"other": 9}})
    assert program_level(people, program, parse_measure("P(rel=2)@5")) == 6
    assert program_level(people, program, parse_measure("AP")) == 1
    assert program_level(people, graded({"z": {"0": 3}}), parse_measure("AP(rel=2)")) == 2
    many = graded({"q": {str(d): int(d >= 600) for d in range(1000)}})  # a score is cut at about 100 of its values
    scores = graded({"q": {str(d): d / 1000 for d in range(1000)}})
    assert program_level(many, scores, parse_measure("AP")) == pytest.approx(0.6, abs=0.01)


def test_queries_that_only_people_judged_enter_as_they_are():
    queries = [f"q{i}" for i in range(30)]
    runs = {name: Run.from_dict({q: {name: 1.0} for q in queries}) for name in ("a", "b")}
    people = graded({q: {"a": i % 2, "b": 1 - i % 2} for i, q in enumerate(queries[:10])})
    program = graded({q: {"a": i % 2, "b": 1 - i % 2} for i, q in enumerate(queries) if i >= 4})
    found = assisted(people, program, runs, "P@1")
    assert (found.n_queries, found.n_human, found.n_ignored) == (30, 10, 0)
    part = evaluate(program, runs["b"], "P@1").values["P@1"] - evaluate(program, runs["a"], "P@1").values["P@1"]
    expected = combine(part[:6, None], part[:, None], np.arange(6)).value[0] * 26 / 30  # the other four have mean 0
    assert found.differences[0].value == pytest.approx(expected)
    with pytest.raises(TacitError, match="the program judged none of the 10 queries"):
        assisted(people, graded({"z": {"a": 1}}), runs, "P@1")
    with pytest.raises(TacitError, match="neither people nor the program judged a query of the runs"):
        assisted(people, program, {"c": Run.from_dict({"other": {"a": 1.0}})}, "P@1")
    with pytest.raises(UsageError, match="AUC cannot be assisted"):
        assisted(people, program, runs, "AUC")


@pytest.mark.parametrize("measure", ["P@3", "DCG@3", "DCG", "nDCG@3", "nDCG"])
def test_linearized_measures_agree_with_the_formulas(measure):
    rng = np.random.default_rng(3)
    n_queries, size = 5, 8
    query = np.repeat(np.arange(n_queries), size)
    rank = np.concatenate([np.where((r := rng.permutation(size) + 1) <= 6, r, np.inf) for _ in range(n_queries)])
    grades = rng.integers(0, 2 if measure[0] == "P" else 4, len(query)).astype(float)
    names = [str(d) for d in range(len(query))]
    judgments = Judgments([str(q) for q in range(n_queries)], names, query, np.arange(len(query)), grades)
    held = np.isfinite(rank)
    run = Run(judgments.query_ids, names, query[held], np.flatnonzero(held), -rank[held])
    value, weight = linearize(parse_measure(measure), query, rank, grades, n_queries)
    assert value == pytest.approx(evaluate(judgments, run, measure).means()[measure])
    assert weight @ grades == pytest.approx(value)


def sampled_world(seed):
    """Two runs, people's grades of all pairs, a program that is right four times out of five."""
    rng = np.random.default_rng(seed)
    queries, docs = [f"q{i}" for i in range(40)], [f"d{i}" for i in range(20)]
    truth = {q: {d: int(rng.random() < 0.3) * int(rng.integers(1, 4)) for d in docs} for q in queries}
    program = {q: {d: g if rng.random() < 0.8 else int(rng.integers(0, 4)) for d, g in truth[q].items()} for q in truth}
    runs = {
        name: Run.from_dict({q: {d: g * skill + rng.normal() for d, g in truth[q].items()} for q in queries}, name)
        for name, skill in (("a", 0.3), ("b", 0.8))
    }
    return graded(truth), graded(program), runs


@pytest.mark.parametrize("measure", ["P@5", "DCG@5", "nDCG@5"])
def test_sampled_pairs_cover_the_truth_and_the_program_helps(measure):
    truth, program, runs = sampled_world(0)
    means = [evaluate(truth, run, measure).means()[measure] for run in runs.values()]
    inside, narrower = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        chance = np.where(truth.doc % 2 == 0, 0.4, 0.2)
        # Both strata are drawn without replacement, as `draw_sample` does.
        drawn = np.zeros(len(truth), bool)
        for p in (0.4, 0.2):
            rows = np.flatnonzero(chance == p)
            drawn[rng.choice(rows, round(p * len(rows)), replace=False)] = True
        part = Judgments(truth.query_ids, truth.doc_ids, truth.query, truth.doc, truth.grade, chance)
        found = assisted(part.select(np.ones(40, bool), drawn), program, runs, measure)
        assert found.sampled
        estimate = found.differences[0]
        inside.append(estimate.low <= means[1] - means[0] <= estimate.high)
        narrower.append((estimate.high - estimate.low) / (estimate.people_high - estimate.people_low))
    assert np.mean(inside) >= 0.88  # 60 samples: 0.95 less 2.5 standard errors
    assert np.mean(narrower) < 0.85
    with pytest.raises(UsageError, match="AP cannot be assisted from sampled pairs"):
        assisted(part.select(np.ones(40, bool), drawn), program, runs, "AP")


@pytest.mark.skipif(not (DATA / "judges/dl21").is_dir(), reason="TACIT_DATA has no judges/dl21")
def test_real_judges_cover_the_human_difference():
    from tacit.data import read_qrels, read_run

    human = read_qrels(DATA / "judges/dl21/human.qrels.gz")
    chosen = ("p_bm25", "p_tct0", "mono_d3", "pash_f1", "TUW_DR_Base")
    runs = [read_run(DATA / f"runs/dl21/runs/{name}.run.gz") for name in chosen]

    def table(judgments):
        values = np.array([evaluate(judgments, run, "nDCG@10").values["nDCG@10"] for run in runs]).T
        row = {name: at for at, name in enumerate(judgments.query_ids)}
        values = values[[row[name] for name in human.query_ids]]
        return np.array([values[:, a] - values[:, b] for a, b in combinations(range(len(runs)), 2)]).T

    people, rng = table(human), np.random.default_rng(0)
    samples = [np.sort(rng.choice(53, n, replace=False)) for n in (5, 10, 25) for _ in range(60)]
    for judge in ("umbrela_gpt4o", "binary_llama3.2_b", "exam_gpt4"):
        program = table(read_qrels(DATA / f"judges/dl21/{judge}.qrels.gz"))
        found = [combine(people[rows], program, rows) for rows in samples]
        inside = np.mean([abs(f.value - people.mean(axis=0)) <= f.half for f in found])
        assert inside > 0.92, judge
        assert np.mean([f.half / f.people_half for f in found]) < 0.97, judge
