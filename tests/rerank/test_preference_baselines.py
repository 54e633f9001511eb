"""Ranking SVM, transductive SVM, semi-supervised RankBoost, pseudo feedback, boosted trees: worlds with one answer."""

import sys

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from tacit.core import Lists, MissingExtraError, TacitError
from tacit.metrics import evaluate_rows
from tacit.rerank.boosting.lambdamart import LambdaMartRanker, derivatives
from tacit.rerank.boosting.lightgbm import LightGbmRanker, PointwiseLightGbmRanker
from tacit.rerank.boosting.rankboost import RankBoostRanker
from tacit.rerank.boosting.semi import SemiRankBoostRanker, guess_grades
from tacit.rerank.gradient.losses import PairLoss
from tacit.rerank.gradient.ranker import BradleyTerryRanker
from tacit.rerank.linear.svm import RankSvmRanker, TransductiveSvmRanker
from tacit.rerank.propagation.prf import FeedbackRanker, PseudoLabelRanker
from tacit.rerank.rows import Rows, group_rows


def world(seed=0, n_lists=12, n=20, share=1.0):
    """Grades follow feature 0; a share of rows is judged."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * n, 3))
    grade = np.digitize(X[:, 0] + rng.normal(0, 0.2, len(X)), [0.2, 1.0]).astype(float)
    y = np.where(rng.random(len(X)) < share, grade, np.nan)
    return X, y, np.repeat(np.arange(n_lists), n), grade


def auc(grade, scores, qid):
    return evaluate_rows(grade, scores, qid, "AUC").means()["AUC"]


@pytest.mark.parametrize(
    "ranker",
    [RankSvmRanker(), TransductiveSvmRanker(), SemiRankBoostRanker(n_rounds=30), FeedbackRanker(), LightGbmRanker(),
     LambdaMartRanker(n_trees=60)],
    ids=lambda ranker: type(ranker).__name__,
)  # fmt: skip
def test_learns_the_feature_that_matters_from_a_share_of_labels_and_again_the_same(ranker):
    X, y, qid, grade = world(share=0.5)
    lists = Lists(X[:60], grade[:60], np.array([0, 20, 40, 60]), ["1", "2", "3"], [""] * 60)
    first = ranker.fit(X, y, qid, validation=lists).predict(X, qid)
    assert auc(grade, first, qid) > 0.93
    assert np.array_equal(first, ranker.fit(X, y, qid, validation=lists).predict(X, qid))


def test_ranking_svm_is_the_classifier_of_both_sides_of_all_differences():
    X, y, qid, _ = world(n_lists=3, n=8)
    pairs = group_rows(X, y, qid).pairs
    table = (X[pairs.better] - X[pairs.worse]) / X.std(axis=0)
    both = LinearSVC(C=1 / (2 * len(pairs)), dual=False, fit_intercept=False, tol=1e-8)
    both.fit(np.concatenate([table, -table]), np.repeat([1, -1], len(pairs)))
    found = RankSvmRanker(C=1.0).fit(X, y, qid).coef_ * X.std(axis=0)
    np.testing.assert_allclose(found, both.coef_[0], atol=2e-3)


def test_transductive_svm_moves_the_border_into_the_gap_between_clusters():
    """The judged rows alone put the border by feature 1; the unjudged show that feature 0 separates."""
    rng = np.random.default_rng(4)
    kind = np.repeat([0, 1], 40)
    X = np.column_stack([6 * kind + rng.normal(0, 0.3, 80), rng.normal(0, 1, 80)])
    X[0], X[40] = [1.0, -3.0], [5.0, 3.0]
    y = np.full(80, -1.0)
    y[[0, 40]] = [0, 1]
    alone, together = (TransductiveSvmRanker(weight=w).fit(X, y).coef_ for w in (0.0, 1.0))
    assert abs(together[1] / together[0]) < abs(alone[1] / alone[0]) / 2


def test_transductive_svm_wants_both_kinds():
    with pytest.raises(TacitError, match="all of one kind"):
        TransductiveSvmRanker().fit(np.eye(3), [1, 1, -1])


def test_semi_rankboost_without_unjudged_rows_is_rankboost():
    X, y, qid, _ = world(n_lists=4)
    plain = RankBoostRanker(n_rounds=15).fit(X, y, qid).predict(X)
    np.testing.assert_allclose(SemiRankBoostRanker(n_rounds=15).fit(X, y, qid).predict(X), plain)


def test_feedback_forms_are_the_cosines_of_the_definition():
    X = np.random.default_rng(1).normal(size=(9, 3))
    qid = np.zeros(9)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.argsort(-X[:, 1])
    for negatives in (False, True):
        wanted = scaled[order[:3]].mean(axis=0) - negatives * scaled[order[3:]].mean(axis=0)
        cosine = scaled @ wanted / np.linalg.norm(scaled, axis=1) / np.linalg.norm(wanted)
        ranker = FeedbackRanker(feature=1, n_top=3, mix=1.0, negatives=negatives).fit(X, np.full(9, -1))
        np.testing.assert_allclose(ranker.predict(X, qid), (cosine - cosine.mean()) / cosine.std())


def test_trees_get_the_gradients_of_the_sources():
    rows = Rows(np.zeros((3, 1)), np.array([1, 0, np.nan]), np.array([0, 3]), np.arange(3))
    gradient, curvature = derivatives([PairLoss(rows.pairs)], np.zeros(3))
    assert gradient.tolist() == [-1.5, 1.5, 0]
    assert curvature.tolist() == [0.75, 0.75, 1e-6]


def test_pointwise_trees_are_those_of_lightgbms_regressor_on_judged_rows():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(300, 4)), np.repeat(np.arange(30), 10)
    y = np.clip(np.round(X[:, 0] ** 2 + 0.2 * rng.normal(size=300)), 0, 3)
    y[rng.random(300) < 0.4] = np.nan
    known = ~np.isnan(y)
    peer = lightgbm.LGBMRegressor(
        n_estimators=30, num_leaves=15, min_child_samples=int(known.sum()) // 20, learning_rate=0.05, n_jobs=1,
        deterministic=True, force_row_wise=True, random_state=0, verbosity=-1,
    ).fit(X[known], y[known])  # fmt: skip
    ranker = PointwiseLightGbmRanker(n_trees=30).fit(X, y, qid)
    assert int(known.sum()) // 20 < 20  # so that fewer rows make a leaf
    np.testing.assert_allclose(ranker.predict(X, qid), peer.predict(X))


def test_without_lightgbm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtraError, match="bench"):
        LightGbmRanker().fit(np.eye(3), [0, 1, 2])


def test_too_few_rows_for_a_leaf_are_told():
    from tacit.core import TacitError
    from tacit.rerank.boosting.lambdamart import LambdaMartRanker

    with pytest.raises(TacitError, match="no feature splits the 3 rows into leaves of 20"):
        LambdaMartRanker().fit(np.eye(3), [0, 1, 2])


def test_semi_rankboost_guesses_the_k_nearest_rows_of_each_list():
    X, y, qid, _ = world(n_lists=3, n=12, share=0.3)
    y[0:2], y[12:14], y[24:26] = [0, 2], [1, 0], [2, 1]
    rows = group_rows(X, y, qid)
    scaled = X / X.std(axis=0)
    for k in (1, 4, None):
        found = guess_grades(rows, k)
        for span in rows.spans:
            judged, others = (np.flatnonzero(known) + span.start for known in (y[span] >= 0, np.isnan(y[span])))
            nearest = {row: min((np.sum((scaled[row] - scaled[j]) ** 2), j) for j in judged) for row in others}
            kept = sorted(others, key=lambda row: nearest[row])[:k]
            wanted = {row: y[nearest[row][1]] for row in kept} | {j: y[j] for j in judged}
            assert {row: found[row] for row in range(span.start, span.stop) if np.isfinite(found[row])} == wanted
    with pytest.raises(TacitError, match="k is 0"):
        SemiRankBoostRanker(k=0).fit(X, y, qid)
    models = [SemiRankBoostRanker(k=k, n_rounds=5).fit(X, y, qid).predict(X).tolist() for k in (1, None)]
    assert models[0] != models[1]


@pytest.mark.parametrize("negatives", [False, True])
def test_retraining_is_the_ranker_of_judged_rows_and_pseudo_labels(negatives):
    X, y, qid, _ = world(n_lists=4, n=10, share=0.4)
    base = BradleyTerryRanker(n_hidden=0, n_epochs=5)
    first = base.clone().fit(X, y, qid).predict(X)
    labels = y.copy()
    for query in range(4):
        unjudged = np.flatnonzero((qid == query) & np.isnan(y))
        order = unjudged[np.argsort(-first[unjudged])]
        labels[order[:2]] = 1
        if negatives:
            labels[order[2:]] = 0
    wanted = base.clone().fit(X, labels, qid).predict(X)
    ranker = PseudoLabelRanker(base, n_top=2, negatives=negatives).fit(X, y, qid)
    np.testing.assert_allclose(ranker.predict(X), wanted)
    by_column = PseudoLabelRanker(base, feature=1, n_top=2, negatives=True).fit(X, np.full(len(y), -1), qid)
    assert np.corrcoef(by_column.predict(X), X[:, 1])[0, 1] > 0.5  # without a single judgment
    with pytest.raises(TacitError, match="feature is 3"):
        PseudoLabelRanker(feature=3).fit(X, y, qid)
