"""The guard takes what helps and leaves what harms; banks of rankers match lists."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from tacit.core import Lists
from tacit.features.kernel_pca import Kernel, KernelPca
from tacit.metrics import evaluate_rows
from tacit.rerank.boosting.rankboost import AdaCostRanker, RankBoostRanker
from tacit.rerank.rows import Rows
from tacit.rerank.transduction.guarded import AveragedRanker, Guard, GuardedRanker, learn_guard, standardise
from tacit.rerank.transduction.precomputed import leading_directions, squared_cosine
from tacit.rerank.transduction.ranker import TransductiveRanker

KERNELS = KernelPca((Kernel("linear", 2), Kernel("gaussian", 2)), clip=0.01)


def make_lists(n_lists=10, n_docs=15, seed=0):
    rng = np.random.default_rng(seed)
    n_rows = n_lists * n_docs
    X = rng.normal(size=(n_rows, 4)) * [1, 3, 1, 2]
    y = np.digitize(X[:, 0] + rng.normal(0, 0.5, n_rows), [0.3, 1.2]) * 1.0
    names = [str(n) for n in range(n_lists)]
    return Lists(X, y, np.arange(0, n_rows + 1, n_docs), names, [""] * n_rows)


TRAIN, VALI, TEST = (make_lists(n, seed=seed) for n, seed in ((8, 0), (6, 1), (4, 2)))


def test_learns_to_trust_what_is_right_and_not_what_is_wrong():
    rows = Rows.of(VALI)
    noise = np.random.default_rng(0).normal(size=len(VALI.y))
    assert learn_guard(noise, VALI.y, rows).share > 0.5
    assert learn_guard(VALI.y, -VALI.y, rows, n_standard_errors=0.5) == Guard()
    assert learn_guard(VALI.y, noise, rows) == Guard()
    unknown = np.full(len(VALI.y), np.nan)
    assert learn_guard(noise, unknown, rows) == Guard()
    half = np.where(VALI.qid < 3, VALI.y, np.nan)
    assert learn_guard(noise, half, rows).share > 0.5


def test_short_lists_stay_near_the_supervised_score():
    supervised, transductive = np.array([1, 0, 1, 0, 1, 0.0]), np.array([0, 1, 0, 1, 0, 1.0])
    starts = np.array([0, 2, 6])
    blended = Guard(share=1.0, size=3.0).blend(supervised, transductive, starts)
    np.testing.assert_allclose(blended[:2], [0.2, -0.2])  # trusted 2 / 5
    np.testing.assert_allclose(blended[2:], [-1 / 7, 1 / 7] * 2)  # trusted 4 / 7
    assert standardise(np.array([3.0, 3.0]), np.array([0, 2])).tolist() == [0, 0]


def test_guarded_is_the_blend_of_both_in_any_order_of_rows():
    parts = (
        AveragedRanker(RankBoostRanker(20)),
        TransductiveRanker(RankBoostRanker(20), KERNELS, average=True, threads=1),
    )
    ranker = GuardedRanker(*parts).fit(TRAIN.X, TRAIN.y, TRAIN.qid, validation=VALI)
    for part in parts:
        part.fit(TRAIN.X, TRAIN.y, TRAIN.qid)
    ranker.share_, ranker.size_ = 0.5, 20.0
    scores = [part.predict(TEST.X, TEST.qid) for part in parts]
    wanted = Guard(0.5, 20.0).blend(*scores, TEST.starts)
    order = np.random.default_rng(0).permutation(len(TEST.y))
    np.testing.assert_allclose(ranker.predict(TEST.X, TEST.qid), wanted)
    np.testing.assert_allclose(ranker.predict(TEST.X[order], TEST.qid[order]), wanted[order], atol=1e-9)
    assert set(ranker.chosen()) == {"share", "size"}


def test_guarded_works_as_it_stands_and_without_validation_lists():
    for train, validation in ((TRAIN, VALI), (TRAIN, None), (make_lists(12, seed=0), None)):
        ranker = GuardedRanker(threads=1).fit(train.X, train.y, train.qid, validation=validation)
        scores = ranker.predict(TEST.X, TEST.qid)
        assert evaluate_rows(TEST.y, scores, TEST.qid, "AP").means()["AP"] > 0.8
        assert validation is not None or len(train) > 10 or ranker.share_ == 0


def test_averaged_rounds():
    ranker = AveragedRanker(RankBoostRanker(6)).fit(TRAIN.X, TRAIN.y, TRAIN.qid)
    staged = list(RankBoostRanker(6).fit(TRAIN.X, TRAIN.y, TRAIN.qid).staged_predict(TEST.X))
    np.testing.assert_allclose(ranker.predict(TEST.X), np.mean(staged, axis=0))


def test_principal_angles_are_those_of_scipy():
    rng = np.random.default_rng(3)
    A, B = (leading_directions(rng.normal(size=(n, 9))) for n in (30, 5))
    assert (A.shape[1], B.shape[1]) == (7, 4)
    assert squared_cosine(A, B) == pytest.approx((np.cos(subspace_angles(A, B)) ** 2).mean())
    assert squared_cosine(A, A) == pytest.approx(1)


@pytest.mark.parametrize("kind", ["bases", "weightings"])
def test_precomputed_rankers_are_mixed_and_rank_well(kind):
    options = {"discover": KERNELS} if kind == "bases" else {"adapt": "kliep"}
    base = (RankBoostRanker if kind == "bases" else AdaCostRanker)(n_rounds=15)
    made = [
        TransductiveRanker(base, mode="precomputed", n_precomputed=4, threads=threads, **options) for threads in (1, 3)
    ]
    one, three = (ranker.fit(TRAIN.X, TRAIN.y, TRAIN.qid, validation=VALI) for ranker in made)
    scores = one.predict(TEST.X, TEST.qid)
    assert np.array_equal(scores, three.predict(TEST.X, TEST.qid))
    assert evaluate_rows(TEST.y, scores, TEST.qid, "AP").means()["AP"] > 0.8
    shares = one.bank_.mixture(TEST.X[:15])
    assert shares.sum() == pytest.approx(1)
    assert shares.min() >= 0
    assert len(one.bank_.rankers_) == 4
    assert 1 <= one.n_rounds_ <= 15


def test_mean_embedding_is_that_of_all_pairs_and_the_mixture_finds_its_source():
    ranker = TransductiveRanker(AdaCostRanker(3), adapt="kliep", mode="precomputed", n_precomputed=3, threads=1)
    bank = ranker.fit(TRAIN.X, TRAIN.y, TRAIN.qid).bank_
    x = bank._scaled(TEST.X[:15])
    waves = np.array([np.cos((a - b) @ bank.frequencies_) for a in x for b in x])
    np.testing.assert_allclose(bank.embed(TEST.X[:15]), waves.mean(axis=0), atol=1e-12)
    bank.embed = lambda X: bank.embeddings_[1]
    np.testing.assert_allclose(bank.mixture(TEST.X[:15]), [0, 1, 0], atol=1e-2)
