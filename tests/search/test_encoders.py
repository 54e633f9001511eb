"""Encoders: passages, the cache of vectors, what a model records of its encoder, and what happens without it."""

import json
import re
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from tacit.core import Collection, TacitError, UsageError
from tacit.search import Searcher, encoders
from tacit.search.encoders import (
    MODEL2VEC,
    SENTENCE_TRANSFORMERS,
    Encoder,
    EncoderInfo,
    as_encoder,
    hash_folder,
    load_encoder,
)
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


class Transformer(Model):
    """A stand-in for a model of sentence-transformers, with prompts."""

    class Tokenizer:
        def tokenize(self, text):
            return text.split()

    tokenizer, max_seq_length = Tokenizer(), 20

    def __init__(self, prompts):
        super().__init__()
        self.prompts = prompts

    def encode_document(self, texts, prompt_name=None, **options):
        return self.encode([self.prompts.get(prompt_name, "") + text for text in texts])

    encode_query = encode_document


@pytest.mark.parametrize(
    ("prompts", "query", "document"),
    [
        ({}, "text", "text"),
        ({"query": "", "document": ""}, "text", "text"),
        ({"query": "query: ", "document": "", "passage": "passage: "}, "query: text", "passage: text"),
        ({"query": "ask: ", "document": "doc: ", "passage": "passage: "}, "ask: text", "doc: text"),
    ],
)
def test_declared_prompts_are_used(prompts, query, document):
    model = Transformer(prompts)
    encoder = Encoder(model, "m", SENTENCE_TRANSFORMERS)
    encoder.encode(["text"], "query")
    encoder.encode(["text"], "document")
    assert model.asked == [query, document]


def test_the_prompt_of_documents_takes_part_of_the_window(monkeypatch, tmp_path):
    (tmp_path / "modules.json").write_text("[]")
    made = Transformer({"query": "one two three four ", "document": "the text is "})
    library = SimpleNamespace(SentenceTransformer=lambda name, device: made)
    bars = SimpleNamespace(is_progress_bar_enabled=lambda: False, disable_progress_bar=lambda: None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "transformers.utils", SimpleNamespace(logging=bars))
    assert load_encoder(str(tmp_path)).window == 20 - 2 - 3


def test_an_empty_text_gets_a_vector_of_zeros():
    encoder = Encoder(lambda texts: np.ones((len(texts), 3)))
    for kind in ("query", "document"):
        assert encoder.encode(["", "a", " \n"], kind).tolist() == [[0] * 3, [1] * 3, [0] * 3]
        assert encoder.encode([""], kind).tolist() == [[0] * 3]


def test_empty_documents_are_no_hits_by_their_vectors(known, documents):
    class Shifted(Model):
        def encode(self, texts):
            return super().encode(texts) + 1.0  # all vectors are alike, and that of an empty text like that of a query

    known["model"] = Shifted()
    empty = Collection(["empty", "blank"], ["", " "], ["", "\n"])
    searcher = Searcher(encoder="known", dim=5, vectors=8.0).fit(documents).add(empty)
    assert not {"empty", "blank"} & {hit.id for hit in searcher.search("unheard", k=len(documents) + 2)}


def test_lone_surrogates_reach_no_model():
    model = Model()
    encoder = Encoder(model, window=3)
    assert encoder.passages("bad \ud800 text " * 9)[0].startswith("bad \ud800")
    encoder.encode(["bad \ud800 text"], "document")
    assert model.asked == ["bad ? text"]


def test_a_tensor_that_needs_a_gradient_is_an_array_too():
    class Tensor:
        def __init__(self, rows, device):
            self.rows, self.device = rows, device

        def __array__(self, dtype=None, copy=None):
            if self.device:
                raise RuntimeError("Can't call numpy() on Tensor that requires grad")
            return np.array(self.rows, dtype)

        def detach(self):
            return Tensor(self.rows, "")

        cpu = float = detach

    assert Encoder(lambda texts: Tensor([[1.0, 2.0]], "cuda")).encode(["a"], "query").tolist() == [[1, 2]]


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


def test_texts_that_two_processes_wrote_are_found(tmp_path):
    encoder = Encoder(Model(), "m", MODEL2VEC, "hash")
    first, second = VectorCache(encoder, tmp_path), VectorCache(encoder, tmp_path)
    first.look_up(["a", "b"], "document")
    wanted = second.look_up(["a", "b", "c"], "document")
    encoder.model.asked.clear()
    assert np.array_equal(VectorCache(encoder, tmp_path).look_up(["a", "b", "c"], "document"), wanted)
    assert encoder.model.asked == []


def test_only_the_vectors_asked_for_are_read(tmp_path, monkeypatch):
    encoder = Encoder(Model(), "m", MODEL2VEC, "hash")
    wanted = VectorCache(encoder, tmp_path).look_up([f"text {n}" for n in range(200)], "document")
    read, reading = [], VectorCache._read_vectors
    spy = lambda cache, rows: read.append(len(rows)) or reading(cache, rows)  # noqa: E731
    monkeypatch.setattr(VectorCache, "_read_vectors", spy)
    assert np.array_equal(VectorCache(encoder, tmp_path).look_up(["text 7"], "document"), wanted[[7]])
    assert read == [1]


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


def test_a_folder_given_by_a_relative_path_is_found_from_any_folder(monkeypatch, tmp_path, documents, caplog):
    model, given = Model(), tmp_path / "one" / "encoder"
    (tmp_path / "other").mkdir()
    given.mkdir(parents=True)
    (given / "tokenizer.json").write_text("{}")
    (given / "model.safetensors").write_text("")
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(encoders, "_static_model", lambda name: (model, 0))
    monkeypatch.chdir(tmp_path / "one")
    Searcher(encoder="encoder", dim=5, vectors=2.0).fit(documents).save(tmp_path / "model")
    monkeypatch.chdir(tmp_path / "other")
    model.asked.clear()
    searcher = Searcher.load(tmp_path / "model")
    assert searcher.search("cats number4", k=3)
    assert model.asked[-1] == "cats number4"
    given.rename(tmp_path / "moved")
    Searcher.load(tmp_path / "model").search("cats number4", k=3)
    assert "cannot be loaded: there is no such folder" in caplog.text
    (tmp_path / "moved").rename("encoder")
    model.asked.clear()
    Searcher.load(tmp_path / "model").search("cats number4", k=3)
    assert model.asked[-1] == "cats number4", "by the relative path, if both moved together"


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
    for name in (str(tmp_path / "absent"), "./absent", "../absent/potion", "models/absent/potion"):
        with pytest.raises(UsageError, match=f"encoder '{re.escape(name)}' cannot be loaded: there is no such folder"):
            load_encoder(name)
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
