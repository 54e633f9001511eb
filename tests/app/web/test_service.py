"""The HTTP interface in process: answers, mistakes in one line, judgments with and without tickets."""

import json

import numpy as np
import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from tacit.app.web.service import create_app
from tacit.app.web.workspace import Workspace
from tacit.core import Collection
from tacit.rerank import StandingRanker
from tacit.search import Searcher


def test_search_answers_as_the_searcher_does(client, searcher):
    found = client.get("/search", params={"q": "inverse of a matrix", "k": 3}).json()
    expected = searcher.search("inverse of a matrix", 3)
    assert (found["model"], found["query"]) == ("1", "inverse of a matrix")
    assert [(hit["rank"], hit["id"]) for hit in found["hits"]] == [(hit.rank, hit.id) for hit in expected]
    assert {"rank", "id", "score", "title", "snippet"} <= set(found["hits"][0])


def test_explanations_add_up(client):
    hits = client.get("/search", params={"q": "inverse matrix"}).json()["hits"]
    one = client.get("/explain", params={"q": "inverse matrix", "id": hits[0]["id"]}).json()
    assert one["total"] == pytest.approx(hits[0]["score"], abs=1e-4)
    both = client.get("/explain", params={"q": "inverse matrix", "id": hits[0]["id"], "other": hits[5]["id"]}).json()
    assert both["total"] == pytest.approx(hits[0]["score"] - hits[5]["score"], abs=1e-4)
    assert sum(term["value"] for term in both["terms"]) == pytest.approx(both["total"], abs=1e-4)
    assert {term["heading"] for term in both["terms"]} == {"Words"}


def test_feedback_ranks_again(client):
    body = {"query": "fur or salt", "liked": ["cats-0"], "disliked": ["soup-0"]}
    hits = client.post("/feedback", json=body).json()["hits"]
    assert hits[0]["id"] == "cats-0"
    assert "soup-0" not in [hit["id"] for hit in hits[:5]]


@pytest.mark.parametrize(
    ("call", "status", "problem"),
    [
        (("GET", "/search", None), 422, "q is missing, want a value"),
        (("GET", "/search?q=a&k=0", None), 422, 'k is "0", want a number greater than or equal to 1'),
        (("GET", "/search?q=%20", None), 400, "the query is empty"),
        (("GET", "/search?q=cat&model=7", None), 400, "there is no version '7'"),
        (("GET", "/explain?q=cat&id=nobody", None), 404, "no document has the id 'nobody'"),
        (("GET", "/documents/nobody", None), 404, "no document has the id 'nobody'"),
        (("DELETE", "/documents/nobody", None), 404, "no document has the id 'nobody'"),
        (("POST", "/judgments", {"query": "q"}), 422, "body.document is missing"),
        (("POST", "/judgments", [1]), 422, "body[0] is 1, want a JSON object"),
        (("POST", "/judgments", 1), 422, "body is 1, want a JSON object"),
        (("POST", "/judgments", [{"query": "q", "document": "cats-0", "grade": 1}]), 422, "body[0].judge is missing"),
        (("GET", "/search?q=cat&page=2", None), 422, 'unknown parameter "page", want one of q, k, model, filter'),
        (("GET", "/health?x", None), 422, 'unknown parameter "x", this route has no parameters'),
        (("GET", "/search?q=cat&filter=price<", None), 400, "filter ends after 'price<', want a value"),
        (("GET", "/search?q=cat&filter=price<3", None), 400, "the documents have no field 'price'"),
        (("GET", "/search?q=cat&sort=price", None), 400, "sort is 'price', and the documents have no such field"),
        (("GET", "/search?q=cat&offset=-1", None), 422, 'offset is "-1", want a number greater than or equal to 0'),
        (("POST", "/search", {"query": "cat", "vector": [1.0]}), 400, "the model has no vectors of documents"),
        (("POST", "/documents", {"id": "x", "text": "y", "fields": {"a": {}}}), 422, "body[0].fields.a"),
        (("POST", "/judgments", {"query": "q" * 20_001, "document": "d", "grade": 1, "judge": "ann"}), 422,
         "body.query is a text of 20001 characters, want at most 20000 characters"),
        (("POST", "/judgments", {"query": "q", "document": "d", "grade": 1, "judge": "ann", "rank": 1}), 422,
         "body has the unknown name 'rank', want one of query, document, grade, judge, kind, decision, ticket"),
        (("POST", "/judgments/withdraw", {"query": "q", "document": "cats-0", "judge": "ann"}), 400,
         "judge 'ann' has not judged document 'cats-0'"),
        (("POST", "/documents", {"id": "new"}), 422, "body[0].text is missing"),
        (("POST", "/queries", {"text": "one"}), 422, 'body is {"text": "one"}, want a valid list'),
        (("POST", "/train", {"method": "nope"}), 400, "method is 'nope', want one of blend"),
        (("POST", "/train", {"params": {"dimm": 3}}), 400, "dimm"),
        (("POST", "/judgments", {"query": "q", "document": "d", "grade": -1, "judge": "ann"}), 422,
         "body.grade is -1, want a number greater than or equal to 0"),
        (("POST", "/judgments", {"query": "q", "document": "d", "grade": 1, "judge": "ann", "ticket": "x.y"}), 400,
         "the ticket was not issued here"),
        (("POST", "/judgments", {"query": "q", "document": "d", "grade": "two", "judge": "ann"}), 422,
         'body.grade is "two", want a valid number'),
        (("POST", "/documents", {"id": "cats-0", "text": "again"}), 400, "already has a document with the id 'cats-0'"),
        (("POST", "/versions", {"version": "9"}), 400, "there is no version '9'"),
        (("POST", "/train", {}), 202, None),
        (("POST", "/train", None), 202, None),
        (("GET", "/nowhere", None), 404, "there is no route GET /nowhere, want a route listed in /docs"),
        (("PUT", "/search", None), 405, "/search does not accept PUT"),
        (("POST", "/rank", {"features": [[1.0]]}), 400, "has no ranker of lists"),
        (("POST", "/judgments", {"query": "q", "document": "nobody", "grade": 1, "judge": "ann"}), 404,
         "no document has the id 'nobody'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(client, call, status, problem):
    method, path, body = call
    answer = client.request(method, path, json=body)
    assert answer.status_code == status
    if problem is not None:
        assert problem in answer.json()["error"]
        assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("content", "kind", "problem"),
    [
        (b"{bad", "application/json", "the body is not JSON: key must be a string at line 1 column 2"),
        (b"query=q", "application/x-www-form-urlencoded", "body is not sent as application/json"),
        (b"\xff\xfe{", "application/json", "the body is not JSON: expected value at line 1"),
    ],
)
def test_a_body_that_is_no_json_is_one_line(client, content, kind, problem):
    answer = client.post("/judgments", content=content, headers={"content-type": kind})
    assert 400 <= answer.status_code < 500
    assert problem in answer.json()["error"]


def test_a_judgment_is_on_disk_when_it_is_answered(client, store):
    answer = client.post("/judgments", json={"query": "a cat", "document": "cats-1", "grade": 2, "judge": "ann"})
    assert answer.status_code == 200
    (record,) = store.current()
    assert (record.text, record.document, record.grade, record.judge) == ("a cat", "cats-1", 2.0, "ann")
    assert record.probability is None
    cannot = {"query": "a cat", "document": "cats-2", "grade": None, "judge": "ann"}
    assert client.post("/judgments", json=cannot).json()["grade"] is None


@pytest.mark.parametrize("purpose", ["training", "measuring"])
def test_judging_what_is_offered_next(client, store, purpose):
    assert client.get("/next", params={"judge": "ann"}).json()["reason"].startswith("There are no queries yet")
    client.post("/queries", json=[{"text": "inverse matrix", "topic": "maths"}, {"text": "onion soup"}])
    seen = []
    while not (offer := client.get("/next", params={"judge": "ann", "purpose": purpose}).json())["finished"]:
        assert offer["query"]["text"] in ("inverse matrix", "onion soup")
        assert offer["document"]["text"]
        body = {"query": offer["query"]["id"], "document": offer["document"]["id"], "grade": 1, "judge": "ann"}
        assert client.post("/judgments", json=body | {"ticket": offer["ticket"]}).status_code == 200
        seen.append((offer["query"]["id"], offer["document"]["id"]))
        assert offer["progress"]["judged"] == len(seen) - 1
    assert len(seen) == len(set(seen)) >= 12
    for record in store.current():
        assert record.rank >= 1
        assert purpose == "training" or 0 < record.probability <= 1
        assert (record.model, record.display) == ("1", "shuffled,rank hidden")
    assert client.get("/next", params={"judge": "bob"}).json()["finished"] is False  # a second judge, blind


def test_the_next_but_one_is_offered_while_one_is_open_and_skipped_ones_come_later(client):
    client.post("/queries", json=[{"text": "inverse matrix"}])
    first = client.get("/next", params={"judge": "ann"}).json()
    second = client.get("/next", params={"judge": "ann", "after": first["ticket"]}).json()
    assert second["document"]["id"] != first["document"]["id"]
    third = client.get("/next", params={"judge": "ann", "after": first["ticket"], "skipped": "true"}).json()
    assert third["document"]["id"] == second["document"]["id"]


def test_a_ticket_is_for_its_own_document(client):
    client.post("/queries", json=[{"text": "inverse matrix"}])
    offer = client.get("/next", params={"judge": "ann"}).json()
    body = {"query": offer["query"]["id"], "document": "cats-0", "grade": 1, "judge": "ann", "ticket": offer["ticket"]}
    assert "the ticket is for document" in client.post("/judgments", json=body).json()["error"]
    body |= {"query": "another query", "document": offer["document"]["id"]}
    assert "the ticket is for query" in client.post("/judgments", json=body).json()["error"]
    assert client.post("/judgments", json=body | {"query": offer["query"]["text"]}).status_code == 200


def test_undo_takes_a_judgment_back(client, store):
    pair = {"query": "a cat", "document": "cats-1", "judge": "ann"}
    client.post("/judgments", json=pair | {"grade": 2})
    client.post("/judgments/withdraw", json=pair)
    assert store.current() == []
    assert len(store) == 2  # both are on record


def test_new_documents_are_found_at_once_and_after_a_restart(client, model, store):
    new = {"id": "zebra", "title": "Zebra", "text": "a zebra has stripes"}
    assert client.post("/documents", json=new).json()["documents"] == 38
    assert client.get("/search", params={"q": "stripes"}).json()["hits"][0]["id"] == "zebra"
    again = TestClient(create_app(Workspace(model, Searcher.load(model), store)))
    assert again.get("/search", params={"q": "stripes"}).json()["hits"][0]["id"] == "zebra"
    assert client.delete("/documents/zebra").json()["documents"] == 37
    assert client.get("/search", params={"q": "stripes"}).json()["hits"] == []


def test_documents_that_another_process_has_added_are_kept(client, model):
    """A change is made to what the folder holds, not to what the service has in memory."""
    Searcher.load(model).add(Collection(["yak"], [""], ["a yak has horns"])).save(model)
    new = {"id": "zebra", "text": "a zebra has stripes"}
    assert client.post("/documents", json=new).json()["documents"] == 39
    assert client.get("/search", params={"q": "horns"}).json()["hits"][0]["id"] == "yak"
    assert client.delete("/documents/yak").json()["documents"] == 38
    assert "zebra" in Searcher.load(model).documents_.ids


def test_everything_is_exported(client, store):
    client.post("/judgments", json={"query": 'a, "cat"', "document": "cats-1", "grade": 2, "judge": "ann"})
    text = client.get("/export").text
    assert text.startswith("query,document,grade,judge")
    assert '"a, ""cat"""' in text


def test_rows_of_features_are_ranked(workspace):
    X, y = np.array([[0.0, 1], [1, 0], [2, 1], [3, 0]]), [0, -1, 1, 2]
    client = TestClient(create_app(workspace, ranker=StandingRanker().fit(X, y)))
    body = {"features": [[0.0, 1.0], [3.0, 0.0]], "documents": ["low", "high"]}
    assert [row["id"] for row in client.post("/rank", json=body).json()["ranking"]] == ["high", "low"]
    uneven = client.post("/rank", json={"features": [[0.0], [1.0, 2.0]]})
    assert "want the same number in each" in uneven.json()["error"]


def test_explanations_have_whole_words_of_the_query_and_the_document(documents, store):
    searcher = Searcher("bm25", stem=True).fit(documents)
    with TestClient(create_app(Workspace(None, searcher, store))) as client:
        found = client.get("/explain", params={"q": "singular matrices", "id": "maths-0"}).json()
    assert searcher.vectorizer_.tokenizer_("singular matrices") == ["singular", "matric"]
    assert {term["query_word"] for term in found["terms"]} <= {"singular", "matrices"}
    assert "singular" in {term["query_word"] for term in found["terms"]}


def test_health_metrics_and_reference(client):
    health = client.get("/health").json()
    assert (health["status"], health["documents"], health["method"]) == ("ok", 37, "bm25")
    client.get("/search", params={"q": "cat"})
    text = client.get("/metrics").text
    assert 'tacit_requests_total{method="GET",outcome="ok",route="/search"} 1.0' in text
    assert 'tacit_request_seconds_count{method="GET",route="/search"} 1.0' in text
    assert 'tacit_request_seconds_sum{method="GET",route="/search"}' in text
    assert 'tacit_request_seconds_bucket{le="+Inf",method="GET",route="/search"} 1.0' in text
    assert "# HELP tacit_request_seconds Response time in seconds." in text
    assert "tacit_documents 37.0" in text
    page = client.get("/docs").text
    for path in ("/search", "/explain", "/feedback", "/judgments", "/next", "/documents", "/train", "/health"):
        assert path in page
    assert "http://" not in page
    assert "https://" not in page


def test_all_paths_without_a_route_are_counted_together(client):
    for path in ("/nowhere", "/elsewhere", "/documents/nobody"):
        client.get(path)
    client.request("BREW", "/search")
    families = {
        sample.labels["route"]: sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
        if sample.name == "tacit_requests_total" and sample.labels["outcome"] == "error"
    }
    assert families == {"other": 3.0, "/documents/{document}": 1.0}


def test_the_page_needs_nothing_from_elsewhere(client):
    page = client.get("/")
    assert page.status_code == 200
    assert all(part in page.text for part in ("/page/style.css", "/page/page.js", "/page/icon.svg"))
    views = ("common", "search", "judge", "learn", "queries")
    assert all(f'"./{view}.js"' in client.get("/page/page.js").text for view in views)
    parts = [client.get(f"/page/{name}") for name in ("style.css", "page.js", *(f"{view}.js" for view in views))]
    assert all(part.status_code == 200 for part in parts)
    texts = [page.text, *(part.text for part in parts)]
    assert not any("//" in text.replace("http://www.w3.org/2000/svg", "").replace("// ", "") for text in texts)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert client.get("/page/../service.py").status_code == 404


def test_without_the_extra_the_command_says_what_to_install(monkeypatch, model, capsys):
    import sys

    from tacit.app.main import main

    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert main(["serve", str(model)]) == 1
    assert "pip install 'tacit-rank[serve]'" in capsys.readouterr().err


def test_other_addresses_need_a_token(model, capsys, monkeypatch):
    from tacit.app.main import main

    monkeypatch.delenv("TACIT_TOKEN", raising=False)
    assert main(["serve", str(model), "--host", "0.0.0.0"]) == 2
    assert "set --token or $TACIT_TOKEN" in capsys.readouterr().err


def test_a_port_that_cannot_be_is_told(model, capsys):
    from tacit.app.main import main

    assert main(["serve", str(model), "--port", "99999999"]) == 2
    assert "want a whole number >= 0 and <= 65535" in capsys.readouterr().err


def test_a_model_of_texts_gives_queries_and_new_documents_their_vectors(documents, store, tmp_path):
    """Felines are cats, though no document says so."""

    def encode(texts):
        return np.array([[text.count("cat") + text.count("feline"), text.count("soup"), 1] for text in texts], float)

    searcher = Searcher(dim=4, vectors=1.0).fit(documents, encode=encode)
    searcher.save(tmp_path / "blend.model")
    workspace = Workspace(tmp_path / "blend.model", searcher, store)
    with TestClient(create_app(workspace)) as client:
        found = client.get("/search", params={"q": "feline", "k": 5}).json()["hits"]
        assert {hit["id"].split("-")[0] for hit in found} == {"cats"}
        terms = client.get("/explain", params={"q": "feline", "id": found[0]["id"]}).json()["terms"]
        assert [term["kind"] for term in terms] == ["vector"]
        body = {"id": "new", "text": "feline feline"}
        assert client.post("/documents", json=body).json()["added"] == 1
        assert client.get("/search", params={"q": "felines"}).json()["hits"][0]["id"] == "new"
    silent = Workspace(tmp_path / "blend.model", Searcher.load(tmp_path / "blend.model"), store)
    with TestClient(create_app(silent)) as client:
        assert [hit["id"] for hit in client.get("/search", params={"q": "felines"}).json()["hits"]] == ["new"]
        assert client.get("/search", params={"q": "purr"}).json()["hits"]


def test_a_full_disk_is_no_mistake_of_the_client(client, workspace):
    store = workspace.store
    (pages,) = store._ask("PRAGMA page_count")[0]
    store._ask(f"PRAGMA max_page_count={pages}")
    lines = "\n".join(
        json.dumps({"query": f"{n} {'x' * 1000}", "document": "cats-0", "grade": 1, "judge": "ann"}) for n in range(300)
    )
    refused = client.post("/v1/import", json={"text": lines})
    assert refused.status_code == 507, refused.text
    assert "the disk is full; this change was not recorded" in refused.json()["error"]
