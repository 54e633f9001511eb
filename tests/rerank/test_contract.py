"""What holds for every ranker of feature lists, whatever it learns."""

import numpy as np
import pytest

from tacit.core import Lists, TacitError
from tacit.rerank import METHODS
from tacit.rerank.rows import group_rows
from tacit.search import load, save
from tacit.store import check_storable

SMALL_BUDGETS = {"n_rounds": 12, "max_rounds": 2, "n_epochs": 4, "n_trees": 5, "n_leaf_rows": 1, "alpha": 0.5}

# These look at judged rows alone; all others use the unjudged ones as well, if only to bring features to one scale.
SUPERVISED = ("rankboost", "adacost", "lightgbm")

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


@every_system
def test_the_way_in_which_unjudged_is_written_changes_nothing(name):
    X, y, qid = world()
    by_nan, by_number = (fitted(name, X, grades, qid).predict(X, qid) for grades in (y, np.nan_to_num(y, nan=-1)))
    assert np.array_equal(by_nan, by_number)


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
    try:
        check_storable(ranker)
    except TacitError:
        with pytest.raises(TacitError, match="cannot be saved"):
            save(ranker, tmp_path / "model")
        assert not (tmp_path / "model").exists()
        return
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
    with pytest.warns(UserWarning, match="1 preferences contradict"):
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
