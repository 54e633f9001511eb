"""scikit-learn's own checks of estimators, and its tools for choosing parameters, on rankers of lists."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.core import TacitError
from tacit.metrics import evaluate_rows
from tacit.rerank import METHODS, LambdaRankRanker, StandingRanker
from tacit.rerank.boosting.rankboost import RankBoostRanker

SMALL_BUDGETS = {"n_rounds": 6, "max_rounds": 1, "n_epochs": 2, "n_trees": 3, "n_leaf_rows": 1, "alpha": 0.5}

ONE_KIND = "every grade in the data of this check is relevant, or none is: there is no pair to learn from"
BY_LIST = "scores are made from the whole list, so a part of it gets others"
OWN_ROWS = "has no inductive form: it scores the rows that it was fitted on"
NOTHING_TO_LEARN = dict.fromkeys(("check_estimators_dtypes", "check_fit2d_1sample", "check_fit2d_1feature"), ONE_KIND)

BY_OTHER_ROWS = {"check_methods_subset_invariance": BY_LIST}

# Checks that cannot hold, by method, and why; one that holds after all is an error.
EXPECTED_FAILURES = {
    "auc-logistic": NOTHING_TO_LEARN,
    "auc-semi": NOTHING_TO_LEARN,
    "manifold": {"check_fit_idempotent": OWN_ROWS},
    "tsvm": NOTHING_TO_LEARN | BY_OTHER_ROWS,
} | dict.fromkeys(
    ("ssbt", "sslambdarank", "standing", "prf", "prf-neg", "fg", "iw", "fg+iw", "fg-precomputed", "iw-precomputed",
     "guarded"), BY_OTHER_ROWS,
)  # fmt: skip


def small(name):
    """The system with budgets that let all checks end in seconds; what is checked is not how well it ranks."""
    ranker = METHODS[name].make()
    known = ranker.get_params(deep=False)
    return ranker.set_params(**{key: value for key, value in SMALL_BUDGETS.items() if key in known})


# The printed forms are of classes that are checked already.
RANKERS = {name: small(name) for name in METHODS if not name.endswith("-printed")}


def expected_failures(ranker):
    return next(EXPECTED_FAILURES.get(name, {}) for name, known in RANKERS.items() if repr(known) == repr(ranker))


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([*RANKERS.values()], expected_failed_checks=expected_failures, xfail_strict=True)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def world(n_lists=12, n_rows=8):
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(n_lists), n_rows)
    X = rng.normal(size=(len(qid), 3))
    return X, np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=len(qid)) + 1), 0, 2), qid


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_grid_search_keeps_lists_together(routing):
    X, y, qid = world()
    ranker = RankBoostRanker().set_fit_request(qid=True).set_score_request(qid=True)
    search = GridSearchCV(ranker, {"n_rounds": [1, 8], "n_bins": [4, None]}, cv=GroupKFold(3))
    search.fit(X, y, qid=qid, groups=qid)
    by_hand = []
    for train, test in GroupKFold(3).split(X, y, qid):
        fitted = clone(ranker).set_params(**search.best_params_).fit(X[train], y[train], qid[train])
        values = evaluate_rows(y[test], fitted.predict(X[test]), qid[test]).values["nDCG-letor@10"]
        by_hand.append(values.mean())
    assert search.best_score_ == pytest.approx(np.mean(by_hand))
    assert search.best_params_["n_rounds"] == 8
    assert search.predict(X).shape == y.shape


def test_without_routing_a_ranker_by_list_asks_for_its_lists():
    X, y, qid = world()
    search = GridSearchCV(StandingRanker(), {"list_spread": [1.0]}, cv=GroupKFold(3), error_score="raise")
    with pytest.raises(TacitError, match="qid is None, want the list of each row"):
        search.fit(X, y, groups=qid, qid=qid)


def test_parameters_of_base_classes_can_be_searched(routing):
    X, y, qid = world()
    ranker = LambdaRankRanker(n_hidden=0, n_epochs=5).set_fit_request(qid=True).set_score_request(qid=True)
    search = GridSearchCV(ranker, {"rate": [0.01, 0.3], "measure": ["MAP"]}, cv=GroupKFold(2))
    search.fit(X, y, qid=qid, groups=qid)
    assert set(search.best_params_) == {"rate", "measure"}
    assert clone(LambdaRankRanker("MAP", rate=0.5)).get_params()["rate"] == 0.5
    with pytest.raises(TypeError, match="n_epoch"):
        LambdaRankRanker(n_epoch=3)


def test_cross_validation_routes_the_lists(routing):
    X, y, qid = world()
    ranker = RankBoostRanker(n_rounds=5).set_fit_request(qid=True).set_score_request(qid=True)
    scores = cross_val_score(ranker, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(3))
    assert scores.shape == (3,)
    assert (scores > 0.5).all()


def test_grid_search_over_a_pipeline(routing):
    X, y, qid = world()
    ranker = StandingRanker().set_fit_request(qid=True).set_score_request(qid=True).set_predict_request(qid=True)
    pipeline = Pipeline([("scale", StandardScaler()), ("rank", ranker)])
    grid = {"rank__list_spread": [0.5, 1.5], "scale__with_mean": [True, False]}
    search = GridSearchCV(pipeline, grid, cv=GroupKFold(3), error_score="raise").fit(X, y, qid=qid, groups=qid)
    assert set(search.best_params_) == set(grid)
    assert search.best_score_ > 0.5
    assert search.best_estimator_.predict(X, qid=qid).shape == y.shape


def test_score_weights_lists_by_the_mean_of_their_rows():
    X, y, qid = world()
    ranker = StandingRanker().fit(X, y, qid)
    values = evaluate_rows(y, ranker.predict(X, qid), qid).values["nDCG-letor@10"]
    weights = np.random.default_rng(1).random(len(y))
    means = [weights[qid == number].mean() for number in np.unique(qid)]
    assert ranker.score(X, y, qid, sample_weight=weights) == pytest.approx(np.average(values, weights=means))
    assert ranker.score(X, y, qid, sample_weight=np.full(len(y), 0.3)) == pytest.approx(ranker.score(X, y, qid))
    for bad in (weights[1:], -weights, np.zeros(len(y)), weights * np.nan):
        with pytest.raises(TacitError, match="sample_weight wants 96 finite numbers >= 0"):
            ranker.score(X, y, qid, sample_weight=bad)


def test_weights_are_routed_to_the_score(routing):
    X, y, qid = world()
    ranker = RankBoostRanker(n_rounds=3).set_fit_request(qid=True).set_score_request(qid=True, sample_weight=True)
    weights = np.where(qid < 6, 1.0, 0.1)
    scores = cross_val_score(
        ranker, X, y, params={"qid": qid, "groups": qid, "sample_weight": weights}, cv=GroupKFold(3)
    )
    by_hand = [
        clone(ranker).fit(X[train], y[train], qid[train]).score(X[test], y[test], qid[test], weights[test])
        for train, test in GroupKFold(3).split(X, y, qid)
    ]
    assert scores == pytest.approx(by_hand)
