"""Samples that decide between systems: known probabilities, unbiased estimates, nothing that all agree on."""

import numpy as np
import pytest

from tacit.core import Run, TacitError
from tacit.judge.across import draw_across


@pytest.fixture
def runs():
    rng = np.random.default_rng(0)
    base = {f"q{q}": {f"d{d}": float(-d) for d in range(30)} for q in range(8)}
    other = {q: {d: s + float(rng.normal(scale=4)) for d, s in found.items()} for q, found in base.items()}
    return {"a": Run.from_dict(base), "b": Run.from_dict(other)}


def discounts(run, depth=10):
    found = {}
    for q, scores in run.to_dict().items():
        for rank, d in enumerate(sorted(scores, key=lambda d: -scores[d]), 1):
            found[q, d] = 1 / np.log2(rank + 1) if rank <= depth else 0.0
    return found


def test_what_all_runs_agree_on_is_not_asked(runs):
    a, b = discounts(runs["a"]), discounts(runs["b"])
    asked = {(pair.query, pair.document) for pair in draw_across(runs, 10_000)}
    assert asked == {pair for pair in a if a[pair] != b[pair]}
    assert len(draw_across(runs, 10_000, purpose="measuring")) == len(a)
    with pytest.raises(TacitError, match="nothing to decide"):
        draw_across({"a": runs["a"], "b": runs["a"]}, 5)


def test_estimates_of_the_difference_are_unbiased(runs):
    """Horvitz-Thompson over the sample gives the true difference of DCG, on average over seeds."""
    a, b = discounts(runs["a"]), discounts(runs["b"])
    rng = np.random.default_rng(1)
    grade = {pair: int(rng.integers(0, 3)) for pair in a}
    true = sum(grade[pair] * (b[pair] - a[pair]) for pair in a)
    for purpose in ("choosing", "measuring"):
        found = []
        for seed in range(300):
            sample = draw_across(runs, 40, purpose=purpose, seed=seed)
            assert len(sample) == 40
            pairs = [((p.query, p.document), p.probability) for p in sample]
            found.append(sum(grade[pair] * (b[pair] - a[pair]) / chance for pair, chance in pairs))
        assert np.mean(found) == pytest.approx(true, abs=4 * np.std(found) / np.sqrt(len(found)))
        if purpose == "choosing":
            spread = np.std(found)
    assert spread < np.std(found)  # it decides sooner than a sample for measuring


def test_a_larger_sample_contains_the_smaller_and_judged_pairs_do_not_count(runs):
    small, large = ({(p.query, p.document) for p in draw_across(runs, n)} for n in (20, 40))
    assert small < large
    again = draw_across(runs, 20, judged=small)
    assert len([p for p in again if (p.query, p.document) not in small]) == 20
