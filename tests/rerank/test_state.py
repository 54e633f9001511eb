"""A ranker of lists comes back from its folder with the same bits; foreign folders and objects are refused."""

import numpy as np
import pytest

from tacit.core import NotFittedError, StoreError, TacitError
from tacit.rerank.boosting.rankboost import RankBoostRanker
from tacit.search import load, save
from tacit.store import Stored, load_model, save_model


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
        ({"class": "Popen"}, {}, "'Popen' is no ranker"),
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


def test_models_of_objects_are_not_saved(tmp_path, ranker):
    ranker.learner_ = RankBoostRanker()
    with pytest.raises(TacitError, match=r"more than arrays \(learner_\)"):
        save(ranker, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_records_of_training_do_not_stop_a_save(tmp_path, ranker):
    ranker.losses_ = [0.5, {"epoch": np.zeros(2)}, None]
    save(ranker, tmp_path / "model")


def test_unfitted_rankers_are_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save(RankBoostRanker(), tmp_path / "model")
