"""What surrounds the formulas: which queries count, rows without ids, means and their uncertainty."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Judgments, Lists, Run, TacitError, UsageError
from tacit.metrics import Evaluation, evaluate, evaluate_rows, standard_error
from tacit.metrics.evaluation import resampled_means

SEEDS = st.integers(0, 2**32 - 1)
SOME = ["AP", "AP-judged", "nDCG@4", "nDCG-letor@3", "P@2", "R(rel=2)@3", "RR", "Judged@2", "AUC", "rank_loss"]


def test_measures_need_not_be_named():
    from tacit.app.evaluation.evaluate import DEFAULT_MEASURES

    found = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})
    assert tuple(found.values) == DEFAULT_MEASURES
    assert found.means()["RR"] == 0.5


def test_counts_queries_that_are_missing_ignored_or_without_a_relevant_document():
    judgments = Judgments.from_dict({"q1": {"a": 1}, "q2": {"a": 0}, "q3": {"b": 2}, "q4": {"b": -1}})
    run = Run.from_dict({"q1": {"a": 1.0}, "q8": {"a": 1.0}, "q9": {"a": 1.0, "b": 0.0}, "q2": {"a": 1.0}})
    result = evaluate(judgments, run, "AP")
    assert (result.n_missing, result.n_ignored, result.n_without_relevant) == (2, 2, 2)
    assert result.query_ids == ["q1", "q2", "q3", "q4"]
    assert result.values["AP"].tolist() == [1, 0, 0, 0]


def test_an_empty_run_counts_as_the_worst():
    empty = Run.from_dict({})
    result = evaluate(Judgments.from_dict({"q": {"a": 1, "b": 0}}), empty, ["AP", "Judged@5", "AUC", "rank_loss"])
    assert result.means() == {"AP": 0, "Judged@5": 0, "AUC": 0, "rank_loss": 1}
    assert result.n_missing == 1


def test_a_document_twice_is_refused_by_name():
    twice = {"query": np.zeros(2, int), "doc": np.zeros(2, int)}
    judgments = Judgments(["q"], ["a"], grade=np.ones(2), **twice)
    once = Judgments.from_dict({"q": {"a": 1}})
    run = Run(["q"], ["a"], score=np.ones(2), **twice)
    with pytest.raises(TacitError, match="query 'q' has document 'a' more than once in the run"):
        evaluate(once, run, "AP")
    with pytest.raises(TacitError, match="query 'q' has document 'a' more than once in the judgments"):
        evaluate(judgments, Run.from_dict({}), "AP")
    with pytest.raises(TacitError, match="query 'q' occurs more than once in the ids"):
        evaluate(Judgments(["q", "q"], ["a"], np.zeros(1, int), np.zeros(1, int), np.ones(1)), run, "AP")


def test_refuses_to_measure_nothing():
    with pytest.raises(TacitError, match="the judgments have no query"):
        evaluate(Judgments.from_dict({}), Run.from_dict({}), "AP")
    with pytest.raises(UsageError, match="no measure is given"):
        evaluate(Judgments.from_dict({"q": {"a": 1}}), Run.from_dict({}), [])
    with pytest.raises(TacitError, match="grade is 2000, want at most 1000"):
        evaluate(Judgments.from_dict({"q": {"a": 2000}}), Run.from_dict({}), "nDCG-letor@5")


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_rows_give_what_the_same_run_and_judgments_give(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 80))
    qid, grades = rng.integers(0, 6, n_rows), rng.integers(-1, 4, n_rows).astype(float)
    scores = rng.integers(0, 6, n_rows) / 4
    doc_ids = [str(row) for row in range(n_rows)]
    queries, query = np.unique(qid, return_inverse=True)
    names = [str(name) for name in queries]
    run = Run(names, doc_ids, query, np.arange(n_rows), scores)
    expected = evaluate(Judgments(names, doc_ids, query, np.arange(n_rows), grades), run, SOME)
    measured = evaluate_rows(np.where(grades < 0, np.nan, grades), scores, qid, SOME)
    assert measured.query_ids == expected.query_ids
    assert measured.n_without_relevant == expected.n_without_relevant
    for name in SOME:
        np.testing.assert_array_equal(measured.values[name], expected.values[name])


def test_rows_without_groups_are_one_list_and_bad_ones_are_refused():
    assert evaluate_rows([1, 0], [2, 1]).means() == {"nDCG-letor@10": 1.0}
    with pytest.raises(TacitError, match="want the same, flat"):
        evaluate_rows([1, 0], [2, 1], [0])
    with pytest.raises(TacitError, match="scores contains NaN or infinity in row 1"):
        evaluate_rows([1, 0], [2, np.nan])
    with pytest.raises(TacitError, match="grades are infinite in row 0"):
        evaluate_rows([np.inf, 0], [2, 1])
    with pytest.raises(TacitError, match="have no rows"):
        evaluate_rows([], [])


def test_standard_error_and_means():
    result = Evaluation(["1", "2", "3"], {"AP": np.array([0.0, 0.5, 1.0])})
    assert result.means() == {"AP": 0.5}
    assert result.standard_errors() == {"AP": pytest.approx(0.5 / math.sqrt(3))}  # variance (.25 + 0 + .25) / 2
    assert math.isnan(standard_error(np.array([0.3])))
    assert "<td>AP</td><td>0.3</td><td>-</td>" in Evaluation(["1"], {"AP": np.array([0.3])})._repr_html_()


def test_bootstrap_interval_repeats_and_lies_around_the_mean():
    values = np.random.default_rng(1).beta(2, 5, 200)
    result = Evaluation([str(q) for q in range(200)], {"AP": values, "constant": np.full(200, 0.25)})
    low, high = result.intervals()["AP"]
    assert result.intervals()["AP"] == (low, high)
    assert result.intervals(seed=1)["AP"] != (low, high)
    # For 200 queries the percentile interval is nearly mean +- 1.96 standard errors.
    reach = 1.96 * result.standard_errors()["AP"]
    assert low == pytest.approx(values.mean() - reach, abs=0.1 * reach)
    assert high == pytest.approx(values.mean() + reach, abs=0.1 * reach)
    assert result.intervals()["constant"] == (0.25, 0.25)
    narrow = result.intervals(level=0.5)["AP"]
    assert low < narrow[0] < narrow[1] < high


def test_bootstrap_of_two_queries_by_hand():
    # Two draws of {0, 1} have mean 0, 1/2, 1 with chances 1/4, 1/2, 1/4: the middle 47 % is 1/2, the middle 60 % all.
    result = Evaluation(["1", "2"], {"AP": np.array([0.0, 1.0])})
    assert result.intervals(level=0.47)["AP"] == (0.5, 0.5)
    assert result.intervals(level=0.6)["AP"] == (0, 1)


def test_bootstrap_does_not_depend_on_how_it_is_cut_into_pieces():
    table = np.array([[0.0, 0.4, 1.0]])
    cut = resampled_means(table, n_resamples=500, seed=0, cells_at_once=100)
    np.testing.assert_array_equal(cut, resampled_means(table, n_resamples=500, seed=0))


def test_bootstrap_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        values = rng.beta(2, 2, 40)  # mean 0.5
        low, high = Evaluation([""] * 40, {"AP": values}).intervals(level=0.9, n_resamples=400)["AP"]
        covered += low <= 0.5 <= high
    assert 0.84 <= covered / 300 <= 0.95  # three binomial standard deviations are 0.05; 40 values lose about 0.01


@pytest.mark.parametrize("options", [{"level": 0}, {"level": 1.5}, {"n_resamples": 0}])
def test_bootstrap_refuses_bad_options(options):
    with pytest.raises(TacitError, match=next(iter(options))):
        Evaluation(["1"], {"AP": np.array([0.5])}).intervals(**options)


def test_feature_lists_are_judgments_too():
    lists = Lists(
        np.zeros((5, 1)), np.array([0, 1, np.nan, 2, -1]), np.array([0, 3, 5]), ["q", "r"], ["a", "b", "c", "", ""]
    )
    scores = np.array([0.3, 0.2, 0.9, 0.1, 0.4])
    result = evaluate(lists, lists.to_run(scores, "mine"), SOME)
    direct = evaluate_rows(lists.y, scores, lists.qid, SOME)
    assert result.query_ids == ["q", "r"]
    assert result.name == "mine"
    for measure, values in result.values.items():
        assert values.tolist() == direct.values[measure].tolist(), measure


def test_one_query_prints_without_an_error():
    assert str(Evaluation(["1"], {"nDCG-letor@10": np.array([0.5])})) == (
        "measure          mean  std err  queries\nnDCG-letor@10  0.5000        -        1"
    )
