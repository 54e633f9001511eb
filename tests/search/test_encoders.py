"""Encoders: passages, the cache of vectors, what a model records of its encoder, and what happens without it."""

import json
from itertools import pairwise

import numpy as np
import pytest

from tacit.core import Collection, TacitError, UsageError
from tacit.search import Searcher, encoders
from tacit.search.encoders import MODEL2VEC, Encoder, EncoderInfo, as_encoder, hash_folder, load_encoder
from tacit.search.vector_cache import BATCH, VectorCache
from tacit.search.vectors import cut_texts, encode_documents, make_probes, uncut_texts

DIM = 24
TOPICS = ("cats purr and sleep", "ships sail the sea", "bread is baked", "music is played")


class Model:
    """A hash of words as vectors; counts what it is asked for."""

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        rows = [
            [np.random.default_rng(sum(map(ord, word))).normal(size=DIM) for word in text.split()] for text in texts
        ]
        return np.array([np.mean(row, axis=0) if row else np.zeros(DIM) for row in rows])


@pytest.fixture
def documents():
    texts = [
        f"{TOPICS[n % 4]} number{n} " + "and some more words to fill the text of this page " * 2 for n in range(40)
    ]
    return Collection([f"d{n}" for n in range(40)], [f"title of page {n}" for n in range(40)], texts)


@pytest.fixture
def known(monkeypatch, tmp_path):
    """A library of one model, `known`, whose hash can be changed."""
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    state = {"hash": "abc", "model": Model(), "present": True}

    def load(name):
        if not state["present"]:
            raise UsageError(f"encoder {name!r} cannot be loaded")
        return Encoder(state["model"], name, MODEL2VEC, state["hash"])

    monkeypatch.setattr(encoders, "load_encoder", load)
    return state


def test_long_texts_become_overlapping_passages():
    encoder = Encoder(Model(), window=10)
    text = " ".join(f"w{n}" for n in range(40))
    parts = encoder.passages(text)
    assert encoder.passages("short text") == ["short text"]
    assert len(parts) > 1
    assert {word for part in parts for word in part.split()} == set(text.split())
    for one, two in pairwise(parts):
        assert set(one.split()) & set(two.split()), "neighbours share words"
    assert Encoder(Model()).passages(text) == [text]


def test_documents_of_several_passages(documents):
    found = encode_documents(Encoder(Model(), window=12), list(documents.full_texts()))
    starts = found["passages"]
    assert (len(starts), starts[-1]) == (41, len(found["vectors"]))
    assert np.linalg.norm(found["vectors"], axis=1) == pytest.approx(1, abs=1e-2)
    assert set(encode_documents(Encoder(Model()), list(documents.full_texts()))) == {"vectors"}


def test_vectors_are_kept_by_text_and_kind(tmp_path):
    model = Model()
    encoder = Encoder(model, "m", MODEL2VEC, "hash")
    first = VectorCache(encoder, tmp_path).look_up(["a b", "c", "a b"], "document")
    n_asked = len(model.asked)
    again = VectorCache(encoder, tmp_path).look_up(["c", "a b"], "document")
    assert np.array_equal(again, first[[1, 0]])
    assert len(model.asked) == n_asked
    VectorCache(encoder, tmp_path).look_up(["c"], "query")
    assert model.asked[-1] == "c", "a query is another text than a document"


@pytest.mark.parametrize("cut", [1, 17, 49])
def test_a_cut_cache_goes_on_from_its_last_whole_vector(tmp_path, cut):
    model = Model()
    encoder = Encoder(model, "m", MODEL2VEC, "hash")
    texts = [f"text {n}" for n in range(9)]
    wanted = VectorCache(encoder, tmp_path).look_up(texts, "document")
    path = tmp_path / "hash" / "vectors"
    path.write_bytes(path.read_bytes()[:-cut])
    model.asked.clear()
    assert np.array_equal(VectorCache(encoder, tmp_path).look_up(texts, "document"), wanted)
    assert 1 <= len(model.asked) <= 2, "those that were cut off"
    assert np.array_equal(VectorCache(encoder, tmp_path).look_up(texts, "document"), wanted)


def test_an_interrupted_run_keeps_what_it_has_encoded(tmp_path):
    class Interrupted(Model):
        def encode(self, texts):
            if len(self.asked) > BATCH:
                raise KeyboardInterrupt
            return super().encode(texts)

    texts = [f"text {n}" for n in range(2 * BATCH)]
    with pytest.raises(KeyboardInterrupt):
        VectorCache(Encoder(Interrupted(), "m", MODEL2VEC, "hash"), tmp_path).look_up(texts, "document")
    model = Model()
    VectorCache(Encoder(model, "m", MODEL2VEC, "hash"), tmp_path).look_up(texts, "document")
    assert len(model.asked) == BATCH + 1, "one text tells the dimension"


def test_a_cache_that_cannot_be_written_is_not_used(tmp_path, caplog):
    (tmp_path / "hash").write_text("a file in its place")
    found = VectorCache(Encoder(Model(), "m", MODEL2VEC, "hash"), tmp_path).look_up(["a"], "document")
    assert found.shape == (1, DIM)
    assert "vectors are not kept" in caplog.text


def test_a_searcher_encodes_by_itself_and_records_its_encoder(known, documents, tmp_path):
    searcher = Searcher(encoder="known", dim=5, vectors=2.0).fit(documents)
    n_asked = len(known["model"].asked)
    wanted = searcher.search("cats number4", k=5)
    assert known["model"].asked[n_asked:] == ["cats number4"]
    searcher.save(tmp_path / "model")
    recorded = json.loads(Searcher.load(tmp_path / "model").encoder_)
    assert (recorded["name"], recorded["kind"], recorded["hash"], recorded["dim"]) == ("known", MODEL2VEC, "abc", DIM)
    again = Searcher.load(tmp_path / "model")
    assert again.search("cats number4", k=5) == wanted
    new = Collection(["new"], [""], ["whiskers everywhere"])
    assert again.add(new).search("whiskers", k=1)[0].id == "new"
    assert again.ranker_.given_vectors()["vectors"][-1].any()


def test_a_second_fit_encodes_nothing(known, documents):
    Searcher(encoder="known", dim=5).fit(documents)
    known["model"].asked.clear()
    Searcher(encoder="known", dim=5).fit(documents)
    assert known["model"].asked == ["a text"], "asked for its dimension"


def test_without_its_encoder_a_model_ranks_by_words_and_says_so_once(known, documents, tmp_path, caplog):
    Searcher(encoder="known", dim=5, vectors=2.0).fit(documents).save(tmp_path / "model")
    known["present"] = False
    searcher = Searcher.load(tmp_path / "model")
    wanted = Searcher(dim=5).fit(documents).search("cats number4", k=3)
    for _ in range(2):
        assert [hit.id for hit in searcher.search("cats number4", k=3)] == [hit.id for hit in wanted]
    assert caplog.text.count("results come from words alone") == 1


def test_another_encoder_is_refused(known, documents, tmp_path):
    Searcher(encoder="known", dim=5, vectors=2.0).fit(documents).save(tmp_path / "model")
    known["hash"] = "other"
    with pytest.raises(UsageError, match="has hash other, and the model was fitted with 'known' of hash abc"):
        Searcher.load(tmp_path / "model").search("cats")
    with pytest.raises(UsageError, match="vectors of 3 dimensions, and the model was fitted with 'known' of 24"):
        Searcher.load(tmp_path / "model", encode=lambda texts: np.ones((len(texts), 3))).search("cats")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"name": "a", "kind": "b", "hash": "", "dim": 3}', '{"name": 1, "kind": "object"}', "[" * 10**5],
    ids=range(6),
)
def test_a_record_that_is_not_ours_is_refused(text):
    with pytest.raises(TacitError, match="the encoder is recorded as"):
        EncoderInfo.from_text(text)


def test_mistakes_in_names_and_folders(tmp_path):
    with pytest.raises(UsageError, match="is no folder of an encoder, want one of sentence-transformers"):
        load_encoder(str(tmp_path))
    with pytest.raises(TacitError, match=r"encoder 'absent/potion' (needs the package|cannot be loaded by) "):
        load_encoder("absent/potion")
    with pytest.raises(UsageError, match="bm25 reads no vectors of another model, want blend for encoder"):
        Searcher("bm25", encoder="known").fit(Collection(["a"], [""], ["text"]))
    assert as_encoder(Encoder(Model(), "m")).name == "m"


def test_the_hash_of_a_folder_is_that_of_its_contents(tmp_path):
    for name, content in (("one", "a"), ("two", "a"), ("three", "b")):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "sub" / "weights").write_text(content)
        (tmp_path / name / "README.md").write_text(name)
    one, two, three = (hash_folder(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two != three


def test_queries_are_cut_out_of_documents(documents):
    cut = cut_texts(documents, 5)
    assert len(cut) == 5, "titles; the sentences of these texts are too long or repeated"
    for found in cut:
        assert found.query not in found.rest
        assert found.query == documents.titles[found.row]
    short = Collection(["a", "b"], ["Red shoes", ""], ["", "blue hat"])
    assert [(found.query, found.rest) for found in uncut_texts(short)] == [
        ("Red shoes", "Red shoes"),
        ("blue hat",) * 2,
    ]


def test_probes_hold_queries_and_documents_without_them(documents):
    from tacit.retrieve import BlendRanker
    from tacit.search.rows import TextRows

    read = TextRows(documents).read(BlendRanker())
    probes = make_probes(Encoder(Model()), documents, read)
    words = read.vectorizer.vocabulary_
    for row in range(0, len(probes.rows), 9):
        query = probes.queries[[row]].indices
        asked = {words[column] for column in query if column < len(words)}
        assert asked == set(read.vectorizer.tokenizer_(documents.titles[probes.rows[row]]))
        whole, rest = read.items[[probes.rows[row]]].sum(), probes.counts[[row]].sum()
        assert rest == whole - len(read.vectorizer.tokenizer_(documents.titles[probes.rows[row]]))
