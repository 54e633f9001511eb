"""Thousands of random requests made from the OpenAPI description: none ends in a status of 500 or an exception.

Values are drawn from the schema, slightly wrong, or not JSON at all. `TestClient` raises what a route raises, so a
traceback fails the test with the request that caused it.
"""

import json
import random
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from tacit.app.web.service import create_app
from tacit.app.web.training.trainer import Trainer
from tacit.rerank import StandingRanker

N_REQUESTS = 3_000
TEXTS = (
    """cat| |inverse matrix|cats-0|new|1|ann|\0|\U0001f600|a/b?c#d%e|../..|\u202e|\ufffe|'--|blend|tfidf|null|-1|\n"""
)
TEXTS = ["", "x" * 300, "é" * 20, "measuring", *TEXTS.split("|")]
NAMES = [*TEXTS, "method", "self", "dim", "stem", "words", "seed", "threads"]
NUMBERS = [0, 1, -1, 2, 10, 1000, 1001, 0.5, 1e308, -1e308, 1e-320, 2**31, 2**63, 2**200, -(2**64)]
RAW = [
    b"",
    b"{",
    b"[",
    b"\xff",
    b"nul",
    b'"\\ud800"',
    b"[" * 5000,
    b"{" * 3000,
    b"1" * 6000,
    b"NaN",
    b"-",
    b"\xef\xbb\xbf[]",
]
KINDS = ["application/json"] * 12 + ["text/plain", "", "application/json; charset=utf-16", "a/b/c", "text/x+json"]


class Requests:
    """Random requests by the description of an interface."""

    def __init__(self, description, seed):
        self.random = random.Random(seed)
        self.schemas = description["components"]["schemas"]
        self.routes = [(m, p, what) for p, methods in description["paths"].items() for m, what in methods.items()]

    def anything(self, depth=0):
        """Any JSON value."""
        draw = self.random.random()
        if draw < 0.4:
            return self.random.choice(TEXTS)
        if draw < 0.7 or depth > 2:
            return self.random.choice(NUMBERS)
        if draw < 0.8:
            return self.random.choice([None, True, False])
        if draw < 0.9:
            return [self.anything(depth + 1) for _ in range(self.random.randrange(4))]
        return {self.random.choice(TEXTS): self.anything(depth + 1) for _ in range(self.random.randrange(4))}

    def value(self, schema):
        """A value of a schema, now and then of none."""
        if self.random.random() < 0.04:
            return self.anything()
        if "$ref" in schema:
            return self.value(self.schemas[schema["$ref"].rsplit("/", 1)[1]])
        if "anyOf" in schema or "oneOf" in schema:
            return self.value(self.random.choice(schema.get("anyOf") or schema["oneOf"]))
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            return self.object(schema)
        if kind == "array":
            return [self.value(schema["items"]) for _ in range(self.random.choice([0, 1, 1, 2, 5]))]
        if kind == "string":
            return self.random.choice(TEXTS)
        if kind in ("integer", "number"):
            return self.random.choice([1, 2, 3, *NUMBERS])
        return {"boolean": self.random.random() < 0.5, "null": None}.get(kind, self.anything())

    def object(self, schema):
        required, names = schema.get("required", []), schema.get("properties", {})
        kept = [name for name in names if name in required or self.random.random() < 0.5]
        kept = [name for name in kept if self.random.random() < 0.97]
        found = {name: self.value(names[name]) for name in kept}
        if not names or self.random.random() < 0.03:
            found[self.random.choice([*TEXTS, "method", "self", "dim", "stem", "words", "seed", "threads"])] = (
                self.anything()
            )
        return found

    def draw(self):
        """Method, path, parameters, body and headers."""
        method, path, what = self.random.choice(self.routes)
        params = {}
        for parameter in what.get("parameters", []):
            value = self.value(parameter["schema"])
            text = value if isinstance(value, str) else json.dumps(value)
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", text)
            elif parameter.get("required") or self.random.random() < 0.5:
                params[parameter["name"]] = text
        content, headers = None, {}
        if "requestBody" in what:
            schema = what["requestBody"]["content"]["application/json"]["schema"]
            content = (
                json.dumps(self.value(schema)).encode() if self.random.random() < 0.95 else self.random.choice(RAW)
            )
            if self.random.random() < 0.03:  # half of a character, in a text or a name
                content = content.replace(self.random.choice([b"cat", b"id", b"query", b"1"]), b"\\ud800", 1)
            headers["content-type"] = self.random.choice(KINDS)
        if self.random.random() < 0.02:
            headers["accept"] = "text/event-stream"
        if self.random.random() < 0.02:
            headers["origin"] = self.random.choice(["http://[", "null", "http://testserver", "\xff".encode("latin-1")])
        return method.upper(), path, params, content, headers


@pytest.fixture
def ranker():
    return StandingRanker().fit([[0.0, 1], [1, 0], [2, 1], [3, 0]], [0, -1, 1, 2])


def test_no_request_is_a_mistake_of_the_service(workspace, ranker, monkeypatch):
    monkeypatch.setattr(Trainer, "_run", lambda self, job: "this one trains nothing")
    app = create_app(workspace, ranker=ranker)
    with TestClient(app) as client:
        requests = Requests(app.app.openapi(), seed=20)
        statuses = {}
        for number in range(N_REQUESTS):
            method, path, params, content, headers = request = requests.draw()
            try:
                answer = client.request(method, quote(path), params=params, content=content, headers=headers)
            except Exception as error:
                raise AssertionError(f"request {number}, {request}") from error
            assert answer.status_code < 500, (number, request, answer.text)
            if answer.status_code >= 400:
                problem = answer.json()["error"]
                assert problem, request
                assert "\n" not in problem, request
            statuses.setdefault(f"{method} {path.split('/')[2]}", set()).add(answer.status_code // 100)
    assert len(statuses) >= 15
    never = {key for key, found in statuses.items() if 2 not in found and not key.startswith("DELETE")}
    assert never <= {"GET explain", "GET report"}, "the id of a document is rarely drawn, and there is no verdict"
