"""The choice of a fusion and its proof: worlds with one right answer, and slow oracles."""

import numpy as np
import pytest

import tacit
from tacit.core import DataError, Judgments, Run, TacitError, UsageError
from tacit.judge.fuse import Legs
from tacit.judge.fuse.front import default_space
from tacit.judge.fuse.learning import Chooser, bagged_weights, lattice, learned_weights, training_queries, worth_of
from tacit.judge.fuse.measured import Measured
from tacit.metrics import evaluate


def as_runs(legs):
    return {name: Run.from_dict(scores, name) for name, scores in legs.items()}


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR", "P@5", "nDCG-judged@10", "Judged@10", "nDCG@3"])
def test_values_are_those_of_evaluate_on_the_fused_run(measure, random_legs, random_qrels):
    runs, judgments = as_runs(random_legs(0)), Judgments.from_dict(random_qrels(0))
    legs = Legs.from_runs(runs)
    measured = Measured(legs, judgments, "nDCG@10")
    for group in default_space(legs).groups:
        for fusion in group[::3]:
            wanted = evaluate(judgments, fusion.fuse(legs), measure).values[measure]
            assert measured.values(fusion, measure) == pytest.approx(wanted, abs=1e-12), fusion.title
    for leg, run in enumerate(runs.values()):
        wanted = evaluate(judgments, run, measure).values[measure]
        assert measured.leg_values(leg, measure) == pytest.approx(wanted, abs=1e-12)


def test_the_worth_of_a_candidate_is_that_of_the_formulas():
    """Posterior mean less the price of a loss, by numerical integration of prior times likelihood."""
    rng = np.random.default_rng(0)
    gains = rng.normal(rng.normal(scale=0.1, size=(7, 1)), 0.1, size=(7, 6))
    scale = np.array([1, 1, 1, 1, 0.5, 0.5, 0.5])
    mean = [sum(row) / 6 for row in gains]
    errors = [(sum((x - m) ** 2 for x in row) + 2 * 0.05**2) / 30 for row, m in zip(gains, mean, strict=True)]
    spread = sum(m * m - e for m, e in zip(mean, errors, strict=True)) / sum(scale**2)
    assert spread > 0
    true = np.linspace(-2, 2, 400_001)
    wanted = []
    for m, error, a in zip(mean, errors, scale, strict=True):
        density = np.exp(-(true**2) / (2 * a * a * spread) - (m - true) ** 2 / (2 * error))
        density /= density.sum()
        wanted.append(true @ density - 0.05 * density[true < 0].sum())
    assert worth_of(gains, scale) == pytest.approx(wanted, abs=1e-5)  # the step of the grid


def test_gains_no_larger_than_their_errors_are_worth_nothing():
    gains = np.array([[0.3, -0.3, 0.1, -0.1, 0.0], [0.2, -0.1, -0.1, 0.1, -0.05]])
    assert (worth_of(gains, np.ones(2)) <= 0).all()
    assert (worth_of(np.zeros((3, 10)), np.ones(3)) <= 0).all()


def test_bagged_weights_are_the_average_over_bootstrap_samples(random_legs):
    legs = Legs.from_runs(as_runs(random_legs(0)))
    fusions, gains = default_space(legs).groups[0], np.random.default_rng(1).normal(size=(11, 8))
    rng, found = np.random.default_rng(0), []
    for _ in range(30):
        counts = rng.multinomial(8, [1 / 8] * 8)
        sums = [sum(c * g for c, g in zip(counts, row, strict=True)) for row in gains]
        found.append(fusions[sums.index(max(sums))].weights)
    assert bagged_weights(gains, fusions) == pytest.approx(np.mean(found, axis=0).round(2))
    sure = np.zeros((11, 8))
    sure[3] = 0.1
    assert bagged_weights(sure, fusions) == pytest.approx(fusions[3].weights)


def test_the_lattice_is_complete():
    assert len(lattice(3, 70)) == 66
    assert all(weights.sum() == pytest.approx(1) for n in (2, 3, 4, 6, 12) for weights in lattice(n, 70))
    assert len(lattice(12, 70)) == 12


def test_the_better_leg_gets_the_weight_and_the_gain_is_claimed(skilled_legs):
    legs, qrels = skilled_legs(0)
    report = tacit.fuse(qrels, as_runs(legs))
    weights = report.fusion.to_json()["weights"]
    assert report.helps
    assert weights["leg0"] > 2 * weights["leg1"]
    assert report.gain.interval[0] > 0
    assert report.to_json()["keep_default"] is False
    assert {row["system"] for row in report.rows} == {"default", "fused", "leg0", "leg1"}


def test_learned_weights_prefer_the_better_leg(skilled_legs):
    legs, qrels = skilled_legs(0)
    measured = Measured(Legs.from_runs(as_runs(legs)), Judgments.from_dict(qrels), "nDCG@10")
    family = default_space(measured.legs).default.family
    for weights in learned_weights(training_queries(measured, family), [np.array([0.5, 0.5])]):
        assert weights[0] > weights[1]


def test_copies_with_noise_keep_the_default_or_are_not_claimed(skilled_legs):
    claimed = 0
    for seed in range(12):
        legs, qrels = skilled_legs(seed, n_queries=20, strengths=(1.5, 1.5))
        claimed += tacit.fuse(qrels, as_runs(legs)).helps
    assert claimed <= 1


def test_the_choice_of_a_fold_does_not_see_its_judgments(skilled_legs):
    """Changing grades of held-out queries must not change what a training set chooses."""
    legs, qrels = skilled_legs(2, n_queries=20, strengths=(1.0, 1.2))
    train = np.arange(12)
    other = {
        q: ({d: 1 - g for d, g in grades.items()} if n >= 12 else grades) for n, (q, grades) in enumerate(qrels.items())
    }
    found = []
    for grades in (qrels, other):
        measured = Measured(Legs.from_runs(as_runs(legs)), Judgments.from_dict(grades), "nDCG@10")
        found.append(Chooser(measured, default_space(measured.legs)).choose(train))
    assert found[0] == found[1]


def test_few_judged_queries_keep_the_default_and_say_how_far_legs_agree(skilled_legs):
    legs, qrels = skilled_legs(0)
    report = tacit.fuse({q: qrels[q] for q in list(qrels)[:4]}, as_runs(legs))
    assert (report.helps, report.queries, report.fusion) == (False, 4, report.default)
    assert "at least 5 are needed" in report.text
    without = tacit.fuse(None, as_runs(legs))
    assert without.fusion == without.default
    five = tacit.fuse({q: qrels[q] for q in list(qrels)[:5]}, as_runs(legs))
    assert five.queries == 5
    assert not five.helps  # fewer than ten queries claim nothing
    assert "leg0, leg1" in five.agreement
    assert repr(without) == f"FuseReport({without.fusion.title!r}: {without.text})"
    assert "<td>leg0</td>" in five._repr_html_()


def test_the_same_seed_gives_the_same_report(skilled_legs):
    legs, qrels = skilled_legs(1)
    assert tacit.fuse(qrels, as_runs(legs), seed=3).to_json() == tacit.fuse(qrels, as_runs(legs), seed=3).to_json()


def test_sampled_judgments_with_probability_one_are_plain_ones_and_halves_stay_close(skilled_legs):
    legs, qrels = skilled_legs(0)
    plain = Judgments.from_dict(qrels)
    ones = Judgments(plain.query_ids, plain.doc_ids, plain.query, plain.doc, plain.grade, np.ones(len(plain)))
    found = [Measured(Legs.from_runs(as_runs(legs)), j, "nDCG@10").leg_values(0) for j in (plain, ones)]
    assert found[0] == pytest.approx(found[1])
    rng, values = np.random.default_rng(0), []
    for _ in range(30):
        kept = rng.random(len(plain)) < 0.5
        some = Judgments(plain.query_ids, plain.doc_ids, plain.query[kept], plain.doc[kept], plain.grade[kept],
                         np.full(kept.sum(), 0.5))  # fmt: skip
        measured = Measured(Legs.from_runs(as_runs(legs)), some, "nDCG@10")
        values.append(measured.leg_values(0).mean() - measured.leg_values(1).mean())
    true = (found[0] - Measured(Legs.from_runs(as_runs(legs)), plain, "nDCG@10").leg_values(1)).mean()
    assert np.mean(values) == pytest.approx(true, abs=0.15)  # a ratio is biased where few relevant ones are sampled
    with pytest.raises(UsageError, match="cannot be estimated"):
        Measured(Legs.from_runs(as_runs(legs)), some, "AP")


def test_mistakes_are_named(skilled_legs):
    legs, qrels = skilled_legs(0, n_queries=6)
    runs = as_runs(legs)
    with pytest.raises(DataError, match="none of the 1 judged queries is in the runs"):
        tacit.fuse({"other": {"d1": 1}}, runs)
    with pytest.raises(DataError, match="leg1: has no query in common|leg0: has no query in common"):
        tacit.fuse(qrels, {"leg0": runs["leg0"], "leg1": Run.from_dict({"x": {"d1": 1.0}})})
    with pytest.raises(DataError, match="no document in common"):
        tacit.fuse(qrels, {"leg0": runs["leg0"], "leg1": Run.from_dict({q: {"other": 1.0} for q in qrels})})
    with pytest.raises(UsageError, match="two runs have the name 'x'"):
        tacit.fuse(qrels, [Run.from_dict(legs["leg0"], "x"), Run.from_dict(legs["leg1"], "x")])
    with pytest.raises(UsageError, match="1 run, want 2 or more"):
        tacit.fuse(qrels, {"leg0": runs["leg0"]})
    with pytest.raises(TacitError, match="cannot be chosen by"):
        tacit.fuse(qrels, runs, measure="rank_loss")
    with pytest.raises(UsageError, match="engine"):
        tacit.fuse(qrels, runs, to="solr")
    with pytest.raises(UsageError, match="weaviate cannot express a fusion of 3 runs"):
        tacit.fuse(qrels, {**runs, "leg2": runs["leg0"]}, to="weaviate")
