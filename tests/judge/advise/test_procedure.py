"""Nested cross-validation: nothing that is chosen or learned has seen the query it is measured on."""

import time

import numpy as np
import pytest

from tacit.core import TacitError, track
from tacit.judge.advise.advice import Roles, make_advice
from tacit.judge.advise.procedure import CrossValidation, make_folds
from tacit.judge.advise.report import table_rows
from tacit.judge.advise.verdict import ClaimRule, Gain, gain_of, widen_interval


class Fixed:
    """A system with known values by query."""

    learns = False

    def __init__(self, name, values):
        self.name, self.table = name, np.asarray(values, float)

    def values(self, train, test):
        return {"AP": self.table[test], "Judged@10": np.ones(len(test)), "AP-judged": self.table[test]}


class Learned(Fixed):
    """A system whose values grow with the number of training queries, and which must never be tested on these."""

    learns = True

    def __init__(self, name, values, slope=0.0):
        super().__init__(name, values)
        self.slope, self.seen = slope, []

    def values(self, train, test):
        assert not set(train.tolist()) & set(test.tolist())
        self.seen.append((tuple(train.tolist()), tuple(test.tolist())))
        found = np.minimum(self.table[test] + self.slope * len(train), 1)
        return {"AP": found, "Judged@10": np.ones(len(test)), "AP-judged": found}


def test_folds_are_even_and_keep_groups_together():
    fold_of = make_folds(23, 5, seed=1)
    assert sorted(np.bincount(fold_of).tolist()) == [4, 4, 5, 5, 5]
    groups = ["a"] * 6 + ["b"] * 3 + list(range(14))
    fold_of = make_folds(23, 5, seed=1, groups=groups)
    assert len(set(fold_of[:6])) == 1
    assert len(set(fold_of[6:9])) == 1
    assert np.bincount(fold_of).max() <= 6
    with pytest.raises(TacitError, match="cannot be split into 5 folds"):
        make_folds(8, 5, seed=0, groups=["a"] * 6 + ["b", "c"])


def test_every_query_is_measured_once_and_never_learned_from():
    learned = Learned("learned", np.zeros(20), slope=0.01)
    validation = CrossValidation([Fixed("base", np.zeros(20)), learned], 20, "AP")
    values = validation.values(learned)["AP"]
    assert values == pytest.approx(np.full(20, 0.16))  # 16 training queries each
    tested = [query for _, test in learned.seen for query in test]
    assert sorted(tested) == list(range(20))


def test_the_choice_is_made_without_the_test_fold():
    rng = np.random.default_rng(0)
    candidates = [Fixed(str(n), rng.random(30)) for n in range(6)]
    validation = CrossValidation(candidates, 30, "AP")
    values, names = validation.chosen()
    for fold, name in enumerate(names):
        train, test = np.flatnonzero(validation.fold_of != fold), np.flatnonzero(validation.fold_of == fold)
        best = max(candidates, key=lambda candidate: candidate.table[train].mean())
        assert name == best.name
        assert np.array_equal(values["AP"][test], best.table[test])


def advice_of(base, free, learned, *, simpler=None, sequential=False, **more):
    candidates, roles = [Fixed("bm25", base), free, learned], Roles(free, learned, simpler=simpler)
    rule = ClaimRule("AP", has_zeros=False, sequential=sequential)
    return make_advice(candidates, roles, rule, n_queries=len(base), **more)


def test_a_clear_gain_is_claimed_and_a_gain_of_labels_is_a_claim_of_its_own():
    rng = np.random.default_rng(1)
    base = rng.uniform(0.1, 0.5, 60)
    free = Fixed("blend", base + 0.05 + rng.normal(0, 0.02, 60))
    found = advice_of(base, free, Learned("learned", free.table))
    assert (found.recommended.help, found.labels.help) == (True, False)
    assert found.recommended.gain == pytest.approx(0.05, abs=0.02)
    assert found.text.startswith("Use blend: AP +0.0")
    assert "made no measurable difference" in found.text
    better = advice_of(base, free, Learned("learned", free.table, slope=0.002))
    assert better.labels.help
    assert (better.system, better.labels.gain) == ("learned", pytest.approx(0.096))
    assert "Learning helps: your 60 judged queries add" in better.text
    assert [point["queries"] for point in better.curve] == [0, 5, 10, 20, 40, 48]
    assert np.diff([point["mean"] for point in better.curve]).min() > 0


def test_few_queries_make_no_claim():
    base = np.linspace(0.1, 0.5, 6)
    found = advice_of(base, Fixed("blend", base + 0.3), Learned("learned", base + 0.3))
    assert not found.recommended.help
    assert "fewer than 10 queries" in found.text


def test_noise_is_hardly_ever_claimed():
    rng, n_claims = np.random.default_rng(2), 0
    for _ in range(200):
        tables = rng.beta(1, 3, (6, 40))
        systems = [Fixed(str(n), table) for n, table in enumerate(tables)]
        validation = CrossValidation(systems, 40, "AP", seed=int(rng.integers(1000)))
        n_claims += gain_of(tables[0], validation.chosen()[0]["AP"]).help
    assert n_claims <= 13  # 5 % of 200, and two standard deviations of chance


def test_the_interval_contains_that_of_the_system_where_folds_choose_differently():
    """A fold of high gains leaves low ones to the part that chooses: folds of low gains choose the better system."""
    base, fold_of = np.full(30, 0.5), make_folds(30, 5, seed=0)
    free = Fixed("blend", base + np.where(fold_of < 2, 0.3, -0.18))
    procedure, names = CrossValidation([Fixed("bm25", base), free], 30, "AP").chosen()
    assert names == ["bm25", "bm25", "blend", "blend", "blend"]
    alone, chosen = gain_of(base, free.table), gain_of(base, procedure["AP"])
    assert chosen.interval[1] < 0 < alone.gain
    found = advice_of(base, free, free)
    assert (found.system, found.recommended.help) == ("blend", False)
    assert found.recommended.gain == chosen.gain
    assert found.recommended.interval == (chosen.interval[0], alone.interval[1])


def test_a_claim_needs_the_wider_interval():
    shown = Gain(True, 0.05, (0.01, 0.09), 0.01)
    found = widen_interval(shown, Gain(False, 0.02, (-0.02, 0.06), 0.3, "noise"))
    assert (found.help, found.interval, found.gain) == (False, (-0.02, 0.09), 0.05)
    assert found.reason
    assert widen_interval(shown, shown) == shown


def test_a_sequential_claim_does_not_depend_on_the_order_of_queries():
    """Sorted by topic, the first queries gain much and the last ones lose as much: no gain at all."""
    base = np.full(160, 0.5)
    gains = np.repeat([0.4, -0.4], 80)
    found = {
        gain_of(base, base + order, sequential=True)
        for order in (gains, gains[::-1], np.random.default_rng(0).permutation(gains))
    }
    assert len({gain.interval for gain in found}) == 1
    assert not any(gain.help for gain in found)
    assert gain_of(base[:80], base[:80] + gains[:80], sequential=True).help


class Slow(Learned):
    """A system whose fits take seconds and tell their progress, or half a second and tell nothing."""

    def __init__(self, name, values, *, tells):
        super().__init__(name, values)
        self.tells = tells

    def values(self, train, test):
        for _ in track(range(100), "fit") if self.tells else range(10):
            time.sleep(0.05)
        return super().values(train, test)


@pytest.mark.parametrize("tells", [True, False])
def test_what_does_not_end_in_time_is_left_out_after_one_fit(tells):
    base = np.linspace(0.2, 0.6, 20)
    free, slow = Fixed("blend", base + 0.1), Slow("slow", base + 0.3, tells=tells)
    found = advice_of(base, free, slow, simpler=Learned("simple", base + 0.2), seconds_left=lambda: 3.0)
    assert len(slow.seen) == (0 if tells else 1)
    assert [row["system"] for row in found.rows] == ["bm25", "blend", "simple"]
    assert (found.left_out, found.to_json()["left_out"]) == (("slow",), ["slow"])
    assert (found.system, found.labels.gain) == ("simple", pytest.approx(0.1))
    assert "Left out for lack of time: slow." in found.text
    assert table_rows(found)[1][-1][:2] == ["slow", "not enough time"]


def test_without_time_for_any_learned_system_nothing_is_said_of_labels():
    base = np.linspace(0.2, 0.6, 20)
    free = Fixed("blend", base + 0.1)
    found = advice_of(base, free, Learned("learned", base + 0.3), seconds_left=lambda: -1.0)
    assert (found.system, found.left_out) == ("blend", ("learned",))
    assert found.recommended.help
    assert (found.labels.help, found.labels.interval) == (False, (-1.0, 1.0))
    assert "The effect of your 20 judged queries is not known: there was not enough time to measure it." in found.text
    assert [point["queries"] for point in found.curve] == [0]


class Pooled(Fixed):
    """A system of which more answers are judged than of the baseline."""

    def values(self, train, test):
        found = super().values(train, test)
        return found | {"Judged@10": np.full(len(test), 1.0), "AP-judged": np.full(len(test), 0.3)}


def test_a_gain_that_more_judged_answers_could_explain_is_not_claimed():
    base = np.full(40, 0.3)

    class Base(Fixed):
        def values(self, train, test):
            return super().values(train, test) | {"Judged@10": np.full(len(test), 0.5)}

    free = Pooled("blend", base + 0.1)
    candidates = [Base("bm25", base), free]
    shown, held_back = (
        make_advice(candidates, Roles(free, free), ClaimRule("AP", has_zeros), n_queries=40).recommended
        for has_zeros in (False, True)
    )
    assert (shown.help, held_back.help) == (True, False)
    assert "more of its first ten results are judged (+0.50)" in held_back.reason


def test_nothing_more_is_to_be_judged_where_judgments_do_harm():
    rng = np.random.default_rng(3)
    base = rng.uniform(0.4, 0.6, 40)
    free, noise = Fixed("blend", base + 0.1), rng.normal(0, 0.15, 40)
    found = advice_of(base, free, Learned("learned", free.table - 0.3 + noise))
    assert "Do not learn from your 40 judged queries" in found.text
    assert "more would show" not in found.text
    assert "more would show" in advice_of(base, free, Learned("learned", free.table + noise - noise.mean())).text


def test_the_gain_of_the_system_alone_is_told_where_folds_choose_others():
    rng = np.random.default_rng(0)
    base, free = rng.random(30), rng.random(30)
    found = advice_of(base, Fixed("blend", free), Learned("learned", rng.random(30)))
    own = next(row for row in found.rows if row["system"] == found.system)["against_baseline"]["AP"]["gain"]
    assert own != pytest.approx(found.recommended.gain, abs=1e-3)
    assert f"when tacit picks a system in each fold; {found.system} alone has {own:+.3f}." in found.text
    same = advice_of(base, Fixed("blend", base + 0.2), Learned("learned", base))
    assert "from fold to fold" not in same.text


def test_rows_of_a_sequential_advice_have_sequential_intervals():
    rng = np.random.default_rng(1)
    base = rng.uniform(0.1, 0.5, 60)
    free = Fixed("blend", base + 0.05 + rng.normal(0, 0.02, 60))
    found = advice_of(base, free, Learned("learned", base), sequential=True)
    row = next(row for row in found.rows if row["system"] == "blend")
    assert row["against_baseline"]["AP"]["interval"] == list(gain_of(base, free.table, sequential=True).interval)
    assert "The intervals are valid at every look; p-values are for this sample only" in found.text
