"""`tacit warm` compiles what the first fit and search call; a served model is searched before it is ready."""

import numpy as np
import pytest

from tacit.core import Collection
from tacit.kernels import counting, scoring, topk
from tacit.search import Searcher
from tacit.search.warming import warm_searcher


@pytest.mark.slow
def test_warm_has_the_loops_ready(tacit):
    code, out, _ = tacit("warm")
    assert code == 0
    assert out.startswith("the compiled loops are ready")
    called = (counting.number_words, scoring.add_sparse_scores, scoring.add_dense_scores, topk.top_k_rows)
    ready = [len(loop.signatures) for loop in called]
    documents = Collection(["a", "b"], ["Cats", ""], ["they purr a lot", "they bark"])
    Searcher("blend").fit(documents).search("cats that purr")
    assert [len(loop.signatures) for loop in called] == ready
    assert min(ready) > 0


def test_any_model_can_be_warmed(monkeypatch):
    asked = []
    searcher = Searcher("bm25").fit(Collection(["a", "b"], ["", ""], ["  ", "they bark"]))
    monkeypatch.setattr(searcher, "search", asked.append)
    warm_searcher(searcher)
    assert asked == []
    searcher.documents_ = searcher.documents_.take(np.array([1, 0]))
    warm_searcher(searcher)
    assert asked == ["they", "they bark"]
