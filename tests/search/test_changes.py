"""Documents that come and go: documents, words and ranker change together, or not at all."""

import copy
from functools import cache

import numpy as np
import pytest

from tacit.core import Collection, Links, TacitError, UsageError
from tacit.retrieve import METHODS
from tacit.search import Searcher

TEXTS = {
    "pinv": "The pseudo inverse of a matrix, also when the matrix is singular.",
    "inv": "The inverse of a square matrix.",
    "interp": "Interpolate between scattered points in the plane.",
    "kfold": "Cross validation in k folds.",
}
NEW = Collection(["zebra", "svd"], ["Zebra", ""], ["A striped animal", "Singular values of a matrix, by zebra methods"])
LINKS = [(0, 1), (1, 0), (2, 1), (3, 2)]


def library():
    return Collection(list(TEXTS), [""] * len(TEXTS), list(TEXTS.values()), name="library")


def fitted(method):
    """A searcher that a test may change."""
    return copy.deepcopy(fit(method))


@cache
def fit(method):
    known = {parameter.name for parameter in METHODS[method].parameters()}
    searcher = Searcher(method, **({"dim": 3} if "dim" in known and method != "ssi-d" else {}))
    links = Links(*np.array(LINKS).T, len(TEXTS), len(TEXTS))
    return searcher.fit(library(), links=links if METHODS[method].estimator.learns_from_pairs else None)


def takes_new_items(method):
    try:
        METHODS[method].make().check_new_items()
    except UsageError:
        return False
    return True


ONE_VOCABULARY = [name for name, method in METHODS.items() if not method.estimator.two_dictionaries]
OPEN = [name for name in ONE_VOCABULARY if takes_new_items(name)]
CLOSED = [name for name in ONE_VOCABULARY if not takes_new_items(name)]
FIRST_ANSWERS = ("qe", "blend")  # scores depend on the best documents of the query
BY_WORDS = [
    "blend",
    "tfidf",
    "bm25",
    "qe",
    "lsi+tfidf",
    "ssi-uv",
    "htr-residual",
    "ssi-full",
    "hash-1m-i",
    "htr-reconstruction",
]


def test_the_usual_methods_take_new_documents():
    assert set(BY_WORDS) | {"lsi", "htr+pairs", "cfh-1gram"} <= set(OPEN)


@pytest.mark.parametrize("method", OPEN)
def test_added_documents_are_found_and_old_scores_stay(method, tmp_path):
    searcher = fitted(method)
    before = searcher.ranker_.scores(searcher.features(["singular matrix", "folds"]))
    searcher.add(NEW)
    after = searcher.ranker_.scores(searcher.features(["singular matrix", "folds"]))
    assert np.array_equal(after[:, : len(TEXTS)], before) or method in FIRST_ANSWERS
    assert np.isfinite(after).all()
    assert list(searcher.documents_.ids) == [*TEXTS, "zebra", "svd"]
    assert (searcher.ranker_.n_items_, searcher.ranker_.n_added_) == (6, 2)
    searcher.save(tmp_path / "model")
    again = Searcher.load(tmp_path / "model")
    assert again.search("singular matrix", 6) == searcher.search("singular matrix", 6)
    assert again.ranker_.n_added_ == 2


@pytest.mark.parametrize("method", BY_WORDS)
def test_words_that_no_document_had_are_found(method):
    searcher = fitted(method)
    assert searcher.search("zebra") == []
    hits = searcher.add(NEW).search("zebra")
    assert [hit.id for hit in hits][:2] == ["zebra", "svd"]
    assert hits[0].snippet.text == "A striped animal"
    assert searcher.explain("zebra", "svd")[0][:3] == ("word", "zebra", "zebra")


@pytest.mark.parametrize("method", ONE_VOCABULARY)
def test_removed_documents_are_gone_and_other_scores_stay(method):
    searcher = fitted(method)
    before = searcher.ranker_.scores(searcher.features(["singular matrix", "folds"]))
    searcher.remove(["inv", "interp"])
    after = searcher.ranker_.scores(searcher.features(["singular matrix", "folds"]))
    assert list(searcher.documents_.ids) == ["pinv", "kfold"]
    assert np.array_equal(after, before[:, [0, 3]]) or method in FIRST_ANSWERS
    assert searcher.ranker_.n_removed_ == 2
    assert all(hit.id in ("pinv", "kfold") for hit in searcher.search("inverse of a matrix"))


def test_what_was_removed_can_be_added_again():
    searcher = fitted("tfidf")
    before = {hit.id: hit.score for hit in searcher.search("inverse matrix")}
    searcher.remove("inv").add(library().take([1]))
    assert {hit.id: hit.score for hit in searcher.search("inverse matrix")} == before


def test_documents_are_named_by_whole_numbers_as_they_were_given():
    searcher = Searcher("bm25").fit([{"id": number, "text": "cat"} for number in range(3)])
    assert searcher.explain("cat", np.int64(1)) == searcher.explain("cat", "1")
    assert searcher.remove([0, np.int64(1)]).documents_.ids == ["2"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda s: s.add(library()), "id 'pinv' already"),
        (lambda s: s.add(Collection([], [], [])), "no documents to add"),
        (lambda s: s.remove(["inv", "gone"]), "'gone'"),
        (lambda s: s.remove([]), "no id is given"),
        (lambda s: s.remove(list(TEXTS)), "at least one that stays"),
    ],
    ids=["twice", "none", "unknown", "no id", "all"],
)
def test_a_change_that_fails_changes_nothing(change, problem):
    searcher = fitted("bm25")
    parts = vars(searcher).copy()
    with pytest.raises(TacitError, match=problem):
        change(searcher)
    assert vars(searcher) == parts


@pytest.mark.parametrize("method", ["bm25", "htr-residual", "htr+pairs", "lsi+tfidf"])
def test_a_failure_in_the_last_step_changes_nothing(method, monkeypatch):
    searcher = fitted(method)
    scores, width = searcher.ranker_.scores(searcher.features(["matrix"])), len(searcher.vectorizer_.vocabulary_)
    monkeypatch.setattr("tacit.search.searcher._join", lambda *parts: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        searcher.add(NEW)
    assert (len(searcher.vectorizer_.vocabulary_), searcher.ranker_.n_items_) == (width, len(TEXTS))
    assert np.array_equal(searcher.ranker_.scores(searcher.features(["matrix"])), scores)


@pytest.mark.parametrize("method", CLOSED)
def test_methods_that_cannot_take_new_documents_say_so(method):
    searcher = fitted(method)
    with pytest.raises(UsageError, match="new item"):
        searcher.add(NEW)
    assert len(searcher.documents_) == len(TEXTS)


def test_a_searcher_across_languages_takes_new_documents():
    queries = Collection(["1", "2", "3"], [""] * 3, ["die Inverse", "das Gitter", "die Matrix"])
    pairs = Links([0, 1, 2], [1, 2, 0], 3, len(TEXTS))
    searcher = Searcher("ssi-cross", dim=3, query_language="de").fit(library(), queries=queries, pairs=pairs)
    width = searcher.ranker_.n_features_
    assert [hit.id for hit in searcher.add(NEW).search("Inverse", 10)].count("svd") == 1
    assert searcher.ranker_.n_features_ == width


def test_blend_shows_no_document_that_speaks_against_the_query():
    topics = ["cats purr and sleep", "dogs bark at cats", "ships sail the sea", "the sea has ships"]
    docs = Collection([str(n) for n in range(12)], [""] * 12, [topics[n % 4] for n in range(12)])
    searcher = Searcher("blend").fit(docs)
    scores = searcher.ranker_.scores(searcher.features(["ships"]))[0]
    assert scores.min() < 0  # so there is something to leave out
    found = searcher.search("ships", k=12)
    assert {int(hit.id) % 4 for hit in found[:6]} == {2, 3}
    assert all(hit.score > 0 for hit in found)
