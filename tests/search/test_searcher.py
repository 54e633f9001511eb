"""A small library with known answers: searching, saving, loading, and refusing."""

import numpy as np
import pytest

from tacit.core import Collection, Judgments, Links, StoreError, TacitError, UsageError
from tacit.retrieve import METHODS
from tacit.search import Searcher

TEXTS = {
    "pinv": ("Pseudo inverse", "The pseudo inverse of a matrix, also when the matrix is singular."),
    "inv": ("Inverse", "The inverse of a square matrix."),
    "interp": ("Interpolation", "Interpolate between scattered points in the plane."),
    "kfold": ("K folds", "Cross validation in k folds."),
    "groups": ("Group folds", "Cross validation that keeps groups together, in k folds."),
}
LINKS = [("pinv", "inv"), ("inv", "pinv"), ("kfold", "groups"), ("groups", "kfold"), ("interp", "inv")]

LEARN_ALL = (
    "ssi-uv-noi", "htr", "htr-gamma0", "perceptron", "ssi-full-zerodiag", "hash-1m", "hash-3m", "hash-6m", "hash-10m"
)  # fmt: skip


@pytest.fixture(scope="module")
def library():
    titles, texts = zip(*TEXTS.values(), strict=True)
    return Collection(list(TEXTS), list(titles), list(texts), name="library")


@pytest.fixture(scope="module")
def links(library):
    rows = np.array([[library.row_of[a], library.row_of[b]] for a, b in LINKS])
    return Links(rows[:, 0], rows[:, 1], len(library), len(library))


@pytest.fixture(
    scope="module", params=sorted(name for name, method in METHODS.items() if not method.estimator.two_dictionaries)
)
def searcher(request, library, links):
    known = {parameter.name for parameter in METHODS[request.param].parameters()}
    searcher = Searcher(request.param, **({"dim": 4} if "dim" in known and request.param != "ssi-d" else {}))
    return searcher.fit(library, links=links if METHODS[request.param].estimator.learns_from_pairs else None)


def test_finds_the_document_that_says_it(searcher):
    if searcher.method in LEARN_ALL:
        pytest.skip("a score without shared words has to be learned, and five links teach too little")
    assert searcher.search("pseudo inverse of a singular matrix")[0].id == "pinv"
    assert searcher.search("cross validation that keeps groups together")[0].id == "groups"


def test_hits_are_numbered_and_fall_in_score(searcher):
    hits = searcher.search("inverse of a matrix", k=3)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_words_nobody_wrote_have_no_answer(searcher):
    assert searcher.search("zyzzyva") == []


def test_saving_and_loading_changes_no_bit(searcher, library, tmp_path):
    searcher.save(tmp_path / "model")
    again = Searcher.load(tmp_path / "model")
    assert (again.method, again.documents_.name) == (searcher.method, "library")
    rows = searcher.features(library.full_texts())
    assert np.array_equal(again.ranker_.scores(again.features(library.full_texts())), searcher.ranker_.scores(rows))
    assert again.search("matrix", k=5) == searcher.search("matrix", k=5)
    assert again.ranker_.get_params() == searcher.ranker_.get_params()
    assert again.n_pairs_ == searcher.n_pairs_


def test_bulk_answers_are_those_of_single_queries(searcher):
    queries = Collection(["1", "2"], ["", ""], ["inverse of a matrix", "scattered points"])
    run = searcher.run(queries, k=3).to_dict()
    for query_id, text in (("1", "inverse of a matrix"), ("2", "scattered points")):
        single = {hit.id: pytest.approx(hit.score) for hit in searcher.search(text, k=3)}
        assert {doc: score for doc, score in run[query_id].items() if score != 0} == single


def test_searches_done_together_have_the_answers_of_single_ones(searcher):
    queries = ["inverse of a matrix", "k folds", "scattered points", "nothing of this kind zzz"]
    assert searcher.search_many(queries, 3) == [searcher.search(query, 3) for query in queries]


def test_a_document_does_not_answer_itself_when_asked_not_to(searcher, library):
    run = searcher.run(library, k=5, exclude_self=True).to_dict()
    assert all(query_id not in answers for query_id, answers in run.items())


@pytest.mark.parametrize(
    ("query", "message"), [("", "empty"), (" \n", "empty"), ("x" * 1_000_001, "1000001 characters")]
)
def test_refuses_queries_that_cannot_be_meant(searcher, query, message):
    with pytest.raises(TacitError, match=message):
        searcher.search(query)


def test_refuses_a_folder_whose_parts_do_not_fit(library, tmp_path):
    """A ranker of one collection beside the documents of another, each sound in itself."""
    from tacit.store import load_model, save_model

    Searcher("tfidf").fit(library).save(tmp_path / "whole")
    Searcher("tfidf").fit(library.take([0, 1, 2])).save(tmp_path / "part")
    whole, part = load_model(tmp_path / "whole"), load_model(tmp_path / "part")
    mixed = whole.arrays | {name: array for name, array in part.arrays.items() if name.startswith("documents/")}
    save_model(tmp_path / "mixed", type(whole)(whole.kind, whole.params, mixed))
    with pytest.raises(StoreError, match="5 documents, the model has .* 3"):
        Searcher.load(tmp_path / "mixed")


def test_refuses_a_collection_without_words():
    with pytest.raises(TacitError, match="nothing to count|no word"):
        Searcher().fit(Collection(["a"], [""], ["..."]))


QUERIES = Collection(["1", "2", "3"], [""] * 3, ["generalised inverse", "points", "inverse"])
PAIRS = Links([0, 1, 2], [0, 2, 1], 3, len(TEXTS))
QRELS = Judgments.from_dict({"1": {"pinv": 1, "kfold": 0}, "2": {"interp": 1}, "3": {"inv": 1}})


@pytest.mark.parametrize(
    "source",
    [{"queries": QUERIES, "pairs": PAIRS}, {"queries": QUERIES, "qrels": QRELS}, {"clicks": (QUERIES, PAIRS)}],
    ids=["pairs", "qrels", "clicks"],
)
def test_every_source_of_pairs_teaches_the_same(library, source):
    found = Searcher("ssi-uv", dim=3, n_epochs=3).fit(library, **source)
    wanted = Searcher("ssi-uv", dim=3, n_epochs=3).fit(library, queries=QUERIES, pairs=PAIRS)
    rows = found.features(library.full_texts())
    assert found.n_pairs_ == 3
    assert np.array_equal(found.ranker_.scores(rows), wanted.ranker_.scores(rows))


def test_training_queries_without_a_word_of_the_documents_are_counted(library):
    some = Collection(["1", "2", "3"], [""] * 3, ["inverse", "", "zzz"])
    with pytest.warns(UserWarning, match="teach nothing: 2 of 3, such as ''"):
        Searcher("ssi-uv", dim=3, n_epochs=1).fit(library, queries=some, pairs=PAIRS)
    none = Collection(["1", "2", "3"], [""] * 3, ["qid1", "qid2", "qid3"])
    with pytest.raises(TacitError, match="no training query has a word of the documents, want texts: .* 'qid1'"):
        Searcher().fit(library, queries=none, pairs=PAIRS)


@pytest.mark.parametrize(
    ("method", "source", "problem"),
    [
        ("ssi-uv", {}, "ssi-uv learns from links"),
        ("ssi-uv", {"queries": QUERIES}, "go together"),
        ("ssi-uv", {"pairs": PAIRS}, "go together"),
        ("ssi-uv", {"queries": QUERIES, "pairs": PAIRS, "qrels": QRELS}, "qrels and pairs exclude each other"),
        ("ssi-uv", {"links": PAIRS}, "pairs are for 3 queries and 5 documents, want 5 and 5"),
        ("ssi-cross", {}, "ssi-cross needs the texts of the queries"),
        ("ssi-cross-multitask", {"queries": QUERIES, "pairs": PAIRS}, "learns from links between the documents"),
    ],
)
def test_sources_that_a_method_cannot_use_are_refused(library, method, source, problem):
    with pytest.raises(UsageError, match=problem):
        Searcher(method).fit(library, **source)


@pytest.mark.parametrize("method", ["tfidf", "bm25", "lsi"])
def test_training_data_that_is_not_used_is_reported(library, links, method):
    with pytest.warns(UserWarning, match=f"{method} does not learn from links"):
        searcher = Searcher(method).fit(library, links=links)
    assert searcher.n_pairs_ == 0


def test_parameters_are_those_of_the_searcher_and_of_its_method():
    searcher = Searcher("htr-residual", dim=7, words=50)
    assert repr(searcher) == "Searcher(method='htr-residual', words=50, dim=7)"
    params = searcher.get_params()
    assert (params["dim"], params["words"], params["items"], params["gamma"]) == (7, 50, "residual", 1.0)
    assert searcher.clone().get_params() == params
    assert searcher.set_params(dim=9, stem=True).get_params() == params | {"dim": 9, "stem": True}
    with pytest.raises(UsageError, match="'htr-residual' has no parameter 'dmi'; its parameters are dim=100"):
        Searcher("htr-residual", dmi=7)
    with pytest.raises(UsageError, match="no parameter 'k1'"):
        searcher.set_params(k1=2.0)
    assert searcher.get_params()["dim"] == 9
    own = set(Searcher._get_param_names())
    assert not [name for name, method in METHODS.items() if own & {p.name for p in method.parameters()}]


def test_a_loaded_searcher_has_the_parameters_of_the_saved_one(library, links, tmp_path):
    searcher = Searcher("htr-residual", dim=4, n_epochs=2, words=40).fit(library, links=links)
    searcher.save(tmp_path / "model")
    again = Searcher.load(tmp_path / "model")
    assert repr(again) == repr(searcher)
    rows = searcher.features(library.full_texts())
    refitted = again.clone().fit(library, links=links)
    assert np.array_equal(refitted.ranker_.scores(rows), searcher.ranker_.scores(rows))


def test_explanations_add_up_and_name_words(searcher):
    hit = searcher.search("inverse of a matrix", k=1)[0]
    reasons = searcher.explain("inverse of a matrix", hit.id)
    assert sum(reason.value for reason in reasons) == pytest.approx(hit.score, rel=1e-4, abs=1e-5)
    if searcher.method not in ("qe", "blend"):  # which add words to the query
        assert all(reason.query_word in "inverse of a matrix" for reason in reasons)
    with pytest.raises(TacitError, match="'gone'"):
        searcher.explain("inverse", "gone")


def test_terms_without_a_query_word_have_no_word(library, monkeypatch):
    from tacit.retrieve import CosineRanker
    from tacit.retrieve.explanation import Term

    searcher = Searcher("tfidf").fit(library)
    monkeypatch.setattr(CosineRanker, "_terms", lambda self, query, a, b: [Term("item", -1, -1, 0.5)])
    assert searcher.explain("inverse", "pinv")[0] == ("item", "", "", 0.5, "", "Learned for this document")


def test_runs_leave_out_what_shares_no_word(library, links):
    queries = Collection(["1", "2", "3"], [""] * 3, ["scattered points", "zyzzyva", "inverse"])
    for method in ("bm25", "tfidf", "qe"):
        found = Searcher(method).fit(library).run(queries).to_dict()
        assert set(found["1"]) == {"interp"} or method == "qe"
        assert (found["2"], set(found["3"]) & {"kfold"}) == ({}, set())
        assert all(score > 0 for answers in found.values() for score in answers.values())
    found = Searcher("ssi-uv", dim=4).fit(library, links=links).run(queries).to_dict()
    assert (len(found["1"]), len(found["2"])) == (5, 0)


def test_what_is_no_collection_and_no_text_is_told(library):
    with pytest.raises(UsageError, match="documents are of type int, want a Collection"):
        Searcher("bm25").fit(3)
    searcher = Searcher("bm25").fit(library)
    with pytest.raises(UsageError, match="the query is of type NoneType, want a string"):
        searcher.search(None)


def test_one_marked_document_needs_no_list(library):
    searcher = Searcher("bm25").fit(library)
    assert searcher.feedback("inverse", "kfold") == searcher.feedback("inverse", ["kfold"])
    assert searcher.feedback("inverse", "kfold")[0].id == "kfold"


@pytest.mark.parametrize("name", ["seed", "threads"])
@pytest.mark.parametrize("method", ["bm25", "blend"])
def test_shared_parameters_are_checked_for_every_method(method, name):
    with pytest.raises(UsageError, match=f"{name} is 'two', want"):
        Searcher(method, **{name: "two"}).fit(["cats purr", "dogs bark"])
