"""Estimates from sampled judgments: exact where everything is judged, unbiased and covering where it is not."""

import numpy as np
import pytest

from tacit.core import Judgments, Run, TacitError, UsageError
from tacit.metrics import covered, estimate, evaluate, is_sampled

MEASURES = ["P@5", "DCG@5", "P(rel=2)@5", "AP", "nDCG@5", "nDCG", "AP@5"]


def world(seed, n_queries=8, n_docs=12):
    """A run and grades that fall with rank, every pair graded."""
    rng = np.random.default_rng(seed)
    scores = {f"q{q}": {f"d{d}": float(v) for d, v in enumerate(rng.normal(size=n_docs))} for q in range(n_queries)}
    grades = {
        q: {d: float(np.clip(np.round(v + rng.normal()), 0, 2)) for d, v in docs.items()} for q, docs in scores.items()
    }
    return Run.from_dict(scores), grades


def sampled(grades, probability_of):
    """Judgments of all pairs for which the function gives a probability."""
    judged = Judgments.from_dict(grades)
    pairs = zip(judged.query, judged.doc, strict=True)
    chance = np.array([probability_of(judged.query_ids[q], judged.doc_ids[d]) or np.nan for q, d in pairs])
    kept = ~np.isnan(chance)
    full = Judgments(judged.query_ids, judged.doc_ids, judged.query, judged.doc, judged.grade, chance)
    return full.select(np.ones(len(judged.query_ids), bool), kept)


@pytest.mark.parametrize("assisted", [True, False])
def test_a_pool_that_is_judged_fully_is_measured_exactly(assisted):
    run, grades = world(0)
    judgments = sampled(grades, lambda *_: 1.0)
    expected = evaluate(judgments, run, MEASURES).means()
    found = estimate(judgments, run, MEASURES, assisted=assisted)
    for measure in MEASURES:
        assert found[measure].value == pytest.approx(expected[measure], abs=1e-12)
    assert found["P@5"].low == found["P@5"].high == found["P@5"].value
    assert not is_sampled(judgments)
    assert covered(judgments, run, 5) == (1.0, 0.0)


def draw(run, grades, rng, n_top=16, n_rest=10):
    """Two strata, the first five ranks and the others, with simple random samples of them."""
    strata = {True: [], False: []}
    for query, docs in run.to_dict().items():
        for place, doc in enumerate(sorted(docs, key=docs.get, reverse=True)):
            strata[place < 5].append((query, doc))
    chance = {}
    for top, n in ((True, n_top), (False, n_rest)):
        for row in rng.choice(len(strata[top]), n, replace=False):
            chance[strata[top][row]] = n / len(strata[top])
    return sampled(grades, lambda query, doc: chance.get((query, doc)))


@pytest.mark.parametrize("assisted", [True, False])
def test_sums_are_unbiased_and_their_intervals_cover(assisted):
    run, grades = world(1, n_queries=20)
    truth = evaluate(Judgments.from_dict(grades), run, ["P@5", "DCG@5"]).means()
    rng, values, hits, errors = np.random.default_rng(2), [], [], []
    for _ in range(300):
        found = estimate(draw(run, grades, rng, 40, 20), run, ["P@5", "DCG@5"], assisted=assisted)
        values.append([found[m].value for m in truth])
        hits.append([found[m].low <= truth[m] <= found[m].high for m in truth])
        errors.append([found[m].standard_error for m in truth])
    spread = np.std(values, axis=0)
    bias = np.mean(values, axis=0) - list(truth.values())
    assert (np.abs(bias) < 4 * spread / np.sqrt(300)).all()
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.12)
    assert (np.mean(hits, axis=0) > 0.92).all()


def test_without_prediction_it_is_hajeks_estimator():
    run, grades = world(3)
    judgments = draw(run, grades, np.random.default_rng(0))
    top = {q: sorted(docs, key=docs.get, reverse=True)[:5] for q, docs in run.to_dict().items()}
    chance = {
        (judgments.query_ids[q], judgments.doc_ids[d]): p
        for q, d, p in zip(judgments.query, judgments.doc, judgments.probability, strict=True)
    }
    weights = [(1 / chance[q, d], grades[q][d] >= 1) for q in top for d in top[q] if (q, d) in chance]
    expected = sum(w * y for w, y in weights) / sum(w for w, _ in weights)
    assert estimate(judgments, run, "P@5", assisted=False)["P@5"].value == pytest.approx(expected)


def test_predictions_narrow_the_interval_where_scores_tell_the_grade():
    rng = np.random.default_rng(0)
    scores = {f"q{q}": {f"d{d}": float(v) for d, v in enumerate(rng.normal(size=12))} for q in range(30)}
    grades = {q: {d: max(0.0, 2 + v) for d, v in docs.items()} for q, docs in scores.items()}
    run = Run.from_dict(scores)
    judgments = draw(run, grades, rng, 40, 20)
    plain, assisted = (estimate(judgments, run, "DCG@5", assisted=how)["DCG@5"] for how in (False, True))
    truth = evaluate(Judgments.from_dict(grades), run, "DCG@5").means()["DCG@5"]
    assert assisted.high - assisted.low < 0.65 * (plain.high - plain.low)
    assert assisted.low <= truth <= assisted.high


def test_queries_that_nobody_judged_count():
    run = Run.from_dict({"a": {"x": 2.0, "y": 1.0}, "b": {"x": 2.0, "y": 1.0}, "c": {"x": 1.0}})
    columns = np.array([0, 0]), np.array([0, 1]), np.array([1.0, 1.0]), np.array([0.5, 0.5])
    judgments = Judgments(["a", "gone"], ["x", "y"], *columns)
    assert is_sampled(judgments)
    found = estimate(judgments, run, "P@2", assisted=False)["P@2"]
    assert found.value == pytest.approx(5 / 8), "five ranked pairs, all taken to be relevant, over four queries"


def test_nothing_relevant_among_few_is_no_proof_of_nothing():
    run, grades = world(5)
    judgments = draw(run, {q: dict.fromkeys(docs, 0.0) for q, docs in grades.items()}, np.random.default_rng(0))
    found = estimate(judgments, run, ["P@5", "DCG@5"])
    for estimated in found.values():
        assert estimated.value == estimated.low == 0
        assert 0.05 < estimated.high < 1.5


def test_pairs_without_a_probability_are_not_used():
    run, grades = world(6)
    judgments = draw(run, grades, np.random.default_rng(0))
    known = judgments.to_dict()
    more = {q: {**known[q], **{d: 2.0 for d in docs if d not in known[q]}} for q, docs in grades.items()}
    chance = {
        (judgments.query_ids[q], judgments.doc_ids[d]): p
        for q, d, p in zip(judgments.query, judgments.doc, judgments.probability, strict=True)
    }
    full = Judgments.from_dict(more)
    pairs = zip(full.query, full.doc, strict=True)
    column = np.array([chance.get((full.query_ids[q], full.doc_ids[d]), np.nan) for q, d in pairs])
    mixed = Judgments(full.query_ids, full.doc_ids, full.query, full.doc, full.grade, column)
    assert estimate(mixed, run, "DCG@5")["DCG@5"] == pytest.approx(estimate(judgments, run, "DCG@5")["DCG@5"])


def test_a_run_outside_the_pool_is_noticed():
    run, grades = world(7)
    judgments = draw(run, grades, np.random.default_rng(0), 40, 20)
    other = Run.from_dict({q: {f"new{d}": float(-d) for d in range(9)} for q in grades})
    assert covered(judgments, run, 5)[0] == pytest.approx(1)
    assert covered(judgments, other, 5) == (0.0, 0.0)
    with pytest.raises(TacitError, match="no document used by P@5"):
        estimate(judgments, other, "P@5")


@pytest.mark.parametrize("measure", ["RR", "Judged@5", "AUC", "AP-judged"])
def test_other_measures_are_refused(measure):
    run, grades = world(8)
    with pytest.raises(UsageError, match="cannot be estimated from sampled judgments"):
        estimate(sampled(grades, lambda *_: 0.5), run, measure)


def test_judgments_without_probabilities_are_refused():
    run, grades = world(9)
    with pytest.raises(TacitError, match="no judgment has a probability"):
        estimate(Judgments.from_dict(grades), run, "P@5")


def test_dcg_is_ndcg_times_that_of_the_best_order():
    run, grades = world(10)
    judgments = Judgments.from_dict(grades)
    best = Run.from_dict(grades)
    values = evaluate(judgments, run, ["DCG@5", "nDCG@5"]).values
    np.testing.assert_allclose(values["DCG@5"], values["nDCG@5"] * evaluate(judgments, best, "DCG@5").values["DCG@5"])
