"""What to judge next: each strategy does what it says, and nothing that is judged is suggested."""

from dataclasses import replace

import numpy as np
import pytest

from tacit.core import Collection, Lists, Run, TacitError, UsageError
from tacit.judge import JudgmentStore, Pool, choose_pairs, what_to_judge
from tacit.judge.choose import _Gain
from tacit.judge.pool import list_quantiles
from tacit.rerank import StandingRanker
from tacit.search import Searcher

STRATEGIES = ("gain", "strata", "random")


def make_lists(n_lists=8, n_rows=12, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * n_rows, n_features))
    return Lists(
        X,
        np.full(len(X), np.nan),
        np.arange(n_lists + 1) * n_rows,
        [f"q{number}" for number in range(n_lists)],
        [f"d{row}" for row in range(len(X))],
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_pair_is_suggested_once_and_none_that_is_judged(strategy):
    pool = Pool.from_lists(make_lists())
    judged = {("q0", "d3"), ("q5", "d70"), ("q1", "nobody")}
    chosen = choose_pairs(pool, 1000, judged=judged, strategy=strategy)
    assert len({pair[:2] for pair in chosen}) == len(chosen) == 96 - 2
    assert not {pair[:2] for pair in chosen} & judged
    assert choose_pairs(pool, 5, judged=judged, strategy=strategy) == chosen[:5]
    assert choose_pairs(pool, 5, judged=judged, strategy=strategy, seed=1) != chosen[:5]


@pytest.mark.parametrize(
    ("strategy", "features", "n_first"), [("gain", True, 20), ("strata", True, 20), ("strata", False, 0)]
)
def test_the_first_pairs_of_lists_and_a_stated_share_are_random(strategy, features, n_first):
    pool = Pool.from_lists(make_lists(40))
    pool = pool if features else replace(pool, columns=None)
    for share, wanted in ((0, 0), (0.2, 0.2), (1, 1)):
        chosen = choose_pairs(pool, 200, strategy=strategy, random_share=share)
        by_chance = [pair.why == "random" for pair in chosen]
        assert all(by_chance[:n_first])
        assert np.mean(by_chance[n_first:]) == pytest.approx(wanted, abs=0.09 * (share == 0.2))
    judged = {pair[:2] for pair in choose_pairs(pool, 20, strategy="random")}
    assert choose_pairs(pool, 1, judged=judged, strategy=strategy, random_share=0)[0].why == strategy


@pytest.mark.parametrize(("n_rows", "strategy"), [(12, "gain"), (49, "gain"), (50, "strata")])
def test_the_default_depends_on_the_length_of_lists(n_rows, strategy):
    pool = Pool.from_lists(make_lists(3, n_rows))
    assert choose_pairs(pool, 25, random_share=0)[-1].why == strategy
    assert choose_pairs(replace(pool, columns=None), 1, random_share=0)[0].why == "strata"


def test_gain_looks_at_the_top_of_lists_most():
    pool = Pool.from_lists(make_lists())
    weights = [1 / np.log2(1 + rank) for rank in pool.rank]
    target = sum(weight * np.outer(z, z) for weight, z in zip(weights, pool.columns, strict=True)) / sum(weights)
    np.testing.assert_allclose(_Gain(pool, np.empty(0, np.int64)).target, target)


def test_strata_take_three_ranks_of_each_query_before_any_query_comes_again():
    run = Run.from_dict({f"q{q}": {f"d{d}": float(-d) for d in range(60)} for q in range(9)})
    chosen = choose_pairs(Pool.from_run(run, 60), 27, strategy="strata", random_share=0)
    for query in range(9):
        ranks = [pair.rank for pair in chosen if pair.query == f"q{query}"]
        assert len(ranks) == 3
        assert 1 <= ranks[0] < 4 <= ranks[1] < 15 <= ranks[2] <= 60, "thirds of the logarithm of 61"


def test_strata_begin_with_queries_that_differ():
    run = Run.from_dict({f"q{q}": {f"d{d}": float(-d) for d in range(9)} for q in range(6)})
    vectors = np.repeat(np.eye(3), 2, axis=0) + 0.01
    chosen = choose_pairs(Pool.from_run(run, 9, vectors), 9, strategy="strata", random_share=0)
    first = list(dict.fromkeys(int(pair.query[1:]) // 2 for pair in chosen))
    assert sorted(first) == [0, 1, 2], "one query of each kind"


def test_judged_queries_come_last():
    run = Run.from_dict({f"q{q}": {f"d{d}": float(-d) for d in range(9)} for q in range(3)})
    judged = {("q0", f"d{d}") for d in range(3)}
    chosen = choose_pairs(Pool.from_run(run, 9), 6, judged=judged, strategy="strata", random_share=0)
    assert {pair.query for pair in chosen} == {"q1", "q2"}


def test_gain_is_the_fall_of_the_mean_variance_of_scores():
    pool = Pool.from_lists(make_lists())
    state = _Gain(pool, np.array([3, 50]))
    before = np.trace(state.covariance @ state.target)
    row = 17
    z = pool.columns[row]
    noise = 5 + 2.25 / (1 + state.n_judged[pool.query[row]])
    along = state.covariance @ z
    expected = along @ state.target @ along / (noise + z @ along)
    state.add(row)
    assert before - np.trace(state.covariance @ state.target) == pytest.approx(expected)
    precision = np.linalg.inv(_Gain(pool, np.array([], int)).covariance)
    for judged, m in ((3, 1), (50, 1), (17, 1 + (pool.query[17] in pool.query[[3, 50]]))):
        precision += np.outer(pool.columns[judged], pool.columns[judged]) / (5 + 2.25 / m)
    np.testing.assert_allclose(state.covariance, np.linalg.inv(precision), rtol=1e-9)


def test_gain_prefers_telling_rows_to_average_ones():
    lists = make_lists(30, 20)
    pool = Pool.from_lists(lists)
    chosen = choose_pairs(pool, 60, strategy="gain", random_share=0)
    row_of = {pair: row for row, pair in enumerate(zip(pool.query.tolist(), pool.doc_ids, strict=True))}
    rows = [row_of[int(pair.query[1:]), pair.document] for pair in chosen]
    size = (pool.columns**2).sum(axis=1)
    assert size[rows].mean() > 1.2 * size.mean()


def test_quantiles_of_lists():
    lists = Lists(np.array([[3.0], [1], [2], [5], [5]]), np.zeros(5), np.array([0, 3, 5]), ["a", "b"], [""] * 5)
    assert list_quantiles(lists)[:, 0].tolist() == [0.5, -0.5, 0, 0, 0]
    pool = Pool.from_lists(lists)
    assert pool.doc_ids[:3] == ["a-1", "a-3", "a-2"]
    assert pool.rank.tolist() == [1, 2, 3, 1, 2]
    assert pool.columns[:3, 0].tolist() == [0.5, 0, -0.5]


@pytest.fixture
def searcher():
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    texts = [" ".join(words[(row + step) % 8] for step in range(4)) for row in range(30)]
    return Searcher("bm25").fit(Collection([f"d{n}" for n in range(30)], [""] * 30, texts))


@pytest.fixture
def queries():
    return Collection(["q1", "q2", "q3"], [""] * 3, ["alpha beta", "zeta eta", "theta"])


@pytest.mark.parametrize("purpose", ["training", "measuring"])
def test_a_searcher_is_asked_until_nothing_is_left(searcher, queries, purpose, tmp_path):
    with JudgmentStore(tmp_path / "s") as store:
        n_judged = 0
        while chosen := what_to_judge(searcher, queries, 7, purpose=purpose, store=store, depth=10):
            for pair in chosen:
                store.record(pair.query, pair.document, 1, "ann", probability=pair.probability)
            n_judged += len(chosen)
        assert n_judged == len({(j.query, j.document) for j in store.current()}) == 30
        if purpose == "measuring":
            assert {j.probability for j in store.current()} == {1.0}, "all of the pool is judged now"
        assert store.queries().texts == [queries.texts[queries.row_of[name]] for name in store.queries().ids]


def test_a_second_sample_gives_judged_pairs_their_new_probability(searcher, queries, tmp_path):
    with JudgmentStore(tmp_path / "s") as store:
        for pair in what_to_judge(searcher, queries, 6, purpose="measuring", store=store, depth=10):
            store.record(pair.query, pair.document, 1, "ann", probability=pair.probability)
        before = {(j.query, j.document): j.probability for j in store.current()}
        what_to_judge(searcher, queries, 6, purpose="measuring", store=store, depth=10)
        after = {(j.query, j.document): j.probability for j in store.current()}
        assert before.keys() == after.keys()
        assert all(after[pair] > before[pair] for pair in before)


def test_programs_do_not_count_as_judges_unless_named(searcher, queries, tmp_path):
    with JudgmentStore(tmp_path / "s") as store:
        everything = what_to_judge(searcher, queries, 100, depth=10)
        for pair in everything:
            store.add_queries(queries)
            store.record(pair.query, pair.document, 1, "llm", kind="program")
        assert len(what_to_judge(searcher, queries, 100, store=store, depth=10)) == 30
        assert what_to_judge(searcher, queries, 100, store=store, judge="llm", depth=10) == []


def test_lists_with_and_without_a_ranker():
    lists = make_lists()
    lists.y[:4] = [1, 0, 2, 0]
    ranker = StandingRanker().fit(lists.X, lists.y, lists.qid)
    for model in (ranker, None):
        chosen = what_to_judge(model, lists, 100)
        assert len(chosen) == 92
        assert {pair.why for pair in chosen} == {"gain", "random"}
    assert len(what_to_judge(ranker, lists, 10, purpose="measuring")) == 10
    with pytest.raises(TacitError, match="no ranker to measure"):
        what_to_judge(None, lists, 10, purpose="measuring")


def test_mistakes(searcher, queries):
    with pytest.raises(UsageError, match="purpose is 'fun'"):
        what_to_judge(searcher, queries, purpose="fun")
    with pytest.raises(UsageError, match="strategy is 'best'"):
        what_to_judge(searcher, queries, strategy="best")
    with pytest.raises(TacitError, match="needs features of the pairs"):
        what_to_judge(searcher, queries, strategy="gain")
    with pytest.raises(TacitError, match="n is 0"):
        what_to_judge(searcher, queries, 0)
    with pytest.raises(TacitError, match="the model is a searcher"):
        what_to_judge(searcher, make_lists())
    with pytest.raises(TacitError, match="which ranks feature lists"):
        what_to_judge(StandingRanker(), queries)
