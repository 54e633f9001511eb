"""Fit, bulk search and evaluation through the command line on the classic collections, against bm25s itself."""

import json

import bm25s
import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import Run
from tacit.data import read_collection, read_qrels, read_queries
from tacit.features import tokenizer_for
from tacit.metrics import evaluate
from tacit.retrieve.vectors import join_vectors
from tacit.search import Searcher
from tacit.search.vectors import WordVectors


def mean_precision_of_bm25s(folder):
    """MAP by bm25s alone: its own index and its own top 1,000 for the same words."""
    documents, queries = read_collection(folder), read_queries(folder / "queries.jsonl")
    tokenizer = tokenizer_for("en")
    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index([tokenizer(text) for text in documents.full_texts()], show_progress=False)
    wanted = [tokenizer(text) for text in queries.full_texts()]
    rows, scores = index.retrieve(wanted, k=1000, show_progress=False)
    found = {
        query_id: {documents.ids[row]: float(score) for row, score in zip(*answer, strict=True)}
        for query_id, *answer in zip(queries.ids, rows, scores, strict=True)
    }
    return evaluate(read_qrels(folder / "qrels.txt"), Run.from_dict(found), ["AP"]).means()["AP"]


@pytest.mark.parametrize("name", ["cranfield", "cisi", "cacm"])
def test_bm25_is_as_good_as_bm25s(data_folder, name, tmp_path, capsys):
    folder = data_folder / "text" / name
    model, run = tmp_path / "model", tmp_path / "bm25.run"
    assert main(["fit", str(folder), "--method", "bm25", "-o", str(model)]) == 0
    assert main(["search", str(model), "--queries", str(folder / "queries.jsonl"), "--run", str(run)]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(folder / "qrels.txt"), str(run), "-m", "AP", "--json"]) == 0
    ours = json.loads(capsys.readouterr().out)["measures"]["AP"]
    assert ours == pytest.approx(mean_precision_of_bm25s(folder), abs=0.01)
    assert ours > 0.15


def test_links_on_foldoc_follow_the_protocol(data_folder, tmp_path, capsys):
    """The smallest corpus, quickly: the fixed JSON form, and tf-idf within what its queries allow."""
    systems = "tfidf,bm25,lsi,lsi+tfidf"
    words = ["reproduce", "links", "--data", str(data_folder), "--corpus", "foldoc", "--systems", systems]
    assert main([*words, "--quick", "--json", "--out", str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["experiment"], report["corpus"], report["seed"]) == ("links", "foldoc", 0)
    rows = {row["system"]: row for row in report["rows"]}
    assert set(rows) == set(systems.split(","))
    assert all(set(row["metrics"]) == {"rank_loss", "MAP", "P@10"} for row in rows.values())
    assert rows["tfidf"]["metrics"]["MAP"] == pytest.approx(0.38, abs=0.06)
    assert rows["tfidf"]["metrics"]["rank_loss"] < 0.02
    assert {"better", "worse", "metric", "p"} <= set(report["tests"][0])
    assert all(0 <= test["p"] <= 1 for test in report["tests"])
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".md", ".png"}
    assert np.isfinite([value for row in rows.values() for value in row["metrics"].values()]).all()


def test_vectors_that_are_worse_than_words_do_no_harm_to_a_blend(data_folder):
    """Random vectors, and LSI of half of the words, with the weight that they earn without labels."""
    from sklearn.decomposition import TruncatedSVD

    folder = data_folder / "text" / "cranfield"
    documents, queries = read_collection(folder), read_queries(folder / "queries.jsonl")
    judgments, rng = read_qrels(folder / "qrels.txt"), np.random.default_rng(0)
    searcher = Searcher(dim=20).fit(documents)
    plain = searcher.ranker_
    words, asked = searcher.vectorizer_.transform(documents.full_texts()), searcher.features(queries.full_texts())
    half = np.flatnonzero(rng.random(words.shape[1]) < 0.5)
    svd = TruncatedSVD(100, random_state=0).fit(words[:, half])
    given = {
        "random": [rng.normal(size=(len(texts), 100)) for texts in (documents, queries)],
        "half": [svd.transform(rows[:, half]) for rows in (words, searcher.vectorizer_.tfidf(asked))],
    }

    def precision(ranker, rows):
        ranking = ranker.rank(rows, 1000)
        return evaluate(judgments, ranking.to_run(queries.ids, documents.ids, ""), ["AP"]).means()["AP"]

    before = precision(plain, asked)
    references = WordVectors(list(documents.full_texts())).encode(list(documents.full_texts()))
    counts = searcher.vectorizer_.counts(documents.full_texts())
    for kind, (vectors, query_vectors) in given.items():
        titles = searcher.vectorizer_.counts(documents.titles)
        given_too = {"titles": titles, "vectors": vectors, "references": references, "members": plain}
        ranker = plain.clone().fit(None, counts, **given_too)
        found = precision(ranker, join_vectors(asked, query_vectors))
        # LSI of half of the words looks like knowledge of another kind, so it has a weight, but a small one.
        assert found > before - (0.006 if kind == "half" else 0.002), kind
        assert ranker.weights_["vectors"] <= (1 if kind == "half" else 0.01)


def test_vectors_of_a_pretrained_encoder_gain_without_labels(data_folder):
    """Vectors of MiniLM for documents and queries, with the weight that they earn from documents alone."""
    folder, packed = data_folder / "text" / "cacm", np.load(data_folder / "vectors" / "cacm.npz")
    documents, queries, judgments = read_collection(folder), read_queries(folder), read_qrels(folder / "qrels.txt")
    vectors, asked = (
        packed[name][[{str(key): row for row, key in enumerate(packed[ids])}[key] for key in texts.ids]]
        for name, ids, texts in (("docs", "doc_ids", documents), ("queries", "query_ids", queries))
    )
    searcher = Searcher(dim=50).fit(documents, vectors=vectors.astype(np.float32))
    assert 4 < searcher.ranker_.weights_["vectors"] <= 7
    without, found = (
        evaluate(judgments, searcher.run(queries, vectors=given), ["AP"]).means()["AP"]
        for given in (None, asked.astype(np.float32))
    )
    assert found > without + 0.03


def test_an_encoder_goes_through_fit_and_gains_on_cacm(data_folder):
    """Stored vectors of MiniLM as an encoder of texts, with a weight that is given: nothing is cut out of documents."""
    folder, packed = data_folder / "text" / "cacm", np.load(data_folder / "vectors" / "cacm.npz")
    documents, queries, judgments = read_collection(folder), read_queries(folder), read_qrels(folder / "qrels.txt")
    known = {"a text": packed["docs"][0]}
    for texts, name, ids in ((documents, "docs", "doc_ids"), (queries, "queries", "query_ids")):
        vectors = dict(zip(packed[ids].tolist(), packed[name], strict=True))
        known |= {texts.full_text(row): vectors[key] for row, key in enumerate(texts.ids)}

    class Stored:
        def encode(self, texts):
            return np.stack([known[text] for text in texts]).astype(np.float32)

    plain, encoded = Searcher(dim=50).fit(documents), Searcher(dim=50, encoder=Stored(), vectors=6.0).fit(documents)
    before, after = (evaluate(judgments, found.run(queries), ["AP"]).means()["AP"] for found in (plain, encoded))
    assert after > before + 0.03
