"""A ranker for every list: worlds where only the list can tell, and the meta-algorithm spelled out as an oracle."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.decomposition import PCA

from tacit.core import Lists, TacitError, UsageError
from tacit.features.kernel_pca import Kernel, KernelPca
from tacit.metrics import evaluate_rows
from tacit.rerank import METHODS
from tacit.rerank.boosting.rankboost import AdaCostRanker, RankBoostRanker
from tacit.rerank.list_columns import scale_within_lists
from tacit.rerank.rows import Rows, group_rows
from tacit.rerank.transduction.discovery import DiscoveredFeaturesRanker
from tacit.rerank.transduction.importance import LEVELS, KliepAdaptation, convert_weights
from tacit.rerank.transduction.ranker import TransductiveRanker, best_stage
from tacit.search import load, save

KERNELS = (Kernel("linear", 2), Kernel("gaussian", 2), Kernel("diffusion", 2))
FEW = RankBoostRanker(n_rounds=12, n_bins=16)


def make_world(n_lists=8, n_docs=12, n_features=4, seed=0):
    """Lists whose grades follow the first feature, with noise."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_lists), n_docs)
    X = rng.normal(size=(len(qid), n_features)) * [1, 3, 1, 2]
    y = np.digitize(X[:, 0] + rng.normal(0, 0.5, len(qid)), [0.3, 1.2]) * 1.0
    return X, y, qid


X, Y, QID = make_world()
NEW, NEW_Y, NEW_QID = make_world(n_lists=3, seed=9)


def lists_of(X, y, qid):
    starts = np.concatenate([[0], np.cumsum(np.bincount(qid))])
    return Lists(X, y, starts, [str(n) for n in range(len(starts) - 1)], [""] * len(y))


def by_hand(base, discover, adapt, X_list):
    """Algorithms 2 and 4 of the paper, one list, nothing shared."""
    train, test, target, source = X, X_list, X_list, X
    weights = None
    if discover is not None:
        found = KernelPca(KERNELS).fit(X_list)
        source, target = found.transform(X), found.transform(X_list)
        train, test = np.hstack([X, source]), np.hstack([X_list, target])
    rows = group_rows(train, Y, QID)
    if adapt:
        weights = KliepAdaptation().weights(rows, source, target)
    return base.fit_prepared(base.prepare(rows), weights=weights).stumps_.score(test)


@pytest.mark.parametrize(("discover", "adapt"), [(True, False), (False, True), (True, True)])
def test_equals_the_meta_algorithm_by_hand(discover, adapt):
    base = (AdaCostRanker if adapt else RankBoostRanker)(n_rounds=12, n_bins=16)
    ranker = TransductiveRanker(
        base, KernelPca(KERNELS) if discover else None, KliepAdaptation() if adapt else None, threads=2
    )
    scores = ranker.fit(X, Y, QID).predict(NEW, NEW_QID)
    for number in range(3):
        rows = number == NEW_QID
        order = np.lexsort(NEW[rows].T[::-1])
        np.testing.assert_allclose(scores[rows][order], by_hand(base, discover or None, adapt, NEW[rows][order]))


def test_rows_may_come_in_any_order_and_threads_change_no_bit():
    order = np.random.default_rng(1).permutation(len(NEW))
    found = [
        TransductiveRanker(FEW, KernelPca(KERNELS), threads=threads).fit(X, Y, QID).predict(NEW, NEW_QID)
        for threads in (1, 2, 4)
    ]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    ranker = TransductiveRanker(FEW, KernelPca(KERNELS), threads=2).fit(X, Y, QID)
    assert np.array_equal(ranker.predict(NEW[order], NEW_QID[order]), found[0][order])


def test_another_backend_of_joblib_gives_the_same_bits():
    ranker = TransductiveRanker(FEW, KernelPca(KERNELS), threads=1).fit(X, Y, QID)
    with parallel_config(backend="sequential"):
        assert np.array_equal(ranker.predict(NEW, NEW_QID), ranker.set_params(threads=2).predict(NEW, NEW_QID))


def test_importance_weights_find_the_lists_that_are_alike():
    """In half of the training lists more is better, in the others less; only the place of a list tells which."""
    rng = np.random.default_rng(0)
    n_lists, n_docs = 20, 15
    qid = np.repeat(np.arange(n_lists), n_docs)
    flipped = qid % 2 == 1
    value = rng.normal(size=len(qid))
    spread = np.where(flipped, 12.0, 1.0) * rng.normal(size=len(qid))  # what tells the two kinds apart
    y = np.where(flipped, -value, value) > 0.5
    table = np.column_stack([value, spread])
    ranker = TransductiveRanker(RankBoostRanker(n_rounds=5), adapt=KliepAdaptation(), threads=1).fit(table, y, qid)
    new = rng.normal(size=30)
    wide = ranker.predict(np.column_stack([new, 12 * rng.normal(size=30)]), np.zeros(30))
    narrow = ranker.predict(np.column_stack([new, rng.normal(size=30)]), np.zeros(30))
    assert np.corrcoef(new, wide)[0, 1] < -0.3
    assert np.corrcoef(new, narrow)[0, 1] > 0.3


def test_validation_chooses_the_number_of_rounds_over_all_its_lists():
    validation = lists_of(NEW, NEW_Y, NEW_QID)
    ranker = TransductiveRanker(FEW, KernelPca(KERNELS), threads=1).fit(X, Y, QID, validation=validation)
    assert 1 <= ranker.n_rounds_ <= 12
    np.testing.assert_allclose(ranker.validation_scores_, ranker.predict(NEW, NEW_QID))
    staged = [np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 0.0]])]
    assert best_stage(staged, [np.array([1.0, 0.0]), np.array([1.0, 0.0])], "AP") == 2
    few = TransductiveRanker(FEW, KernelPca(KERNELS), n_validation=2, threads=1).fit(X, Y, QID, validation=validation)
    assert np.isnan(few.validation_scores_).sum() == 12


def test_averaged_scores_are_the_mean_over_rounds():
    averaged = TransductiveRanker(FEW, KernelPca(KERNELS), average=True, threads=1).fit(X, Y, QID)
    rows = NEW_QID == 0
    stages = [
        TransductiveRanker(FEW, KernelPca(KERNELS), threads=1)
        .set_params(base__n_rounds=n)
        .fit(X, Y, QID)
        .predict(NEW[rows], NEW_QID[rows])
        for n in range(1, 13)
    ]
    np.testing.assert_allclose(averaged.predict(NEW[rows], NEW_QID[rows]), np.mean(stages, axis=0))


def test_unjudged_rows_change_nothing_but_discovery_and_adaptation():
    y = np.where(np.arange(len(Y)) % 3 == 0, np.nan, Y)
    judged = ~np.isnan(y)
    for adapt in (None, KliepAdaptation()):
        make = lambda adapt=adapt: TransductiveRanker(FEW, None if adapt else KernelPca(KERNELS), adapt, threads=1)  # noqa: E731
        whole, part = make().fit(X, y, QID), make().fit(X[judged], y[judged], QID[judged])
        same = np.allclose(whole.predict(NEW, NEW_QID), part.predict(NEW, NEW_QID))
        assert same == (adapt is None)  # deviations of features are over all rows


def test_any_transformer_may_discover():
    ranker = TransductiveRanker(FEW, PCA(2), threads=1).fit(X, Y, QID)
    assert np.isfinite(ranker.predict(NEW, NEW_QID)).all()


def test_lightgbm_as_base_takes_row_weights():
    lightgbm = pytest.importorskip("lightgbm")
    base = lightgbm.LGBMRanker(n_estimators=5, num_leaves=4, min_child_samples=2, verbose=-1, n_jobs=1)
    y = np.where(np.arange(len(Y)) % 5 == 0, np.nan, Y)
    ranker = TransductiveRanker(base, KernelPca(KERNELS), KliepAdaptation(), threads=1).fit(X, y, QID)
    rows = NEW_QID == 1
    target = NEW[rows][np.lexsort(NEW[rows].T[::-1])]
    scores = ranker.predict(target, np.zeros(len(target)))
    fitted, features, _ = ranker.train_for(target)
    assert features.shape == (12, 4 + 6)
    np.testing.assert_allclose(scores, fitted.predict(features))
    judged = ~np.isnan(y)
    found = KernelPca(KERNELS).fit(target)
    wide = group_rows(X, y, QID)
    weights = KliepAdaptation().weights(wide, found.transform(X), found.transform(target))
    oracle = base.fit(
        np.hstack([X, found.transform(X)])[judged],
        y[judged],
        group=np.bincount(QID[judged]),
        sample_weight=convert_weights(weights, "pair", "row", wide)[judged],
    )
    np.testing.assert_allclose(scores, oracle.predict(features))


def test_short_lists_are_cut_counted_and_warned_of_once():
    ranker = TransductiveRanker(FEW, KernelPca(), threads=1).fit(X, Y, QID)
    with pytest.warns(UserWarning, match="too few documents for the requested components in 2 of 3 lists") as caught:
        scores = ranker.predict(NEW[:7], [0, 0, 0, 1, 1, 1, 2])
    assert len(caught) == 1
    assert np.isfinite(scores).all()
    assert scores[6] == 0  # a list of one document is in order


@pytest.mark.parametrize(
    ("ranker", "problem"),
    [
        (TransductiveRanker(), "both None"),
        (TransductiveRanker(discover=KernelPca(), mode="fast"), "mode is 'fast'"),
        (TransductiveRanker(discover=KernelPca(), adapt=KliepAdaptation(), mode="precomputed"), "want one of them"),
        (TransductiveRanker(PCA(2), discover=KernelPca()), "takes no lists"),
        (TransductiveRanker(discover=KernelPca(), n_validation=0), "n_validation is 0"),
    ],
)
def test_wrong_use_is_told(ranker, problem):
    with pytest.raises(UsageError if "n_validation" not in problem else TacitError, match=problem):
        ranker.fit(X, Y, QID)


def test_nothing_to_learn_from_is_told_and_missing_values_are_filled_in():
    with pytest.raises(TacitError, match="no two rows of one list have different grades"):
        TransductiveRanker(discover=KernelPca()).fit(X, np.ones(len(X)), QID)
    holes = np.where(X > 2, np.nan, X)
    ranker = TransductiveRanker(discover=KernelPca((Kernel("linear", 2),)), threads=1).fit(holes, Y, QID)
    assert np.isfinite(ranker.predict(holes, QID)).all()


@pytest.mark.parametrize("given", LEVELS)
@pytest.mark.parametrize("wanted", LEVELS)
def test_weights_lead_from_level_to_level(given, wanted):
    rows = group_rows(X, np.where(np.arange(len(Y)) % 4 == 0, np.nan, Y), QID)
    n = {"pair": len(rows.pairs), "row": len(rows.y), "list": rows.n_lists}
    ones = convert_weights(np.ones(n[given]), given, wanted, rows)
    assert ones.tolist() == pytest.approx([1] * n[wanted])
    weights = np.random.default_rng(0).random(n[given]) + 0.1
    converted = convert_weights(weights, given, wanted, rows)
    assert converted.shape == (n[wanted],)
    if given != wanted:
        assert converted.mean() == pytest.approx(1)


def test_row_weights_are_means_over_pairs():
    rows = Rows(np.zeros((3, 1)), np.array([2, 1, 0.0]), np.array([0, 3]), np.arange(3))
    pairs = list(zip(rows.pairs.better, rows.pairs.worse, strict=True))
    weights = np.array([{(0, 1): 1.0, (0, 2): 3.0, (1, 2): 2.0}[int(a), int(b)] for a, b in pairs])
    # means 2, 1.5, 2.5, which have the mean 2
    assert convert_weights(weights, "pair", "row", rows).tolist() == pytest.approx([1.0, 0.75, 1.25])


@pytest.mark.parametrize("source", ["own", "pooled"])
def test_controls_learn_once_from_own_or_pooled_directions(source):
    ranker = DiscoveredFeaturesRanker(FEW, KernelPca(KERNELS), source).fit(X, Y, QID)
    rows = NEW_QID == 2
    scores = ranker.predict(NEW, NEW_QID)
    np.testing.assert_allclose(ranker.predict(NEW[rows], NEW_QID[rows]), scores[rows])
    found = KernelPca(KERNELS).fit(NEW[rows]) if source == "own" else ranker.pooled_
    wanted = ranker.ranker_.stumps_.score(np.hstack([NEW[rows], found.transform(NEW[rows])]))
    np.testing.assert_allclose(scores[rows], wanted)


def test_one_of_several_transformers_is_chosen_on_validation_lists(tmp_path):
    validation = lists_of(NEW, NEW_Y, NEW_QID)
    kernels = (Kernel("gaussian", 2, width=0.1),), (Kernel("linear", 2),), (Kernel("diffusion", 2, tau=9),)
    several = tuple(KernelPca(k, scale=False) for k in kernels)
    ranker = TransductiveRanker(FEW, several, threads=1).fit(X, Y, QID, validation=validation)
    alone = [TransductiveRanker(FEW, one, threads=1).fit(X, Y, QID, validation=validation) for one in several]
    values = [evaluate_rows(NEW_Y, one.validation_scores_, NEW_QID, "AP").means()["AP"] for one in alone]
    assert ranker.choice_ == int(np.argmax(values))
    assert np.array_equal(ranker.predict(NEW, NEW_QID), alone[ranker.choice_].predict(NEW, NEW_QID))
    save(ranker, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(NEW, NEW_QID), ranker.predict(NEW, NEW_QID))
    first = TransductiveRanker(FEW, several, threads=1).fit(X, Y, QID)
    assert first.choice_ == 0
    with pytest.raises(UsageError, match="discover is a int, want an object with 'transform'"):
        TransductiveRanker(FEW, (KernelPca(KERNELS), 3)).fit(X, Y, QID)


def test_printed_forms_are_kernels_of_raw_features_and_the_likeliest_bandwidth():
    fg, iw = (METHODS[name].make() for name in ("fg-printed", "iw-printed"))
    assert all(not pca.scale and not pca.center for pca in fg._transformers())
    varied = {
        (kernel.kind, kernel.n_components, kernel.degree, kernel.width, kernel.tau)
        for pca in fg._transformers()
        for kernel in pca.kernels
    }
    assert len({degree for kind, _, degree, _, _ in varied if kind == "polynomial"}) > 1
    assert len({width for kind, _, _, width, _ in varied if kind == "gaussian"}) > 1
    assert len({tau for kind, _, _, _, tau in varied if kind == "diffusion"}) > 1
    assert len({n for _, n, _, _, _ in varied}) > 2
    assert not iw._adapt().cautious
    assert fg._base().n_rounds == iw._base().n_rounds == METHODS["rankboost"].make().n_rounds


def test_clipped_weights_have_no_tail():
    rows = group_rows(X, Y, QID)
    plain, clipped = (KliepAdaptation(clip=clip).weights(rows, X, NEW[NEW_QID == 0]) for clip in (None, 0.8))
    assert clipped.mean() == pytest.approx(1)
    assert (clipped == clipped.max()).sum() >= 0.2 * len(clipped)
    kept = plain < np.quantile(plain, 0.8)
    np.testing.assert_allclose(clipped[kept] / clipped[kept].sum(), plain[kept] / plain[kept].sum())
    with pytest.raises(TacitError, match="clip is 2"):
        KliepAdaptation(clip=2).weights(rows, X, NEW)


@pytest.mark.parametrize("kind", [TransductiveRanker, DiscoveredFeaturesRanker])
def test_lists_are_scaled_each_by_its_own_statistics(kind):
    params = {"base": FEW, "discover": KernelPca(KERNELS)}
    scaled = kind(**params, scale="zscore").fit(X, Y, QID)
    plain = kind(**params).fit(scale_within_lists(X, QID, "zscore"), Y, QID)
    expected = plain.predict(scale_within_lists(NEW, NEW_QID, "zscore"), NEW_QID)
    np.testing.assert_array_equal(scaled.predict(NEW, NEW_QID), expected)


def test_a_base_that_scales_lists_is_refused():
    with pytest.raises(UsageError, match="scale of the TransductiveRanker itself"):
        TransductiveRanker(base=RankBoostRanker(scale="zscore"), discover="kernel-pca").fit(X, Y, QID)
