"""Limits of requests: bodies, streams, and texts that no JSON should hold. None of them ends in a status of 500."""

import asyncio
import json
import threading

import pytest
from fastapi.exceptions import RequestValidationError
from fastapi.testclient import TestClient

from tacit.app.web import reading
from tacit.app.web.guard import FREE_BYTES, Guard, Limits
from tacit.app.web.service import create_app
from tacit.core import UsageError


def scope_of(path, method="GET", headers=()):
    own = [(b"host", b"testserver"), *headers]
    return {"type": "http", "method": method, "path": path, "query_string": b"", "headers": own}


async def ask(app, scope, receive):
    sent = []

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"]


async def answer_at_once(scope, receive, send):
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


EVENTS = [(b"accept", b"text/event-stream")]


@pytest.mark.parametrize("path", ["/feedback", "/train/events"])
def test_long_bodies_are_refused_whatever_the_client_accepts(path):
    taken = []

    async def endless():
        taken.append(1)
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    guard = Guard(answer_at_once, ["testserver"], limits=Limits(body_bytes=1000))
    assert asyncio.run(ask(guard, scope_of(path, "POST", EVENTS), endless)) == 413
    assert len(taken) == 11


def test_slow_bodies_are_given_up_whatever_the_client_accepts():
    async def never():
        await asyncio.sleep(60)

    guard = Guard(answer_at_once, ["testserver"], limits=Limits(body_seconds=0.05))
    assert asyncio.run(ask(guard, scope_of("/judgments", "POST", EVENTS), never)) == 408


def test_all_bodies_share_one_budget_and_small_ones_always_fit():
    async def main():
        more, size = asyncio.Event(), FREE_BYTES + 1000
        guard = Guard(answer_at_once, ["testserver"], limits=Limits(all_bodies_bytes=2500))

        def body(n_bytes, held):
            pieces = [{"type": "http.request", "body": b"x" * n_bytes, "more_body": held}]

            async def receive():
                if not pieces:
                    await more.wait()
                return pieces.pop() if pieces else {"type": "http.request", "body": b"", "more_body": False}

            return receive

        uploads = [scope_of("/documents", "POST") for _ in range(4)]
        held = [asyncio.create_task(ask(guard, uploads[0], body(size, True))) for _ in range(2)]
        await asyncio.sleep(0.01)
        third = await ask(guard, uploads[2], body(size, False))
        small = await ask(guard, uploads[3], body(FREE_BYTES, False))
        more.set()
        statuses = await asyncio.gather(*held)
        return statuses, third, small, await ask(guard, uploads[2], body(size, False))

    assert asyncio.run(main()) == ([200, 200], 503, 200, 200)


def test_streams_of_events_hold_no_threads(workspace):
    async def main():
        app = create_app(workspace)
        trainer = app.app.state.parts.trainer
        trainer._set(state="running", message="training")

        def bodiless():
            pieces = [{"type": "http.request", "body": b"", "more_body": False}]

            async def receive():
                if not pieces:
                    await asyncio.sleep(60)
                return pieces.pop()

            return receive

        streams = [asyncio.create_task(ask(app, scope_of("/train/events"), bodiless())) for _ in range(60)]
        await asyncio.sleep(0.2)
        health = await asyncio.wait_for(ask(app, scope_of("/health"), bodiless()), 10)
        trainer._set(state="done")
        ended = await asyncio.wait_for(asyncio.gather(*streams), 10)
        return health, set(ended), len(trainer._followers)

    assert asyncio.run(main()) == (200, {200}, 0)


def post(client, path, content):
    return client.post(path, content=content, headers={"content-type": "application/json"})


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/documents", b"[" + b"1," * 1_000_000 + b"1]"),
        ("/rank", b'{"features": [["' + b'","' * 1_000_000 + b'"]]}'),
        ("/documents", b"{" + b",".join(b'"%d":1' % n for n in range(600_000)) + b"}"),
    ],
)
def test_too_many_values_are_refused_before_they_are_parsed(client, monkeypatch, path, content):
    monkeypatch.setattr(reading, "from_json", lambda *_, **__: pytest.fail("parsed"))
    answer = post(client, path, content)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("the body has more than 1,000,000 values")


def test_commas_in_texts_are_no_values():
    text = json.dumps(["a,b:c" * 50, 'say "1,2"', "\\"]).encode()
    assert reading.read_body(text, most=3) == ["a,b:c" * 50, 'say "1,2"', "\\"]
    assert not reading._has_more_values(text, 3)
    assert reading._has_more_values(text, 2)


@pytest.mark.parametrize("text", [b'"' + b'\\"' * 200_000, b'"' + b"," * 200_000, b'["' + b'","' * 100_000])
def test_values_are_counted_in_linear_time(text):
    assert isinstance(reading._has_more_values(text, 1000), bool)  # quadratic time would take minutes


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("/documents", [0] * 300_000, "body[0] is 0, want a JSON object"),
        (
            "/documents",
            {f"n{n}": 1 for n in range(300_000)},
            "body[0] has the unknown name 'n0', want one of title, text, fields, id",
        ),
        ("/documents", [{"id": str(n), "text": ""} for n in range(100_001)], "body is a list of 100001, want at most"),
        ("/documents", {"id": "long", "text": "x" * 1_000_001}, "a text of 1000001 characters, want at most 1000000"),
        ("/queries", [0] * 300_000, "body[0] is 0, want a JSON object"),
        ("/rank", {"features": [["x"] * 300_000]}, 'body.features[0][0] is "x", want a valid number'),
        ("/feedback", {"query": "q", "liked": [0] * 100_000}, "body.liked[0] is 0, want a valid string"),
    ],
)
def test_checks_stop_at_the_first_mistake(client, path, value, problem, monkeypatch):
    found = []

    def note(errors):
        found.extend(errors)
        return RequestValidationError(errors)

    monkeypatch.setattr(reading, "RequestValidationError", note)
    answer = client.post(path, json=value)
    assert answer.status_code == 422
    assert problem in answer.json()["error"]
    assert len(found) == 1


def test_numbers_are_finite(client):
    for number in (b"NaN", b"Infinity", b"-Infinity"):
        assert "the body is not JSON" in post(client, "/rank", b'{"features": [[%s]]}' % number).json()["error"]
    assert "want a finite number" in post(client, "/rank", b'{"features": [[1e999]]}').json()["error"]


def test_large_bodies_are_read_in_a_thread(client, monkeypatch):
    seen = []
    read = reading.read_body

    def note(data):
        seen.append(threading.current_thread().name)
        return read(data)

    monkeypatch.setattr(reading, "read_body", note)
    client.post("/documents", json={"id": "small", "text": "a"})
    client.post("/documents", json={"id": "large", "text": "a " * 20_000})
    assert "AnyIO worker" in seen[1]


SURROGATES = ['"\\ud800"', '"\\udfff"', '"a\\udc00b"', '"\\ud800\\ud800"']
PLACES = [
    ("/judgments", '{{"query": {0}, "document": "cats-0", "grade": 1, "judge": "ann"}}'),
    ("/judgments", '{{"query": "q", "document": {0}, "grade": 1, "judge": "ann"}}'),
    ("/judgments", '{{"query": "q", "document": "cats-0", "grade": {0}, "judge": "ann"}}'),
    ("/judgments", '{{"query": "q", "document": "cats-0", "grade": 1, "judge": {0}}}'),
    ("/judgments", '{{"query": "q", "document": "cats-0", "grade": 1, "judge": "ann", {0}: 1}}'),
    ("/judgments/withdraw", '{{"query": {0}, "document": "cats-0", "judge": "ann"}}'),
    ("/documents", '{{"id": {0}, "text": "t"}}'),
    ("/documents", '{{"id": "new", "text": {0}}}'),
    ("/documents", "[{0}]"),
    ("/queries", '[{{"text": {0}}}]'),
    ("/queries", '[{{"text": "t", "topic": {0}}}]'),
    ("/feedback", '{{"query": {0}}}'),
    ("/feedback", '{{"query": "q", "liked": [{0}]}}'),
    ("/train", '{{"method": {0}}}'),
    ("/train", '{{"params": {{{0}: 1}}}}'),
    ("/versions", '{{"version": {0}}}'),
    ("/rank", '{{"features": [[{0}]]}}'),
]


@pytest.mark.parametrize("text", SURROGATES)
@pytest.mark.parametrize(("path", "body"), PLACES)
def test_lone_surrogates_are_a_mistake_of_the_client(client, path, body, text):
    answer = post(client, path, body.format(text).encode())
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("the body is not JSON")


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "", "http://testserver.evil", "\xff"])
def test_strange_origins_are_refused(client, origin):
    answer = client.post("/feedback", json={"query": "cat"}, headers={"origin": origin.encode("latin-1")})
    assert answer.status_code == 403


@pytest.mark.parametrize("name", ["method", "self", "cls", "", "words words", "__class__", "given"])
def test_strange_names_of_parameters_are_a_mistake_of_the_client(client, name):
    assert client.post("/train", json={"params": {name: 1}}).status_code == 400


@pytest.mark.parametrize(("name", "value"), [("synonyms", "PATH"), ("encoder", "PATH"), ("encoder", None)])
def test_parameters_of_a_training_name_no_files(client, tmp_path, name, value):
    (tmp_path / "secret").write_text("a secret line")
    value = str(tmp_path / "secret") if value == "PATH" else value
    answer = client.post("/train", json={"params": {name: value}})
    assert answer.status_code == 400
    assert f"params has {'a file name as ' if name == 'synonyms' else ''}" in answer.json()["error"]
    assert "a secret line" not in answer.text


@pytest.mark.parametrize("token", ["gehörig", "a b", 'a"b', "a;b", "a,b", "a\\b", "", "a\nb", "\ud800", "tok\u00ff"])
def test_tokens_that_no_cookie_carries_are_refused_at_the_start(workspace, token):
    with pytest.raises(UsageError, match="the token"):
        create_app(workspace, token=token)


def test_any_token_that_is_accepted_works_as_header_and_as_cookie(workspace):
    token = "aZ09!#$&'*+./:<=>?@^_`{|}~-"
    client = TestClient(create_app(workspace, token=token), follow_redirects=False)
    assert client.get("/versions", headers={"authorization": f"Bearer {token}"}).status_code == 200
    assert client.get("/", params={"token": token}).status_code == 303
    assert client.get("/versions").status_code == 200
    assert client.get("/versions", headers={"cookie": "a\x01b=\xff; tacit_token".encode("latin-1")}).status_code == 401
    assert client.get("/versions", headers={"authorization": b"Bearer \xff"}).status_code in (200, 401)
