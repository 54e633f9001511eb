"""Texts become lists: candidates of BM25, unjudged apart from judged 0, scores of models as columns."""

import numpy as np
import pytest

from tacit.core import Collection, Judgments, TacitError
from tacit.data import read_collection, read_letor, read_qrels, read_queries, write_letor
from tacit.search import Searcher
from tacit.search.text_lists import make_text_lists

DOCS = Collection(["cat", "dog", "owl"], ["Cats", "Dogs", ""], ["cats purr and dogs bark", "dogs bark", "owls watch"])
QUERIES = Collection(["1", "2", "3"], [""] * 3, ["dogs that bark", "zyzzyva", "owls"])
JUDGED = Judgments.from_dict({"1": {"dog": 2, "owl": 0}})


def test_candidates_are_bm25s_and_unjudged_is_not_zero():
    lists, names, unanswered = make_text_lists(DOCS, QUERIES, JUDGED)
    assert (lists.query_ids, list(lists.doc_ids)) == (["1", "3"], ["dog", "cat", "owl"])
    np.testing.assert_array_equal(lists.y, [2, np.nan, np.nan])
    assert unanswered == ["2"]
    assert (len(names), lists.X.shape) == (33, (3, 33))
    assert lists.X[:, names.index("title.tf")].tolist() == [1, 0, 0]
    assert lists.X[0, names.index("both.bm25")] > lists.X[1, names.index("both.bm25")]


def test_complete_judgments_make_the_rest_zero_but_not_of_queries_nobody_judged():
    lists = make_text_lists(DOCS, QUERIES, JUDGED, complete=True).lists
    np.testing.assert_array_equal(lists.y, [2, 0, np.nan])


def test_models_add_their_scores():
    model = Searcher("tfidf").fit(DOCS.take([2, 1, 0]))
    lists, names, _ = make_text_lists(DOCS, QUERIES, models=[model])
    assert names[-1] == "model.tfidf"
    assert lists.X[0, -1] == pytest.approx(model.search("dogs that bark")[0].score)
    twice = make_text_lists(DOCS, QUERIES, models=[model, model])
    assert twice.names[-2:] == ["model.tfidf.1", "model.tfidf.2"]
    with pytest.raises(TacitError, match="does not know 1 of 3 documents, the first is 'cat'"):
        make_text_lists(DOCS, QUERIES, models=[Searcher("tfidf").fit(DOCS.take([1, 2]))])


def test_nothing_in_common_is_an_error():
    with pytest.raises(TacitError, match="none of 1 query"):
        make_text_lists(DOCS, QUERIES.take([1]))
    with pytest.raises(TacitError, match="no documents"):
        make_text_lists(DOCS.take([]), QUERIES)


def test_cacm_becomes_lists_that_read_back_bit_for_bit(data_folder, tmp_path):
    folder = data_folder / "text" / "cacm"
    documents, queries = read_collection(folder / "docs.jsonl.gz"), read_queries(folder / "queries.jsonl")
    lists, names, _ = make_text_lists(documents, queries.take(range(8)), read_qrels(folder / "qrels.txt"), k=50)
    assert np.isfinite(lists.X).all()
    first = lists.X[lists.rows(0), names.index("both.bm25")]
    assert (np.diff(first) <= 1e-5).all()  # candidates come in BM25's order; the ranker keeps float32
    write_letor(lists, tmp_path / "lists.txt")
    again = read_letor(tmp_path / "lists.txt")
    np.testing.assert_array_equal(again.X, lists.X)
    assert list(again.doc_ids) == list(lists.doc_ids)
