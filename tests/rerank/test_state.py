"""A ranker of lists comes back from its folder with the same bits; foreign folders and objects are refused."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit.core import NotFittedError, StoreError, TacitError
from tacit.rerank import RankBoostRanker, TransductiveRanker, get_method
from tacit.search import load, save
from tacit.store import Stored, check_storable, load_model, save_model


@pytest.fixture
def ranker():
    rng = np.random.default_rng(0)
    return RankBoostRanker(n_rounds=9).fit(rng.normal(size=(20, 3)), rng.integers(0, 3, 20))


def test_roundtrip(tmp_path, ranker):
    save(ranker, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.get_params() == ranker.get_params()
    X = np.random.default_rng(1).normal(size=(7, 3))
    assert np.array_equal(again.predict(X), ranker.predict(X))


def change(tmp_path, ranker, params=None, arrays=None):
    save(ranker, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    changed = Stored(stored.kind, stored.params | (params or {}), stored.arrays | (arrays or {}))
    save_model(tmp_path / "model", changed)
    return tmp_path / "model"


@pytest.mark.parametrize(
    ("params", "arrays", "problem"),
    [
        ({"class": "Popen"}, {}, "'Popen' is no estimator"),
        ({"params": {"n_stumps": 3}}, {}, "parameters do not fit"),
        ({}, {"stump_weights_": np.zeros(2)}, "stump_weights_"),
        ({}, {"stump_weights_": np.full(9, np.nan)}, "NaN"),
        ({}, {"stump_features_": np.full(9, 3)}, "feature 3"),
        ({}, {"stump_features_": np.full(9, -1)}, "feature"),
        ({}, {"stump_features_": np.zeros(9)}, "want int64"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, ranker, params, arrays, problem):
    path = change(tmp_path, ranker, params, arrays)
    with pytest.raises(StoreError, match=problem):
        load(path)


def test_what_cannot_be_saved_is_refused_before_training():
    ranker = TransductiveRanker(LogisticRegression(), discover="kernel-pca")
    with pytest.raises(TacitError, match="parameter base of TransductiveRanker is of type LogisticRegression"):
        check_storable(ranker)


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("fg", {"train_starts_": np.array([0, 99])}, "are incomplete"),
        ("fg", {"train_grades_": np.zeros(24)}, "no two rows"),
        ("fg", {"train_pairs_": np.array([[0, 99]]), "train_pair_weights_": np.ones(1)}, "pairs has row 99"),
        ("kpca-pooled", {"ranker_/stump_features_": np.full(3, 99)}, "feature 99"),
        ("kpca-pooled", {"pooled_/range_": np.zeros((2, 3))}, "do not fit"),
        ("fg-precomputed", {"bank_/starts_": np.array([0, 2])}, "do not fit its mixture"),
        ("guarded", {"rankers_/1/train_X_": np.full((24, 3), np.inf)}, "infinity"),
    ],
)
def test_damaged_composites_are_refused(tmp_path, name, change, problem):
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(24, 3)), rng.integers(0, 3, 24), np.repeat(np.arange(4), 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short lists
        ranker = get_method(name).offer(threads=1)
        if "base" in ranker.get_params(deep=False):
            ranker.set_params(base=RankBoostRanker(n_rounds=3))
        ranker.fit(X, y, qid)
    save(ranker, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    save_model(tmp_path / "model", Stored(stored.kind, stored.params, stored.arrays | change))
    with pytest.raises(StoreError, match=problem):
        load(tmp_path / "model")


def test_records_of_training_do_not_stop_a_save(tmp_path, ranker):
    ranker.losses_ = [0.5, {"epoch": np.zeros(2)}, None]
    save(ranker, tmp_path / "model")


def test_unfitted_rankers_are_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save(RankBoostRanker(), tmp_path / "model")
