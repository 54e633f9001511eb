"""LightGBM's own prediction is the oracle, bit for bit; a text that it could not score is refused in one line."""

import random
import re

import numpy as np
import pytest

from tacit.core import StoreError
from tacit.rerank import LightGbmRanker
from tacit.rerank.boosting.lightgbm import read_trees

lightgbm = pytest.importorskip("lightgbm")


def fitted(seed=0, missing=0.2, **params):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(200, 4)), 1)
    X[rng.random(X.shape) < missing] = np.nan
    return LightGbmRanker(**{"n_trees": 5, **params}).fit(X, rng.integers(0, 3, 200), np.repeat(np.arange(20), 10)), X


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("params", [{}, {"n_leaf_rows": 1, "n_leaves": 60}, {"n_leaf_rows": 99}])
def test_scores_have_the_bits_of_lightgbm(missing, params):
    ranker, X = fitted(1, missing, **params)
    extreme = np.array([[0.0, -0.0, 1e308, -1e308], [np.nan] * 4, [5e-324, 1e-36, -1e-36, 0], [1e300] * 4])
    X = np.concatenate([X, extreme, np.random.default_rng(2).normal(size=(200, 4))])
    booster = lightgbm.Booster(model_str=ranker.model_.tobytes().decode())
    assert ranker.predict(X).tolist() == booster.predict(X, raw_score=True, num_threads=1).tolist()


def text_of(ranker):
    return ranker.model_.tobytes().decode()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("num_class=1", "num_class=2", "has num_class=2, want 1"),
        ("num_tree_per_iteration=1", "x=1", "has num_tree_per_iteration=None"),
        ("^tree", "linear", "does not begin"),
        ("num_leaves=[0-9]+", "num_leaves=99999999999", "num_leaves is '99999999999', want 1 to 131072"),
        ("num_cat=0", "num_cat=1", "splits of categories"),
        ("is_linear=0", "is_linear=1", "linear leaves"),
        ("split_feature=[0-9]", "split_feature=9", "a split has feature 9, want 0 to 3"),
        ("split_feature=[0-9]", "split_feature=-1", "a split has feature"),
        ("threshold=[^ ]*", "threshold=nan", "is not finite"),
        ("leaf_value=[^ ]*", "leaf_value=inf", "is not finite"),
        ("leaf_value=[^ ]* ", "leaf_value=", "leaf_value has [0-9]+ numbers, want"),
        ("decision_type=[0-9]+", "decision_type=1", "a decision_type"),
        ("decision_type=[0-9]+", "decision_type=x", "decision_type contains a value that is not a number"),
        ("left_child=[^ ]*", "left_child=0", "its nodes do not form a tree"),
        ("left_child=[^ ]*", "left_child=-1", "its nodes do not form a tree"),
        ("left_child=[^ ]*", "left_child=99999999999999999999999", "not a number"),
        ("Tree=", "Bush=", "has no tree"),
        ("tree", "\u00e9", "is not text"),
    ],
)
def test_a_text_that_cannot_be_scored_is_refused_by_its_line(old, new, message):
    ranker, _ = fitted()
    changed = re.sub(old, new, text_of(ranker), flags=re.MULTILINE)
    with pytest.raises(StoreError, match=message):
        read_trees(changed.encode(), 4)


def test_nodes_that_lead_back_are_no_tree():
    ranker, _ = fitted()
    text = text_of(ranker)
    left = re.search("left_child=(.*)", text)[1].split(" ")
    later = next(place for place, child in enumerate(left) if int(child) > 0)
    turned = [*left]
    turned[later] = str(later)
    with pytest.raises(StoreError, match="its nodes do not form a tree"):
        read_trees(text.replace(" ".join(left), " ".join(turned), 1).encode(), 4)


def test_random_changes_are_refused_or_give_finite_scores():
    ranker, X = fitted()
    text, chance = text_of(ranker).split("end of parameters")[0], random.Random(0)
    n_refused = 0
    for _ in range(400):
        changed = list(text)
        for _ in range(chance.choice([1, 3, 30])):
            at = chance.randrange(len(text.split("end of trees")[0]))
            piece = chance.choice(["", "9", "-", " ", "\n", "=", "e", text[at : at + chance.randrange(200)]])
            changed[at : at + chance.choice([0, 1, 5])] = piece
        try:
            trees = read_trees("".join(changed).encode(), 4)
        except StoreError as error:
            n_refused += 1
            refusal = str(error)
        else:
            assert np.isfinite(trees.predict(X)).all()
            continue
        assert "\n" not in refusal
    assert 50 < n_refused < 400
