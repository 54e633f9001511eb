"""Exported word tables give our cosines in model2vec and in sentence-transformers."""

import json

import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import Collection, Links, UsageError
from tacit.integrations.sentence_transformers import encode, export_static_embedding
from tacit.search import Searcher

METHODS = {"lsi": {}, "lsi+tfidf": {}, "ssi-uu": {"n_epochs": 2}, "ssi-uv": {"n_epochs": 2},
           "htr-residual": {"n_epochs": 2}}  # fmt: skip


@pytest.fixture(scope="module")
def fit(world):
    documents, queries, judgments = world
    made = {}

    def build(method, stem=False):
        if (method, stem) not in made:
            searcher = Searcher(method, dim=5, language="en", stem=stem, **METHODS[method])
            given = {} if method == "lsi" else {"queries": queries, "qrels": judgments}
            made[method, stem] = searcher.fit(documents, **given)
        return made[method, stem]

    return build


def cosines(queries, documents):
    def unit(rows):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(lengths > 0, lengths, 1)

    return unit(np.asarray(queries, np.float64)) @ unit(np.asarray(documents, np.float64)).T


def our_cosines(searcher, queries, documents):
    rows = searcher.vectorizer_.transform(documents.full_texts())
    return cosines(
        searcher.ranker_.embed_queries(searcher.features(queries.full_texts())), searcher.ranker_.embed_items(rows)
    )


def load_model2vec(library, folder, route):
    routed = folder / f"{route}_0_StaticEmbedding"
    return library.StaticModel.from_pretrained(routed if routed.exists() else folder)


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_model2vec_gives_our_cosines(need, fit, world, method, stem, tmp_path):
    library = need("model2vec")
    documents, queries, _ = world
    searcher, folder = fit(method, stem), tmp_path / "static"
    export_static_embedding(searcher, folder)
    vectors = [
        encode(load_model2vec(library, folder, route), texts, route)
        for route, texts in (("query", queries), ("document", documents))
    ]
    np.testing.assert_allclose(cosines(*vectors), our_cosines(searcher, queries, documents), atol=1e-5)


@pytest.mark.parametrize("method", ["ssi-uu", "ssi-uv"])
def test_sentence_transformers_gives_our_cosines(need, fit, world, method, tmp_path):
    need("sentence_transformers")
    documents, queries, _ = world
    searcher, folder = fit(method), tmp_path / "static"
    export_static_embedding(searcher, folder)
    vectors = [encode(str(folder), texts, kind) for kind, texts in (("query", queries), ("document", documents))]
    np.testing.assert_allclose(cosines(*vectors), our_cosines(searcher, queries, documents), atol=1e-5)


def test_two_languages_have_two_tokenizers(need, world, tmp_path):
    library = need("model2vec")
    documents, queries, _ = world
    pairs = Links(np.arange(12), np.arange(12), 12, len(documents))
    searcher = Searcher("cl-lsi", query_language="de", dim=4).fit(documents, queries=queries, pairs=pairs)
    export_static_embedding(searcher, tmp_path / "static")
    vectors = [
        encode(load_model2vec(library, tmp_path / "static", route), texts, route)
        for route, texts in (("query", queries), ("document", documents))
    ]
    np.testing.assert_allclose(cosines(*vectors), our_cosines(searcher, queries, documents), atol=1e-5)


def test_the_tokenizer_finds_our_words(need, fit, tmp_path):
    need("model2vec")
    from tokenizers import Tokenizer

    searcher = fit("lsi")
    export_static_embedding(searcher, tmp_path / "static")
    theirs = Tokenizer.from_file(str(tmp_path / "static" / "0_StaticEmbedding" / "tokenizer.json"))
    for text in (
        "Don't x_1, re-RANK: ２０２６ ﬁne",
        "Ｎｕｍｐｙ's ΣΑΣ σας",
        "हिन्दी soft\u00adhyphen naïve",
        "a.b  c\n\td²",
        "",
    ):
        folded = theirs.normalizer.normalize_str(text)
        words = [word for word, _ in theirs.pre_tokenizer.pre_tokenize_str(folded)]
        assert words == searcher.vectorizer_.tokenizer_.words(text), text


def test_what_cannot_be_carried_is_said(fit, tmp_path):
    assert export_static_embedding(fit("ssi-uv", stem=True), tmp_path / "a") == [
        "the weight of words that query and document share",
        "stems of word forms that no document has",
    ]
    assert export_static_embedding(fit("lsi"), tmp_path / "b") == []


def test_command(fit, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fit("htr-residual").save("h.model")
    assert main(["export", "h.model", "--to", "static-embedding", "-o", "static"]) == 0
    assert "without the weight of words that query and document share, what documents" in capsys.readouterr().err
    modules = json.loads((tmp_path / "static" / "modules.json").read_text())
    assert modules[0]["type"].endswith("Router")


def test_a_method_without_word_tables_is_refused(world, tmp_path):
    with pytest.raises(UsageError, match="a Bm25Ranker of this kind has no vectors of words"):
        export_static_embedding(Searcher("bm25").fit(world[0]), tmp_path / "static")
    assert not (tmp_path / "static").exists()


def test_vectors_of_a_small_sentence_transformer(need, world):
    library = need("sentence_transformers")
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "cats": 1}, unk_token="[UNK]"))
    module = StaticEmbedding(tokenizer, embedding_weights=np.array([[0, 0], [1, 2]], np.float32))
    model = library.SentenceTransformer(modules=[module])
    vectors = encode(model, ["cats", "dogs"])
    assert (vectors.dtype, vectors.tolist()) == (np.float32, [[1, 2], [0, 0]])
    documents = Collection(["a", "b"], ["", ""], ["cats", "dogs"])
    searcher = Searcher(vectors=1.0, dim=2).fit(documents, encode=model)
    assert searcher.ranker_.vectors_dim == 2
    assert searcher.search("cats")[0].id == "a"
