"""scikit-learn's own checks of estimators, and its tools for choosing parameters, on rankers of lists."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.metrics import evaluate_rows
from tacit.rerank import METHODS
from tacit.rerank.boosting.rankboost import RankBoostRanker

SMALL_BUDGETS = {"n_rounds": 6, "max_rounds": 1, "n_epochs": 2, "n_trees": 3, "n_leaf_rows": 1, "alpha": 0.5}

ONE_KIND = "every grade in the data of this check is relevant, or none is: there is no pair to learn from"
BY_LIST = "scores are made from the whole list, so a part of it gets others"
OWN_ROWS = "has no inductive form: it scores the rows that it was fitted on"
NOTHING_TO_LEARN = dict.fromkeys(("check_estimators_dtypes", "check_fit2d_1sample", "check_fit2d_1feature"), ONE_KIND)

# Checks that cannot hold, by class, and why.
EXPECTED_FAILURES = {
    "AucRanker": NOTHING_TO_LEARN,
    "SemiAucRanker": NOTHING_TO_LEARN,
    "ManifoldRanker": {"check_fit_idempotent": OWN_ROWS},
    "TransductiveSvmRanker": NOTHING_TO_LEARN | {"check_methods_subset_invariance": BY_LIST},
    "FeedbackRanker": {"check_methods_subset_invariance": BY_LIST},
    "TransductiveRanker": {"check_methods_subset_invariance": BY_LIST},
    "StandingRanker": {"check_methods_subset_invariance": BY_LIST},
    "GuardedRanker": {"check_methods_subset_invariance": BY_LIST},
}


def small(name):
    """The system with budgets that let all checks end in seconds; what is checked is not how well it ranks."""
    ranker = METHODS[name].make()
    known = ranker.get_params(deep=False)
    return ranker.set_params(**{key: value for key, value in SMALL_BUDGETS.items() if key in known})


def expected_failures(ranker):
    by_list = {"check_methods_subset_invariance": BY_LIST} if getattr(ranker, "scale", "global") != "global" else {}
    return EXPECTED_FAILURES.get(type(ranker).__name__, {}) | by_list


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([small(name) for name in METHODS], expected_failed_checks=expected_failures)
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


def test_cross_validation_routes_the_lists(routing):
    X, y, qid = world()
    ranker = RankBoostRanker(n_rounds=5).set_fit_request(qid=True).set_score_request(qid=True)
    scores = cross_val_score(ranker, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(3))
    assert scores.shape == (3,)
    assert (scores > 0.5).all()
