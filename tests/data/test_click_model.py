"""Simulated users: clicks refine the shown ranking and never replace it by less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core import Lists
from tacit.data.click_model import estimate_clicks, estimate_counts
from tacit.data.clicks import Session

N_QUERIES, N_SHOWN = 40, 10


def simulate(user, n_sessions, seed, attraction=(0.1, 0.8)):
    """Sessions, and which documents are relevant (more often near the top), by (query, document)."""
    rng = np.random.default_rng(seed)
    relevant = rng.random((N_QUERIES, N_SHOWN)) < 0.6 / np.sqrt(np.arange(1, N_SHOWN + 1))
    sessions = []
    for line in range(n_sessions):
        query = int(rng.integers(N_QUERIES))
        clicked = user(np.where(relevant[query], attraction[1], attraction[0]), rng)
        shown = tuple(map(str, range(N_SHOWN)))
        sessions.append(Session(f"q{query}", shown, frozenset(map(str, clicked)), 1.0, line))
    return sessions, relevant


def by_position(attractive, rng):
    return [i for i, chance in enumerate(attractive) if rng.random() < chance / (i + 1)]


def by_cascade(attractive, rng):
    clicked = []
    for i, chance in enumerate(attractive):
        if rng.random() < chance:
            clicked.append(i)
            if rng.random() < 0.7:
                break
    return clicked


def ndcg(found, relevant):
    """Mean over queries of the log; (shown, by the model)."""
    discounts = 1 / np.log2(np.arange(2, N_SHOWN + 2))
    values = []
    for query in sorted(set(found.queries)):
        rows = np.array([row for row, other in enumerate(found.queries) if other == query])
        gains = relevant[int(query[1:])][[int(found.docs[row]) for row in rows]]
        if gains.any():
            ideal = np.sort(gains)[::-1] @ discounts
            order = np.argsort(-found.relevance[rows], kind="stable")
            values.append((gains @ discounts / ideal, gains[order] @ discounts / ideal))
    return np.array(values)


@pytest.mark.parametrize("user", [by_position, by_cascade])
@pytest.mark.parametrize(("n_sessions", "least"), [(50, -0.01), (400, 0.01), (4000, 0.07)])
def test_estimates_are_not_below_the_shown_order_and_gain_from_sessions(user, n_sessions, least):
    gains = []
    for seed in range(4):
        sessions, relevant = simulate(user, n_sessions, seed)
        shown, modelled = ndcg(estimate_clicks(sessions), relevant).T
        gains.append(np.mean(modelled - shown))
    assert np.mean(gains) > least


def test_random_clicks_leave_the_order_nearly_as_it_is():
    sessions, relevant = simulate(by_position, 3000, 0, attraction=(0.4, 0.4))
    found = estimate_clicks(sessions)
    shown, modelled = ndcg(found, relevant).T
    assert found.strength > 20
    assert abs(np.mean(modelled - shown)) < 0.01


def test_no_click_no_change_and_one_session_hardly_any():
    shown = tuple("abcdefghij")
    log = [Session("q", shown, frozenset("d"), 1.0, 1), Session("r", shown, frozenset(), 1.0, 2)]
    found = estimate_clicks(log)
    order = {q: [found.docs[r] for r in np.argsort(-found.relevance) if found.queries[r] == q] for q in "qr"}
    assert order["r"] == list(shown)
    assert abs(order["q"].index("d") - 3) <= 2
    better = found.preferences()
    agree = [w if a < b else -w for a, b, w in zip(better.better, better.worse, better.weights, strict=True)]
    assert sum(agree) > 0.9 * sum(map(abs, agree))  # skip-above alone would say the opposite


def test_unshown_rows_are_below_and_as_many_as_the_shown():
    names = ["a", "b", *(f"x{n}" for n in range(20))]
    lists = Lists(np.zeros((22, 1)), np.full(22, np.nan), np.array([0, 22]), ["q"], names)
    found = estimate_clicks([Session("q", ("a", "b"), frozenset("a"), 5.0, 1)])
    pairs, weights = found.rows(lists)
    worse = {row for row in pairs[:, 1].tolist() if row > 1}
    assert len(worse) == 2
    assert not (pairs[:, 0] > 1).any()
    assert ((weights > 0) & (weights <= 1)).all()
    assert len(found.within(["r"])) == 0


def test_counts_put_what_was_clicked_more_first():
    found = estimate_counts({("q", "a"): 1.0, ("q", "b"): 30.0, ("r", "a"): 2.0})
    told = found.preferences()
    assert list(zip(told.queries, told.better, told.worse, strict=True)) == [("q", "b", "a")]


@given(st.lists(st.tuples(st.permutations("abc"), st.sets(st.sampled_from("abc"))), min_size=1), st.floats(0.1, 1e6))
def test_any_log_has_finite_estimates(sessions, times):
    log = [Session("q", tuple(shown), frozenset(clicked), times, 1) for shown, clicked in sessions]
    found = estimate_clicks(log)
    assert (np.isfinite(found.relevance) & (found.relevance > 0)).all()
    weights = found.preferences().weights
    assert ((weights > 0) & (weights <= 1)).all()
