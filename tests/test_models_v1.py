"""Model folders of format version 1, one for each method that could be saved, written once and kept.

Every later tacit must read them and give the scores that `expected.json` holds. They are never to be written again.
Scores are compared within float32 rounding, since sums may be ordered otherwise on another kind of processor.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tacit.core import UsageError
from tacit.search import load

FOLDER = Path(__file__).parent / "models_v1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


@pytest.mark.parametrize("method", sorted(EXPECTED["collections"]))
def test_rankers_of_collections(method):
    searcher = load(FOLDER / method)
    found = searcher.ranker_.scores(searcher.features(EXPECTED["queries"]))
    np.testing.assert_allclose(found, EXPECTED["collections"][method], rtol=1e-5, atol=1e-5)


def test_bm25_of_version_1_says_that_it_takes_no_new_items():
    ranker = load(FOLDER / "bm25").ranker_
    assert (ranker.n_added_, ranker.n_removed_) == (0, 0)
    with pytest.raises(UsageError, match="takes no new items: fit it again"):
        ranker.add_items(ranker.weights_[:1] > 0)


@pytest.mark.parametrize("method", sorted(EXPECTED["across"]))
def test_rankers_across_languages(method):
    searcher = load(FOLDER / method)
    found = searcher.ranker_.scores(searcher.features(EXPECTED["cross_queries"]))
    np.testing.assert_allclose(found, EXPECTED["across"][method], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", sorted(EXPECTED["graphs"]))
def test_graph_embeddings(method):
    found = load(FOLDER / method).embed(np.array(EXPECTED["points"]))
    np.testing.assert_allclose(found, EXPECTED["graphs"][method], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", sorted(EXPECTED["lists"]))
def test_rankers_of_lists(method):
    ranker = load(FOLDER / method)
    assert ranker.method_ == method
    found = ranker.predict(np.array(EXPECTED["rows"]), EXPECTED["row_lists"])
    np.testing.assert_allclose(found, EXPECTED["lists"][method], rtol=1e-6, atol=1e-7)
