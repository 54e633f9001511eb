"""What holds for every ranker of feature lists, whatever it learns."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from tacit.core import Lists, TacitError
from tacit.rerank import METHODS
from tacit.rerank.base import ListRanker
from tacit.rerank.list_columns import fill_missing
from tacit.rerank.rows import group_rows
from tacit.search import load, save
from tacit.store import check_storable

SMALL_BUDGETS = {"n_rounds": 12, "max_rounds": 2, "n_epochs": 4, "n_trees": 5, "n_leaf_rows": 1, "alpha": 0.5,
                 "n_validation": 1}  # fmt: skip

# These look at judged rows alone; all others use the unjudged ones as well, if only to bring features to one scale.
SUPERVISED = ("rankboost", "adacost", "lightgbm", "lightgbm-pointwise")

every_system = pytest.mark.parametrize("name", METHODS)


def make(name, **params):
    """The system with budgets that let a test over all systems end in seconds."""
    ranker = METHODS[name].make()
    known = ranker.get_params(deep=False)
    return ranker.set_params(**{key: value for key, value in (SMALL_BUDGETS | params).items() if key in known})


def world(seed=0, n_lists=6, n_rows=9):
    """Lists whose first feature tells the grade, roughly; a third of the rows is unjudged."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(rng.permutation(n_lists), n_rows)
    X = rng.normal(size=(len(qid), 5))
    y = np.clip(np.round(X[:, 0] + 0.3 * rng.normal(size=len(qid)) + 0.8), 0, 2)
    y[np.arange(len(y)) % 3 == 2] = np.nan
    return X, y, qid


def validation_lists():
    rows = group_rows(*world(seed=9, n_lists=3))
    return Lists(rows.X, rows.y, rows.starts, list("abc"), [""] * len(rows.y))


def fitted(name, X, y, qid, **params):
    return make(name, **params).fit(X, y, qid, validation=validation_lists())


@every_system
def test_scores_follow_their_rows_and_are_finite(name):
    X, y, qid = world()
    ranker = fitted(name, X, y, qid)
    scores = ranker.predict(X, qid)
    assert scores.shape == (len(y),)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    order = np.random.default_rng(1).permutation(len(y))
    np.testing.assert_allclose(ranker.predict(X[order], qid[order]), scores[order], atol=1e-9)


# Methods whose scores depend on the order of rows within lists, and why.
BY_POSITION = {
    "lightgbm": "LightGBM orders rows of equal scores by position",
    "kpca-pooled": "training documents are drawn at random by position",
    "fg-precomputed": "documents of clusters are drawn at random by position",
    "iw-precomputed": "pairs for the width of features are drawn at random by position",
}
# Sums of floats in another order change the last digits; the ascent of KLIEP amplifies them.
ROUNDING = {"iw": 1e-7}


@pytest.mark.parametrize("name", [name for name in METHODS if name not in BY_POSITION])
def test_the_order_of_rows_within_lists_changes_no_score(name):
    X, y, qid = world(n_lists=10)
    X[::4] = np.round(X[::4])  # some ties
    order = np.random.default_rng(3).permutation(len(y))
    order = order[np.argsort([qid.tolist().index(q) for q in qid[order]], kind="stable")]
    scores = fitted(name, X, y, qid).predict(X, qid)
    ranker = fitted(name, X[order], y[order], qid[order])
    permuted = ranker.predict(X[order], qid[order])
    if name in ("sslambdarank", "lambdarank", "sslambdamart"):
        assert np.array_equal(ranker.predict(X, qid), scores)
    np.testing.assert_allclose(permuted, scores[order], rtol=0, atol=ROUNDING.get(name, 1e-9))


@every_system
def test_the_way_in_which_unjudged_is_written_changes_nothing(name):
    X, y, qid = world()
    by_nan, by_number = (fitted(name, X, grades, qid).predict(X, qid) for grades in (y, np.nan_to_num(y, nan=-1)))
    assert np.array_equal(by_nan, by_number)


@every_system
def test_missing_values_are_filled_by_their_lists_and_saved_models_keep_it(name, tmp_path):
    X, y, qid = world(n_lists=10)
    rng = np.random.default_rng(2)
    X[rng.random(X.shape) < 0.35] = np.nan
    X[qid == 0, 2] = np.nan  # a list that knows nothing of a feature
    ranker = fitted(name, X, y, qid)
    scores = ranker.predict(X, qid)
    assert np.isfinite(scores).all()
    if not ranker._allow_nan:
        complete = fill_missing(X, qid, np.nanmean(X, axis=0))
        np.testing.assert_array_equal(ranker.predict(complete, qid), scores)
    save(ranker, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model", ListRanker).predict(X, qid), scores)


def test_missing_values_need_the_means_of_training():
    X, y, qid = world()
    ranker = fitted("standing", X, y, qid)
    del ranker.feature_means_  # as in models of earlier versions
    X[0, 0] = np.nan
    with pytest.raises(TacitError, match="X contains NaN"):
        ranker.predict(X, qid)
    huge = np.where(np.arange(X.size).reshape(X.shape) == 7, 1e300, X)
    with pytest.raises(TacitError, match="1e\\+300"):
        fitted("standing", huge, y, qid)


@pytest.mark.parametrize("name", [name for name in SUPERVISED if name in METHODS])
def test_unjudged_rows_teach_a_supervised_system_nothing(name):
    X, y, qid = world()
    judged = ~np.isnan(y)
    with_all = fitted(name, X, y, qid).predict(X, qid)
    without = fitted(name, X[judged], y[judged], qid[judged]).predict(X, qid)
    np.testing.assert_allclose(with_all, without, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in METHODS if "threads" in make(name).get_params(deep=False)])
def test_the_number_of_threads_changes_no_bit(name):
    X, y, qid = world()
    one, two, four = (fitted(name, X, y, qid, threads=n).predict(X, qid) for n in (1, 2, 4))
    assert np.array_equal(one, two)
    assert np.array_equal(one, four)


@every_system
def test_a_second_fit_is_the_same_and_leaves_no_trace_of_the_first(name):
    X, y, qid = world()
    ranker = fitted(name, X, y, qid)
    again = fitted(name, *world(seed=5)).fit(X, y, qid, validation=validation_lists())
    assert np.array_equal(ranker.predict(X, qid), again.predict(X, qid))


@every_system
def test_saving_and_loading_change_no_bit(name, tmp_path):
    X, y, qid = world()
    ranker = fitted(name, X, y, qid)
    check_storable(ranker)
    save(ranker, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(X, qid), ranker.predict(X, qid))


@every_system
@pytest.mark.parametrize("grades", [[0, 0, 0, 0], [np.nan] * 4, [1, np.nan, 0, np.nan]])
def test_lists_that_order_nothing_are_an_error(name, grades):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(TacitError):  # the last: two grades, but never in one list
        make(name).fit(X, grades, [0, 0, 1, 1], validation=validation_lists())


@every_system
def test_contradictory_preferences_are_counted(name):
    X, y, qid = world()
    worse = np.flatnonzero((qid == qid[0]) & (y == np.nanmin(y[qid == qid[0]])))[0]
    better = np.flatnonzero((qid == qid[0]) & (y == np.nanmax(y[qid == qid[0]])))[0]
    with pytest.warns(UserWarning, match="preferences that contradict a grade or each other: 1"):
        make(name).fit(X, y, qid, pairs=[[worse, better]], validation=validation_lists())


@every_system
def test_rows_of_another_width_are_an_error(name):
    X, y, qid = world()
    ranker = fitted(name, X, y, qid)
    with pytest.raises(TacitError, match="features"):
        ranker.predict(X[:, :3], qid)
    with pytest.raises(TacitError):
        ranker.predict(X, qid[:-1])
    with pytest.raises(TacitError, match="not fitted"):
        make(name).predict(X)


@every_system
def test_lists_in_place_of_arrays(name):
    lists = validation_lists()
    ranker = make(name).fit(lists, validation=lists)
    again = make(name).fit(lists.X, lists.y, lists.qid, validation=lists)
    scores = again.predict(lists.X, lists.qid)
    assert np.array_equal(ranker.predict(lists), scores)
    assert ranker.score(lists) == again.score(lists.X, lists.y, lists.qid)
    run = ranker.rank(lists)
    assert run.name == type(ranker).__name__
    assert sorted(run.to_dict()) == ["a", "b", "c"]
    found = [value for query in "abc" for value in run.to_dict()[query].values()]
    assert sorted(found) == sorted(scores.tolist())
    with pytest.raises(TacitError, match="want neither given again"):
        ranker.predict(lists, lists.qid)
    with pytest.raises(TacitError, match="the lists to rank have 2 features, the training lists have 5"):
        ranker.rank(replace(lists, X=lists.X[:, :2]))


BY_LIST = ("standing", "ssbt", "sslambdarank", "tsvm", "prf", "prf-neg", "fg", "iw", "fg+iw",
           "fg-printed", "iw-printed", "fg+iw-printed", "kpca-train",
           "fg-precomputed", "iw-precomputed", "guarded")  # fmt: skip


@every_system
def test_rankers_by_list_ask_for_the_lists(name):
    X, y, qid = world()
    ranker = fitted(name, X, y, qid)
    if name in BY_LIST:
        with pytest.raises(TacitError, match="qid is None, want the list of each row"):
            ranker.predict(X)
    else:
        assert ranker.predict(X).shape == y.shape
    with pytest.raises(TacitError, match="qid is None, want the list of each row"):
        ranker.score(X, y)  # a mean over lists
    one = qid == qid[0]
    alone = make(name).fit(X[one], y[one])
    assert alone.predict(X[one]).shape == (one.sum(),)  # fitted on one list, so one list is asked about


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (np.nan, "qid is (NaN|nan) in row 3, want a number or a string"),
        (None, "qid is (None|NaN) in row 3, want a number or a string"),
        ("x", "qid is a number in row 0 and a text in row 3, want one type"),
        ((1, 2), "qid has shape|want a number or a string"),
    ],
)
def test_lists_without_a_name_are_refused(bad, problem):
    X, y, qid = world()
    wrong = qid.tolist()
    wrong[3] = bad
    ranker = make("rankboost").fit(X, y, qid)
    for form in (list, lambda values: np.array(values, object), pd.Series):
        with pytest.raises(TacitError, match=problem):
            make("rankboost").fit(X, y, form(wrong))
        with pytest.raises(TacitError, match=problem):
            ranker.predict(X, form(wrong))
    with pytest.raises(TacitError, match="qid is NaN in row 0"):
        ranker.predict(X, np.full(len(y), np.nan))


def test_names_of_lists_may_be_numbers_texts_or_series():
    X, y, qid = world()
    wanted = make("standing").fit(X, y, qid).predict(X, qid)
    for form in (list, pd.Series, pl.Series, lambda q: [f"q{number}" for number in q], lambda q: q.astype(float)):
        assert np.array_equal(make("standing").fit(X, y, form(qid)).predict(X, form(qid)), wanted)


@pytest.mark.parametrize("name", ["standing", "rankboost", "guarded"])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(name, frame, tmp_path):
    X, y, qid = world()
    table = frame({f"f{number}": column for number, column in enumerate(X.T)})
    ranker = make(name).fit(table, y, qid)
    assert list(ranker.feature_names_in_) == ["f0", "f1", "f2", "f3", "f4"]
    scores = ranker.predict(table, qid)
    assert np.array_equal(scores, make(name).fit(X, y, qid).predict(X, qid))
    save(ranker, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert np.array_equal(loaded.predict(table, qid), scores)
    for known in (ranker, loaded):
        with pytest.raises(TacitError, match="feature names should match"):
            known.predict(table[["f1", "f0", "f2", "f3", "f4"]], qid)


@pytest.mark.parametrize("name", ["standing", "rankboost"])
def test_sparse_matrices_are_made_dense_within_bounds(name):
    X, y, qid = world()
    X[X < 0] = 0
    wanted = make(name).fit(X, y, qid).predict(X, qid)
    ranker = make(name).fit(sp.csr_matrix(X), y, qid)
    assert np.array_equal(ranker.predict(sp.csc_array(X), qid), wanted)
    with pytest.raises(TacitError, match="X as a dense table would need about 800,000.0 GB of memory"):
        make(name).fit(sp.csr_matrix((10**7, 10**7)), np.zeros(10**7))


@every_system
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_huge_values_are_one_line_or_scores(name):
    X, y, qid = world()
    X[2, 1] = 1e160
    if name in SUPERVISED:  # trees and stumps: only the order of values counts
        assert np.isfinite(fitted(name, X, y, qid).predict(X, qid)).all()
        return
    with pytest.raises(TacitError, match=r"X is 1e\+160 in row 2, feature 1; want values of at most 1e\+50"):
        fitted(name, X, y, qid)
    ranker = fitted(name, *world())
    with pytest.raises(TacitError, match="want values of at most"):
        ranker.predict(X, qid)
    X[2, 1] = 1e50
    ranker = fitted(name, X, y, qid)
    assert np.isfinite(ranker.predict(X, qid)).all()


@every_system
def test_validation_lists_without_a_judged_row_are_named(name):
    lists = validation_lists()
    nothing = replace(lists, y=np.full(len(lists.y), np.nan))
    with pytest.raises(TacitError, match=r"validation lists have no judged row \(rows: 27, lists: 3\)"):
        make(name).fit(*world(), validation=nothing)
