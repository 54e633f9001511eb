"""Inputs of `fit` and `add_items` beside rows and pairs: which ranker accepts which, and what is checked of them."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import TacitError, UsageError
from tacit.retrieve import METHODS, BlendRanker, Bm25Ranker
from tacit.retrieve.training_data import ITEM_INPUTS, Terms, TrainingData
from tacit.search.two_stage import TwoStageRanker

ITEMS = sp.csr_array(np.array([[2, 1, 0], [0, 1, 1], [1, 0, 2]], np.float32))
NO_WORDS = np.empty(0, np.int64)
WRONG = {  # inputs that do not match ITEMS, and what the error says
    "titles": (ITEMS[:2], r"titles have shape \(2, 3\), want the shape of the items, \(3, 3\)"),
    "title_keys": (np.zeros(2, np.int64), r"keys of titles have shape \(2,\)"),
    "terms": (Terms(["a", "b"], NO_WORDS), "terms hold 2 words, want one for each of 3 columns"),
    "vectors": (np.ones((2, 4)), "vectors have 2 rows, want 3"),
    "passages": (np.array([0, 1, 1, 2]), "passages have 4 borders, want 4, rising from 0"),
}


@pytest.mark.parametrize("name", METHODS)
def test_every_ranker_reads_inputs_that_fit_knows(name):
    assert METHODS[name].make().reads <= {field.name for field in fields(TrainingData)}


def test_inputs_that_a_ranker_does_not_read_are_refused():
    with pytest.raises(UsageError, match=r"input of the ranker is 'titles'"):
        Bm25Ranker().fit(None, ITEMS, titles=ITEMS)
    with pytest.raises(UsageError, match=r"'title', want one of members, .*did you mean 'titles'"):
        BlendRanker(dim=2).fit(None, ITEMS, title=ITEMS)
    with pytest.raises(UsageError, match=f"'zeros', want one of {', '.join(sorted(ITEM_INPUTS))}"):
        BlendRanker(dim=2).fit(None, ITEMS).add_items(ITEMS[:1], zeros=None)
    assert "vectors" not in TwoStageRanker(Bm25Ranker()).reads


def test_two_stages_read_what_their_first_stage_reads_but_grades_of_programs():
    assert TwoStageRanker().reads == BlendRanker().reads - {"program"}
    assert TwoStageRanker(Bm25Ranker()).reads == {"titles", "zeros"}


def test_every_input_of_items_is_checked_below():
    assert WRONG.keys() == ITEM_INPUTS


@pytest.mark.parametrize("name", sorted(WRONG))
def test_inputs_that_do_not_match_the_items_are_refused(name):
    value, message = WRONG[name]
    with pytest.raises(TacitError, match=message):
        BlendRanker(dim=2).fit(None, ITEMS, **{name: value})
    fitted = BlendRanker(dim=2).fit(None, ITEMS, vectors=np.eye(3, 4))
    with pytest.raises(TacitError, match=message):
        fitted.add_items(ITEMS, **{name: value})
    assert fitted.n_items_ == 3
