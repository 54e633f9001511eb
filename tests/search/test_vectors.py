"""Vectors of another model in a searcher, as arrays or by a model: `fit`, `search`, `add`, two stages, lists."""

import json

import numpy as np
import pytest

from tacit.core import Collection, Judgments, TacitError, UsageError
from tacit.search import Searcher
from tacit.search.rows import sample_queries
from tacit.search.text_lists import make_text_lists

TOPICS = {
    "pets": "cat kitten purr fur paw dog bark",
    "maths": "matrix inverse rank solve",
    "food": "soup onion boil salt",
}


def encode(texts):
    """A model of three topics that knows words which no document has: synonyms."""
    synonyms = {"feline": "pets", "algebra": "maths", "recipe": "food"}
    known = {word: topic for topic, words in TOPICS.items() for word in words.split()} | synonyms
    counts = [[sum(known.get(word) == topic for word in text.lower().split()) for topic in TOPICS] for text in texts]
    return np.array(counts, np.float32) + 0.05


class TwoSides:
    """A model that treats queries and documents differently, as a SentenceTransformer may; calling it is an error."""

    def encode_query(self, texts):
        return encode(texts)[:, ::-1]

    def encode_document(self, texts):
        return encode(texts)[:, ::-1]

    def __call__(self, texts):
        raise AssertionError("a model is asked by its methods")


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    topics = np.array(list(TOPICS))[np.arange(60) % 3]
    texts = [" ".join(rng.choice(TOPICS[topic].split(), 8)) for topic in topics]
    return Collection([f"{topic}-{row}" for row, topic in enumerate(topics)], [text[:9] for text in texts], texts)


@pytest.fixture(scope="module")
def searcher(documents):
    return Searcher(dim=3, vectors=1.0).fit(documents, encode=encode)


@pytest.fixture(scope="module")
def queries():
    texts = ["cat purr fur", "matrix rank", "onion soup", "kitten paw", "inverse solve", "salt boil"] * 2
    return Collection([f"q{row}" for row in range(12)], [""] * 12, texts)


@pytest.fixture(scope="module")
def judgments(documents, queries):
    topics = [name.split("-")[0] for name in documents.ids]
    wanted = [list(TOPICS)[row % 3] for row in range(12)]
    return Judgments.from_dict(
        {
            query: {name: int(topic == asked) for name, topic in list(zip(documents.ids, topics, strict=True))[:15]}
            for query, asked in zip(queries.ids, wanted, strict=True)
        }
    )


def ids(hits):
    return [hit.id for hit in hits]


def test_a_query_without_known_words_is_answered_by_its_vector(searcher):
    found = searcher.search("feline", k=5)
    assert len(found) == 5
    assert {hit.id.split("-")[0] for hit in found} == {"pets"}


def test_arrays_and_models_give_the_same_answers(documents, searcher):
    vectors = encode(list(documents.full_texts()))
    given = Searcher(dim=3, vectors=1.0).fit(documents, vectors=vectors)
    sides = Searcher(dim=3, vectors=1.0).fit(documents, encode=TwoSides())
    assert given.search("feline") == []
    wanted = searcher.search("cat algebra", k=9)
    assert given.search("cat algebra", k=9, vector=encode(["cat algebra"])[0]) == wanted
    assert ids(sides.search("cat algebra", k=9)) == ids(wanted)
    many = given.search_many(["soup", "cat algebra"], 9, vectors=encode(["soup", "cat algebra"]))
    assert many == searcher.search_many(["soup", "cat algebra"], 9)
    explained = given.explain("cat algebra", wanted[0].id, wanted[5].id, vector=encode(["cat algebra"])[0])
    assert sum(reason.value for reason in explained) == pytest.approx(wanted[0].score - wanted[5].score, abs=1e-5)
    assert [reason.kind for reason in explained if reason.member == "vectors"] == ["vector"]
    liked = given.feedback("cat algebra", [wanted[0].id], vector=encode(["cat algebra"])[0])
    assert liked == searcher.feedback("cat algebra", [wanted[0].id])


def test_without_a_vector_the_answers_are_those_of_the_other_members(documents, searcher, queries):
    plain = Searcher(dim=3).fit(documents)
    given = Searcher(dim=3, vectors=1.0).fit(documents, vectors=encode(list(documents.full_texts())))
    assert given.search("cat salt", k=20) == plain.search("cat salt", k=20)
    some = encode(queries.texts) * (np.arange(12) % 2)[:, None]
    mixed, without, full = (
        found.run(queries, 20, vectors=vectors).to_dict()
        for found, vectors in ((given, some), (plain, None), (searcher, None))
    )
    for row, query in enumerate(queries.ids):
        assert mixed[query] == (full if row % 2 else without)[query]


def test_the_model_is_not_saved_and_can_be_set_again(searcher, tmp_path):
    wanted = searcher.search("feline cat", k=9)
    searcher.save(tmp_path / "model")
    again = Searcher.load(tmp_path / "model")
    assert again.encode is None
    assert again.search("feline") == []
    again.encode = encode
    assert again.clone().encode is None
    assert again.search("feline cat", k=9) == wanted
    assert Searcher.load(tmp_path / "model", encode=encode).search("feline cat", k=9) == wanted
    recorded = json.loads(again.encoder_)
    assert (recorded["kind"], recorded["hash"], recorded["dim"]) == ("object", "", 3)


def test_a_model_that_is_set_before_fit_is_used(documents, searcher):
    other = Searcher(dim=3, vectors=1.0)
    other.encode = encode
    assert other.fit(documents).search("feline cat") == searcher.search("feline cat")


def test_vectors_must_earn_their_weight_with_queries_in_the_same_space(documents):
    rng = np.random.default_rng(0)
    vectors = encode(list(documents.full_texts()))
    other = Searcher(dim=3).fit(documents, vectors=vectors, encode=lambda texts: rng.normal(size=(len(texts), 3)))
    noise = Searcher(dim=3).fit(documents, vectors=rng.normal(size=(60, 16)))
    assert other.ranker_.weights_["vectors"] < 0.05
    assert noise.ranker_.weights_["vectors"] < 0.05


def test_vectors_without_a_weight_cost_no_encoding(documents):
    searcher = Searcher(dim=3, vectors=0.0).fit(documents, encode=encode)
    wanted = searcher.search("cat salt")
    searcher.encode = TwoSides.__call__  # raises if it is called
    assert searcher.search("cat salt") == wanted
    assert searcher.search("cat salt", vector=np.ones(3)) == wanted


def test_judged_queries_learn_the_weight(documents, queries, judgments):
    rng = np.random.default_rng(0)
    noise = {"vectors": rng.normal(size=(60, 16)), "query_vectors": rng.normal(size=(12, 16))}
    weights = [
        Searcher(dim=3, strength=0.1, vectors=4.0).fit(documents, queries=queries, qrels=judgments, **given)
        for given in ({"encode": encode}, noise)
    ]
    weights.append(Searcher(dim=3, vectors=4.0).fit(documents, encode=encode))
    good, bad, before = (f.ranker_.weights_["vectors"] / sum(f.ranker_.weights_.values()) for f in weights)
    assert good > before
    assert bad < before


def test_documents_come_and_go(documents):
    searcher = Searcher(dim=3, vectors=1.0).fit(documents, vectors=encode(list(documents.full_texts())))
    new = Collection(["new"], [""], ["an unknown feline"])
    searcher.add(new, vectors=encode(new.texts))
    assert "new" in ids(searcher.search("feline", k=30, vector=encode(["feline"])[0]))
    searcher.remove(["new"])
    searcher.encode = encode
    assert "new" in ids(searcher.add(new).search("feline", k=30))
    searcher.remove(["new"]).encode = None
    searcher.add(new)
    assert not searcher.ranker_.given_vectors()["vectors"][-1].any()


def test_two_stages_read_vectors(documents, queries, judgments, tmp_path):
    searcher = Searcher(dim=3, vectors=1.0, rerank="linear")
    searcher.fit(documents, queries=queries, qrels=judgments, encode=encode)
    ranker = searcher.ranker_
    assert ranker.vectors_dim == 3
    asked = searcher.query_rows(["cat"]), searcher.features(["cat"])
    best = [ranker.first_.rank(row, k=5) for row in asked]
    found, without = (
        ranker._list_of(ranker.first_, row, part.items[0], part.scores[0])
        for row, part in zip(asked, best, strict=True)
    )
    assert found.X.shape[1] == without.X.shape[1]
    assert found.X[:, -1].any()
    assert not without.X[:, -1].any()
    assert {hit.id.split("-")[0] for hit in searcher.search("feline", k=5)} == {"pets"}
    searcher.add(Collection(["new"], [""], ["an unknown feline"]))
    searcher.save(tmp_path / "model")
    again = Searcher.load(tmp_path / "model", encode=encode)
    assert again.search("feline cat") == searcher.search("feline cat")
    asked = again.query_rows(["feline cat"])
    hits = again.search("feline cat")
    assert again.ranker_.explain(asked, again._row(hits[0].id)).total == pytest.approx(hits[0].score, abs=1e-5)


def test_approximate_search(documents):
    pytest.importorskip("faiss")
    searcher = Searcher(dim=3, vectors=1.0, ann=True).fit(documents, encode=encode)
    assert len(searcher.ranker_.graphs) == 2
    exact = Searcher(dim=3, vectors=1.0).fit(documents, encode=encode)
    assert ids(searcher.search("cat algebra")) == ids(exact.search("cat algebra"))


@pytest.mark.parametrize("titled", [True, False])
def test_approximate_search_is_measured_on_queries_with_vectors(documents, titled):
    vectors = encode(list(documents.full_texts()))
    some = documents if titled else Collection(documents.ids, [""] * 60, documents.texts)
    searcher = Searcher(dim=3, vectors=1.0).fit(some, vectors=vectors)
    rows = sample_queries(searcher.query_rows, some, searcher.features(some.full_texts()), vectors)
    n_words, n_keys = searcher.ranker_.n_features_, 2 * titled  # titles that are asked are marked
    assert rows.shape == (60, n_words + 3 + n_keys)
    assert (np.diff(rows[:, n_words : n_words + 3].indptr) > 0).all()


def test_lists_have_a_column_of_cosines(documents, queries, searcher):
    vectors, asked = encode(list(documents.full_texts())), encode(queries.texts)
    lists, names, _ = make_text_lists(documents, queries, vectors=vectors, query_vectors=asked)
    assert names[-1] == "vectors.cosine"
    rows = [documents.row_of[name] for name in lists.doc_ids]
    query = np.repeat(np.arange(len(lists.query_ids)), np.diff(lists.starts))
    unit, unit_asked = (found / np.linalg.norm(found, axis=1)[:, None] for found in (vectors, asked))
    assert lists.X[:, -1] == pytest.approx((unit[rows] * unit_asked[query]).sum(axis=1), abs=1e-6)
    model = Searcher(dim=3, vectors=1.0).fit(documents, vectors=vectors)
    scored = make_text_lists(documents, queries, models=[model], vectors=vectors, query_vectors=asked)
    assert scored.names[-2:] == ["model.blend", "vectors.cosine"]
    hit = searcher.search(queries.texts[0], k=1)[0]
    assert scored.lists.X[: scored.lists.starts[1], -2].max() == pytest.approx(hit.score)
    with pytest.raises(UsageError, match="vectors and query_vectors must be given together"):
        make_text_lists(documents, queries, vectors=vectors)
    with pytest.raises(TacitError, match="vectors of queries have 2 dimensions, want 3"):
        make_text_lists(documents, queries, vectors=vectors, query_vectors=asked[:, :2])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vectors": np.ones((3, 2))}, "vectors have 3 rows, want 60"),
        ({"vectors": np.full((60, 2), np.nan)}, "vectors contains NaN or infinity in row 0"),
        ({"query_vectors": np.ones((3, 2))}, "query_vectors are given without vectors"),
        ({"vectors": np.ones((60, 2)), "query_vectors": np.ones((3, 2))}, "without training queries"),
        ({"encode": 3}, "encode is a int, want a function of texts"),
        ({"encode": lambda texts: np.ones(3)}, r"encode returned shape \(3,\), want \(1, dim\)"),
        ({"encode": lambda texts: [["a"]] * len(texts)}, "encode returned no array of numbers"),
    ],
)
def test_mistakes_in_fit(given, message, documents):
    with pytest.raises(TacitError, match=message):
        Searcher(dim=3).fit(documents, **given)


def test_mistakes_of_methods_and_queries(documents, searcher, queries, judgments):
    with pytest.raises(UsageError, match="bm25 reads no vectors of another model, want blend for vectors"):
        Searcher("bm25").fit(documents, vectors=np.ones((60, 2)))
    with pytest.raises(UsageError, match="the model has no vectors of documents"):
        Searcher("bm25").fit(documents).search("cat", vector=np.ones(2))
    with pytest.raises(TacitError, match="vectors of queries have 2 dimensions, want 3"):
        searcher.search("cat", vector=np.ones(2))
    with pytest.raises(TacitError, match="vectors of queries have 1 row, want 12"):
        searcher.run(queries, vectors=np.ones((1, 3)))
    with pytest.raises(TacitError, match="contains NaN"):
        searcher.search("cat", vector=np.full(3, np.nan))
    wrong = {"vectors": np.ones((60, 4)), "query_vectors": np.ones((12, 3))}
    with pytest.raises(TacitError, match="query_vectors have 3 dimensions, want 4"):
        Searcher(dim=3).fit(documents, queries=queries, qrels=judgments, **wrong)
