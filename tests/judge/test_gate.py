"""Decisions of the gate: worlds with one right answer, and the intervals behind them."""

import numpy as np
import pytest

from tacit.core import Judgments, Run, TacitError, UsageError
from tacit.judge.advise.verdict import cautious_interval
from tacit.judge.gate import gate
from tacit.metrics import evaluate
from tacit.metrics.confidence_sequences import confidence_sequence


def make(n, seed=0, loss=0.0, noise=0.3):
    """Judgments, an old run, and a new one that is worse by a shift of the relevant documents' scores."""
    rng = np.random.default_rng(seed)
    grades, old, new = {}, {}, {}
    for q in range(n):
        grade = (rng.random(20) < 0.3).astype(int)
        base = grade + rng.normal(scale=0.5, size=20)
        grades[f"q{q}"] = {f"d{d}": int(g) for d, g in enumerate(grade)}
        old[f"q{q}"] = {f"d{d}": float(s) for d, s in enumerate(base)}
        changed = base - loss * grade + noise * rng.normal(size=20)
        new[f"q{q}"] = {f"d{d}": float(s) for d, s in enumerate(changed)}
    return Judgments.from_dict(grades), Run.from_dict(old), Run.from_dict(new)


def test_decisions():
    assert gate(*make(60, loss=1.0)).decision == "worse"
    judgments, old, new = make(60, loss=1.0)
    assert gate(judgments, new, old).decision == "pass"
    unsure = gate(*make(20, loss=0.05))
    assert (unsure.decision, unsure.more_queries > 0) == ("cannot tell", True)
    assert [unsure.exit_code(), unsure.exit_code(strict=True)] == [0, 4]
    assert gate(judgments, old, old).reason == "no result changed"
    assert gate(*make(9, loss=3.0)).decision == "cannot tell"  # too few queries for the interval


def test_figures_are_those_of_evaluate():
    judgments, old, new = make(30, loss=0.4)
    found = gate(judgments, old, new, measure="AP", margin=0.02)
    before, after = (evaluate(judgments, run, "AP").values["AP"] for run in (old, new))
    assert found.means == pytest.approx((before.mean(), after.mean()))
    assert found.interval == cautious_interval(after - before)
    assert found.decision == ("worse" if found.interval[1] < -0.02 else "cannot tell")
    worst = max(range(30), key=lambda q: abs(after - before)[q])
    assert found.changed[0]["query"] == f"q{worst}"
    sequential = gate(judgments, old, new, measure="AP", sequential=True)
    assert sequential.interval == confidence_sequence(after - before, -1.0, 1.0)


def test_equal_systems_are_seldom_called_worse():
    """Two systems with noise of their own, margin 0: at most 2.5 % of the decisions may be "worse"."""
    rng, wrong = np.random.default_rng(0), 0
    for seed in range(60):
        judgments, old, _ = make(25, seed=seed)
        new = {q: {d: grade + float(rng.normal(scale=0.5)) for d, grade in found.items()}
               for q, found in judgments.to_dict().items()}  # fmt: skip
        wrong += gate(judgments, old, Run.from_dict(new), margin=0.0).decision == "worse"
    assert wrong <= 4


def test_mistakes_are_named():
    judgments, old, new = make(12)
    with pytest.raises(TacitError, match="the new run has results for none of the judged queries: .*'x'"):
        gate(judgments, old, Run.from_dict({"x": {"d1": 1.0}}))
    with pytest.raises(TacitError, match="margin"):
        gate(judgments, old, new, margin=-1)
    for measure in ("rank_loss", "DCG@10", "Judged@10"):
        with pytest.raises(UsageError, match="cannot gate by"):
            gate(judgments, old, new, measure=measure)


def test_sampled_judgments_are_estimated():
    judgments, old, new = make(20, loss=1.0)
    chances = np.full(len(judgments), 0.5)
    sampled = Judgments(
        judgments.query_ids, judgments.doc_ids, judgments.query, judgments.doc, judgments.grade, chances
    )
    found = gate(sampled, old, new)
    assert found.judged is None
    assert found.difference < 0
    with pytest.raises(UsageError, match="sampled"):
        gate(sampled, old, new, measure="AP")
