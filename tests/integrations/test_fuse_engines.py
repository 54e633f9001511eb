"""Exported fusions in engines that run in this process: the same order as ours.

Documents of Cranfield have BM25 weights as sparse vectors and MiniLM vectors; scores of the searches are the runs that
are fused. The exported query is sent to the engine, and its order is compared with ours, up to equal scores.
"""

import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tacit.core import Run
from tacit.judge.fuse import ENGINES, Legs
from tacit.judge.fuse.front import export

DATA = os.environ.get("TACIT_DATA")
N_DOCS, N_QUERIES, DEPTH = 300, 12, 25


@pytest.fixture(scope="module")
def vectors():
    """Dense vectors of documents and queries, sparse BM25 weights of documents, and words of the queries."""
    if DATA is None:
        pytest.skip("TACIT_DATA is not set: no Cranfield collection")
    from tacit.data import read_collection, read_queries

    folder = Path(DATA)
    with np.load(folder / "vectors" / "cranfield.npz", allow_pickle=False) as file:
        dense_docs, dense_queries = file["docs"].astype(np.float32), file["queries"].astype(np.float32)
        doc_ids, query_ids = file["doc_ids"].tolist(), file["query_ids"].tolist()
    docs, queries = (
        read_collection(folder / "text/cranfield/docs.jsonl.gz"),
        read_queries(folder / "text/cranfield/queries.jsonl"),
    )
    texts = [docs.texts[docs.row_of[str(name)]] for name in doc_ids[:N_DOCS]]
    asked = [queries.texts[queries.row_of[str(name)]] for name in query_ids[:N_QUERIES]]
    sparse_docs, sparse_queries = bm25_vectors(texts, asked)
    return dense_docs[:N_DOCS], dense_queries[:N_QUERIES], sparse_docs, sparse_queries, texts, asked


def bm25_vectors(texts, asked):
    """BM25 as a dot product: weights of the documents' words, and ones for the words of the query."""
    words = [text.lower().split() for text in texts]
    vocabulary = {word: n for n, word in enumerate(sorted({w for row in words for w in row}))}
    counts = np.zeros((len(texts), len(vocabulary)))
    for row, found in enumerate(words):
        for word in found:
            counts[row, vocabulary[word]] += 1
    length = counts.sum(axis=1, keepdims=True)
    idf = np.log(1 + (len(texts) - (counts > 0).sum(axis=0) + 0.5) / ((counts > 0).sum(axis=0) + 0.5))
    weights = idf * counts * 2.2 / (counts + 1.2 * (0.25 + 0.75 * length / length.mean()))
    queries = [sorted({vocabulary[word] for word in text.lower().split() if word in vocabulary}) for text in asked]
    return weights.astype(np.float32), queries


def runs_of(vectors):
    """The runs of both searches, as exact scores say."""
    dense_docs, dense_queries, sparse_docs, sparse_queries, *_ = vectors
    dense, sparse = {}, {}
    for q in range(len(dense_queries)):
        for scores, nested in (
            (dense_docs @ dense_queries[q], dense),
            (sparse_docs[:, sparse_queries[q]].sum(axis=1), sparse),
        ):
            best = np.argsort(-scores, kind="stable")[:DEPTH]
            nested[f"q{q}"] = {f"d{d}": float(scores[d]) for d in best.tolist() if scores[d] > 0}
    return {"bm25": Run.from_dict(sparse), "dense": Run.from_dict(dense)}


def check_order(fusion, legs, query, found):
    """The engine's documents have our scores in falling order, and are our first ones."""
    some = legs.take([legs.query_ids.index(f"q{query}")])
    ours = dict(zip((some.doc_ids[d] for d in some.doc), fusion.scores(some).tolist(), strict=True))
    scores = np.array([ours[document] for document in found])
    assert (np.diff(scores) <= 1e-5 * np.abs(scores).max()).all()
    best = np.sort(list(ours.values()))[::-1][: len(found)]
    assert scores == pytest.approx(best, rel=1e-4)
    assert len(found) >= 10


def candidates(engine, legs):
    """The default and some candidates of every family."""
    space = ENGINES[engine].make_space(legs)
    return [space.default, *(fusion for group in space.groups for fusion in group[1 :: max(len(group) // 3, 1)])]


def test_qdrant_has_our_order(need, vectors):
    qdrant = need("qdrant_client")
    models = qdrant.models
    dense_docs, dense_queries, sparse_docs, sparse_queries, *_ = vectors
    client = qdrant.QdrantClient(":memory:")
    client.create_collection(
        "docs",
        vectors_config={"dense": models.VectorParams(size=dense_docs.shape[1], distance=models.Distance.DOT)},
        sparse_vectors_config={"bm25": models.SparseVectorParams()},
    )

    def sparse(row):
        at = np.flatnonzero(row)
        return models.SparseVector(indices=at.tolist(), values=row[at].tolist())

    points = [
        models.PointStruct(id=d, vector={"dense": dense_docs[d].tolist(), "bm25": sparse(sparse_docs[d])})
        for d in range(N_DOCS)
    ]
    client.upsert("docs", points)
    legs = Legs.from_runs(runs_of(vectors))
    for fusion in candidates("qdrant", legs):
        body = export(fusion, legs, "qdrant")["body"]
        assert [prefetch["using"] for prefetch in body["prefetch"]] == ["bm25", "dense"]
        for q in range(N_QUERIES):
            words = sparse_queries[q]
            asked = {
                "bm25": models.SparseVector(indices=words, values=[1.0] * len(words)),
                "dense": dense_queries[q].tolist(),
            }
            prefetch = [
                models.Prefetch(query=asked[p["using"]], using=p["using"], limit=DEPTH) for p in body["prefetch"]
            ]
            query = models.RrfQuery(**body["query"]) if "rrf" in body["query"] else models.FormulaQuery(**body["query"])
            hits = client.query_points("docs", prefetch=prefetch, query=query, limit=2 * DEPTH).points
            check_order(fusion, legs, q, [f"d{hit.id}" for hit in hits])


def test_milvus_has_our_order(need, vectors, tmp_path):
    need("milvus_lite")
    pymilvus = need("pymilvus")
    dense_docs, dense_queries, sparse_docs, sparse_queries, *_ = vectors
    client = pymilvus.MilvusClient(str(tmp_path / "milvus.db"))
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", pymilvus.DataType.INT64, is_primary=True)
    schema.add_field("dense", pymilvus.DataType.FLOAT_VECTOR, dim=dense_docs.shape[1])
    schema.add_field("bm25", pymilvus.DataType.SPARSE_FLOAT_VECTOR)
    index = client.prepare_index_params()
    index.add_index("dense", index_type="FLAT", metric_type="IP")
    index.add_index("bm25", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    client.create_collection("docs", schema=schema, index_params=index)
    words_of = [{int(word): float(row[word]) for word in np.flatnonzero(row)} for row in sparse_docs]
    rows = [{"id": d, "dense": dense_docs[d].tolist(), "bm25": words_of[d]} for d in range(N_DOCS)]
    client.insert("docs", rows)
    client.load_collection("docs")
    legs = Legs.from_runs(runs_of(vectors))
    for fusion in candidates("milvus", legs):
        body = export(fusion, legs, "milvus")["body"]
        kind = pymilvus.RRFRanker if body["strategy"] == "rrf" else pymilvus.WeightedRanker
        ranker = (
            kind(body["params"]["k"])
            if body["strategy"] == "rrf"
            else kind(*body["params"]["weights"], norm_score=False)
        )
        for q in range(N_QUERIES):
            words = {int(word): 1.0 for word in sparse_queries[q]}
            requests = [
                pymilvus.AnnSearchRequest([words], "bm25", {"metric_type": "IP"}, limit=DEPTH),
                pymilvus.AnnSearchRequest([dense_queries[q].tolist()], "dense", {"metric_type": "IP"}, limit=DEPTH),
            ]
            (hits,) = client.hybrid_search("docs", requests, ranker, limit=2 * DEPTH)
            check_order(fusion, legs, q, [f"d{hit['id']}" for hit in hits])
    client.close()


def test_lancedb_has_our_order(need, vectors, tmp_path):
    lancedb = need("lancedb")
    rerankers = import_module("lancedb.rerankers")
    dense_docs, dense_queries, _, _, texts, asked = vectors
    table = lancedb.connect(tmp_path).create_table(
        "docs", [{"id": f"d{d}", "text": texts[d], "vector": dense_docs[d]} for d in range(N_DOCS)]
    )
    table.create_index("text", config=lancedb.index.FTS())
    dense, sparse = {}, {}  # the engine's own text scores: its BM25 has its own tokenizer
    words = ["".join(c if c.isalnum() else " " for c in text) for text in asked]
    for q in range(N_QUERIES):
        hits = table.search(words[q], query_type="fts").limit(DEPTH).to_list()
        sparse[f"q{q}"] = {hit["id"]: hit["_score"] for hit in hits}
        hits = table.search(dense_queries[q], query_type="vector").distance_type("cosine").limit(DEPTH).to_list()
        dense[f"q{q}"] = {hit["id"]: 1 - hit["_distance"] for hit in hits}
    legs = Legs.from_runs({"bm25": Run.from_dict(sparse), "dense": Run.from_dict(dense)})
    for fusion in candidates("lancedb", legs):
        body = export(fusion, legs, "lancedb")["body"]
        reranker = getattr(rerankers, body["reranker"])(**body["arguments"])
        for q in range(N_QUERIES):
            search = table.search(query_type="hybrid").vector(dense_queries[q]).text(words[q]).distance_type("cosine")
            hits = search.rerank(reranker).limit(DEPTH).to_list()
            check_order(fusion, legs, q, [hit["id"] for hit in hits])
