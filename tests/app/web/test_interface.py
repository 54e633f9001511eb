"""The described interface: every route answers as its model says, mistakes have one schema, old paths work too."""

import numpy as np
import pytest

from tacit.app.web.interface import answers, bodies
from tacit.app.web.interface.examples import EXAMPLES, REQUESTS
from tacit.app.web.training.verdicts import MEASURES, make_verdict


@pytest.fixture
def description(client):
    return client.get("/openapi.json").json()


def operations(description):
    return [(path, method, what) for path, found in description["paths"].items() for method, what in found.items()]


def test_every_route_is_described(description):
    names = [what["operationId"] for _, _, what in operations(description)]
    assert len(set(names)) == len(names)
    assert {"search", "add_judgments", "start_training", "cancel_training", "make_live"} <= set(names)
    assert "HTTPBearer" in description["components"]["securitySchemes"]
    tags = {tag["name"] for tag in description["tags"]}
    for path, method, what in operations(description):
        assert path.startswith("/v1/"), path
        assert set(what["tags"]) <= tags
        assert what["summary"], (path, method)
        assert what["description"]
        assert what["security"] == [{"HTTPBearer": []}]
        assert "422" not in what["responses"]  # the schema of FastAPI, which is never sent
        problem = what["responses"]["4XX"]["content"]["application/json"]["schema"]
        assert problem == {"$ref": "#/components/schemas/Problem"}
        good = next(found for status, found in what["responses"].items() if status.startswith("2"))
        assert good["description"]
        assert good["content"]
        for kind, content in good["content"].items():
            assert kind != "application/json" or (content["schema"] and content["example"]), (path, method)
        for parameter in what.get("parameters", []):
            assert parameter["description"], (path, parameter["name"])
    assert "HTTPValidationError" not in description["components"]["schemas"]


def test_every_name_of_a_body_has_a_meaning_and_examples_are_as_described(description):
    for name, schema in description["components"]["schemas"].items():
        missing = [field for field, what in schema.get("properties", {}).items() if not what.get("description")]
        assert (name, missing) == (name, [])
        assert not name.endswith("Body") or schema["examples"] == [REQUESTS[name]]
    for name, example in EXAMPLES.items():
        getattr(answers, name).model_validate(example)
    for name, example in REQUESTS.items():
        getattr(bodies, name).model_validate(example)


def test_answers_are_as_described(client, workspace, searcher, store):
    arrays = {measure: np.linspace(0, 1, 10) for measure in MEASURES}
    queries = {f"q{n}": f"text {n}" for n in range(10)}
    verdict = make_verdict("2", "1", queries, arrays, arrays, fingerprint="f", has_zeros=True, identical=False)
    used = {"judgments": 10, "judged": 10, "queries": 10, "left_out": {}}
    _, folder = workspace.new_version()
    searcher.save(folder)
    workspace.keep_verdict("2", verdict | {"curve": [], "used": used, "method": "bm25"})
    judgment = {"query": "kitten", "document": "cats-0", "grade": 1, "judge": "ann"}
    calls = [
        ("GET", "/search?q=kitten", None, answers.SearchAnswer),
        ("POST", "/search", {"query": "kitten"}, answers.SearchAnswer),
        ("GET", "/suggest?q=cat", None, answers.SuggestAnswer),
        ("GET", "/search?q=kiten", None, answers.SearchAnswer),
        ("GET", "/explain?q=kitten&id=cats-0", None, answers.Explanation),
        ("POST", "/feedback", {"query": "kitten", "liked": ["cats-0"]}, answers.SearchAnswer),
        ("GET", "/documents/cats-0", None, answers.DocumentAnswer),
        ("POST", "/documents", {"id": "new", "text": "a kitten"}, answers.DocumentsChanged),
        ("PUT", "/documents/new", {"text": "another kitten"}, answers.DocumentPut),
        ("DELETE", "/documents/new", None, answers.DocumentRemoved),
        ("GET", "/next?judge=ann", None, answers.NextAnswer),
        ("POST", "/queries", [{"text": "onion soup"}], answers.QueriesAdded),
        ("GET", "/next?judge=ann", None, answers.NextAnswer),
        ("POST", "/judgments", judgment, answers.JudgmentRecorded),
        ("POST", "/judgments", [judgment | {"judge": "bob", "grade": 0}], answers.JudgmentsRecorded),
        ("GET", "/judgments", None, answers.JudgmentsAnswer),
        ("GET", "/agreement", None, answers.AgreementAnswer),
        ("POST", "/judgments/withdraw", {k: v for k, v in judgment.items() if k != "grade"}, answers.JudgmentWithdrawn),
        ("POST", "/import", {"text": "q1 0 cats-1 2", "preview": True}, answers.ImportAnswer),
        ("POST", "/import", {"text": "id,text\nx,one"}, answers.ImportAnswer),
        ("GET", "/queries", None, answers.QueriesAnswer),
        ("PATCH", "/queries/x", {"topic": "t"}, answers.QueryChanged),
        ("DELETE", "/queries/x", None, answers.QueryDeleted),
        ("PUT", "/guidelines", {"text": "be kind"}, answers.Guidelines),
        ("GET", "/guidelines", None, answers.Guidelines),
        ("GET", "/train", None, answers.TrainingState),
        ("GET", "/versions", None, answers.VersionsAnswer),
        ("GET", "/versions/2", None, answers.VersionComparison),
        ("POST", "/versions", {"version": "2"}, answers.Switched),
        ("GET", "/versions/1", None, answers.VersionComparison),
        ("GET", "/health", None, answers.Health),
    ]
    for method, path, body, model in calls:
        answer = client.request(method, "/v1" + path, json=body)
        assert answer.status_code == 200, (path, answer.text)
        model.model_validate(answer.json())


def test_paths_without_the_version_answer_too(client):
    assert client.get("/search?q=kitten").json() == client.get("/v1/search?q=kitten").json()
    assert client.get("/v1/search?q=kitten&nonsense=1").status_code == 422
    assert client.get("/search?q=kitten&nonsense=1").status_code == 422
    answers.Problem.model_validate(client.get("/v1/search").json())
    text = client.get("/v1/metrics").text
    assert 'tacit_requests_total{method="GET",outcome="ok",route="/search"} 2.0' in text
    assert "# HELP tacit_request_seconds" in text
    assert "tacit_request_seconds_sum" in text


def test_long_lists_come_in_pages(client, store):
    for number in range(5):
        store.record(f"query {number}", "cats-0", 1, "ann")
    seen, cursor = [], 0
    while cursor is not None:
        found = client.get("/v1/judgments", params={"limit": 2, "cursor": cursor}).json()
        assert found["total"] == found["queries"] == 5
        seen += [record["text"] for record in found["judgments"]]
        cursor = found["next"]
    assert seen == [f"query {number}" for number in range(5)]
    assert client.get("/v1/queries", params={"limit": 2, "cursor": 4}).json()["next"] is None
    part = client.get("/v1/export", params={"limit": 2})
    assert part.headers["x-next-cursor"] == "2"
    assert len(part.text.splitlines()) == 3
    assert client.get("/v1/judgments", params={"query": store.query_id("query 3")}).json()["total"] == 1
