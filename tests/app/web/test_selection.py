"""Filters, facets, order, groups, pages and vectors over HTTP; fields of documents; judgments in bulk."""

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tacit.app.main import main
from tacit.app.web.service import create_app
from tacit.app.web.workspace import Workspace
from tacit.core import Collection
from tacit.search import Searcher


@pytest.fixture
def shop():
    names = [f"s{n}" for n in range(30)]
    texts = [f"shoe {'red' if n % 2 else 'blue'} {'soft ' * (n % 5)}" for n in range(30)]
    fields = {"price": [n * 7 % 31 for n in range(30)], "brand": [["Acme", "Bolt", None][n % 3] for n in range(30)]}
    return Searcher("bm25").fit(Collection(names, [""] * 30, texts, fields))


@pytest.fixture
def served(shop, tmp_path, store):
    shop.save(tmp_path / "shop.model")
    workspace = Workspace(tmp_path / "shop.model", shop, store)
    with TestClient(create_app(workspace)) as client:
        yield client


def test_get_and_post_select_as_the_searcher_does(served, shop):
    how = {"filter": "price < 20", "sort": "-price", "group": "brand", "offset": 2}
    expected = shop.search("red soft shoe", 5, facets=["brand"], snippets=False, **how)
    params = how | {"q": "red soft shoe", "k": 5, "facet": ["brand"], "snippets": "false"}
    by_get = served.get("/search", params=params).json()
    body = how | {"query": "red soft shoe", "k": 5, "facets": ["brand"], "snippets": False}
    assert by_get == served.post("/search", json=body).json()
    assert [(hit["id"], hit["score"]) for hit in by_get["hits"]] == [(hit.id, hit.score) for hit in expected]
    assert by_get["hits"][0]["rank"] == 3
    assert by_get["hits"][0]["snippet"] == ""
    assert by_get["total"] == expected.total
    counts = {entry["value"]: entry["count"] for entry in by_get["facets"]["brand"]}
    assert counts == expected.facets["brand"]
    assert by_get["hits"][0]["fields"] == expected[0].fields


def test_pages_are_the_ranking_cut_in_parts(served):
    def ask(**params):
        return [hit["id"] for hit in served.get("/search", params={"q": "soft", **params}).json()["hits"]]

    assert [name for page in range(6) for name in ask(k=4, offset=4 * page)] == ask(k=24)


def test_fields_come_with_documents_and_reach_every_version(served, shop, tmp_path, store):
    new = {"id": "new", "text": "red shoe", "fields": {"price": 500, "brand": "Zed", "tags": ["a", "b"]}}
    assert served.post("/documents", json=new).json()["added"] == 1
    assert served.get("/documents/new").json()["fields"] == new["fields"]
    found = served.get("/search", params={"q": "shoe", "filter": "price > 100 and tags = b"}).json()["hits"]
    assert [hit["id"] for hit in found] == ["new"]
    served.put("/documents/new", json={"text": "red shoe", "fields": {"price": 600}})
    assert served.get("/documents/new").json()["fields"] == {"price": 600}
    shop.save(tmp_path / "shop.model.versions" / "2")  # a version without these documents
    served.post("/versions", json={"version": "2", "confirm": True})
    assert served.get("/documents/new").json()["fields"] == {"price": 600}


def test_fields_of_documents_added_by_the_command_line_reach_every_version(served, shop, tmp_path, capsys):
    served.put("/documents/s0", json={"text": "red shoe"})  # now there is a log
    (tmp_path / "new.jsonl").write_text('{"id": "n1", "text": "red shoe", "brand": "Zed"}\n', "utf-8")
    assert main(["add", str(tmp_path / "shop.model"), str(tmp_path / "new.jsonl")]) == 0
    shop.save(tmp_path / "shop.model.versions" / "2")
    served.post("/versions", json={"version": "2", "confirm": True})
    assert served.get("/documents/n1").json()["fields"] == {"brand": "Zed"}


def test_a_query_vector_is_used(store):
    rng = np.random.default_rng(0)
    docs = Collection([str(n) for n in range(8)], [""] * 8, [f"word{n} shared" for n in range(8)])
    searcher = Searcher("blend", vectors=1.0).fit(docs, vectors=rng.normal(size=(8, 4)).astype(np.float32))
    with TestClient(create_app(Workspace(None, searcher, store))) as client:
        vector = [0.1, -2.0, 0.3, 0.0]
        hits = client.post("/search", json={"query": "shared", "vector": vector}).json()["hits"]
        expected = searcher.search("shared", vector=np.array(vector, np.float32))
        assert [(hit["id"], hit["score"]) for hit in hits] == [(hit.id, hit.score) for hit in expected]
        wrong = client.post("/search", json={"query": "shared", "vector": [1.0]})
        assert wrong.status_code == 400
        assert "\n" not in wrong.json()["error"]


def test_judgments_in_bulk_are_recorded_together_or_not_at_all(served, store):
    given = [{"query": "red", "document": f"s{n}", "grade": n % 3, "judge": "ann"} for n in range(20)]
    bad = [*given, {"query": "red", "document": "nobody", "grade": 1, "judge": "ann"}]
    assert served.post("/judgments", json=bad).status_code == 404
    assert len(store) == 0
    assert served.post("/judgments", json=given).json() == {"recorded": 20}
    assert {record.document: record.grade for record in store.current()} == {f"s{n}": n % 3 for n in range(20)}
    assert served.post("/judgments", json=[]).status_code == 422


def test_query_language_corrections_and_completions(served, shop, store):
    found = served.get("/search", params={"q": '"red soft" sheo -blue', "k": 3}).json()
    expected = shop.search('"red soft" sheo -blue', 3)
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in expected]
    assert found["did_you_mean"] == '"red soft" shoe -blue'
    assert found["added"] == [{"typed": "sheo", "used": "shoe", "kind": "spelling", "weight": 0.5}]
    served.put("/documents/new", json={"title": "Soft boots", "text": "x"})
    store.record("soft shoes", "s1", 1, "ann")
    assert served.get("/suggest", params={"q": "SOF"}).json()["suggestions"] == ["soft shoes", "Soft boots"]
    assert served.get("/suggest", params={"q": "boo", "k": 1}).json()["suggestions"] == ["Soft boots"]
