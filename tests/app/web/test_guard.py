"""What is refused before a route sees it: foreign hosts and origins, missing tokens, long and slow bodies."""

import asyncio

import pytest
from fastapi.testclient import TestClient

from tacit.app.web.guard import Guard, Limits
from tacit.app.web.service import create_app


@pytest.mark.parametrize("host", ["evil.example", "localhost:9999", "", "testserver.evil.example"])
def test_other_hosts_are_refused(client, host):
    answer = client.get("/search", params={"q": "cat"}, headers={"host": host})
    assert answer.status_code == 421
    assert "want a name of this service" in answer.json()["error"]


def test_pages_of_other_sites_cannot_change_anything(client, store):
    body = {"query": "a cat", "document": "cats-1", "grade": 2, "judge": "ann"}
    refused = client.post("/judgments", json=body, headers={"origin": "http://evil.example"})
    assert refused.status_code == 403
    assert len(store) == 0
    assert client.post("/judgments", json=body, headers={"origin": "http://testserver"}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "strange"])
def test_pages_of_other_sites_cannot_make_a_browser_ask(client, store, site):
    client.post("/queries", json=[{"text": "kitten"}])
    ask = {"judge": "ann", "purpose": "measuring"}
    image, link = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}, {"sec-fetch-site": site}
    assert client.get("/next", params=ask, headers=image).status_code == 403
    assert client.get("/v1/next", params=ask, headers=link | {"sec-fetch-mode": "navigate"}).status_code == 403
    assert len(store) == 0
    assert client.get("/search", params={"q": "cat"}, headers=image).status_code == 403
    assert client.get("/", headers=link | {"sec-fetch-mode": "navigate"}).status_code == 200
    assert client.get("/next", params=ask, headers={"sec-fetch-site": "same-origin"}).status_code == 200


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "1e3", "\xb2"])
def test_lengths_that_are_none_are_refused(length):
    headers = [(b"content-length", length.encode("latin-1"))]
    assert asyncio.run(call(Guard(answer_at_once, ["h"]), headers=headers)) == 413


def test_a_token_is_asked_for_where_one_is_set(workspace):
    client = TestClient(create_app(workspace, token="secret"), follow_redirects=False)
    assert client.get("/search", params={"q": "cat"}).status_code == 401
    assert client.get("/search", params={"q": "cat"}, headers={"authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/search", params={"q": "cat"}, headers={"authorization": "Bearer secret"}).status_code == 200
    assert client.get("/health").status_code == 200
    assert client.get("/?token=wrong").status_code == 401
    opened = client.get("/?token=secret")
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    assert "HttpOnly; SameSite=Strict" in opened.headers["set-cookie"]
    assert client.get("/").status_code == 200  # by the cookie


def test_long_bodies_are_refused_by_their_length_and_while_they_come(workspace):
    client = TestClient(create_app(workspace, limits=Limits(body_bytes=1000)))
    long = {"query": "x" * 2000, "document": "d", "grade": 1, "judge": "ann"}
    assert client.post("/feedback", json=long).status_code == 413
    chunks = (b"x" * 100 for _ in range(50))
    assert client.post("/feedback", content=chunks).status_code == 413


async def call(app, body=(), headers=()):
    """Status of one request whose body comes in pieces, each a function that is awaited."""
    pieces = list(body)

    async def receive():
        if pieces:
            return await pieces.pop(0)()
        return {"type": "http.request", "body": b"", "more_body": False}

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": [(b"host", b"h"), *headers]}
    await app(scope, receive, send)
    return sent[0]["status"]


async def answer_at_once(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_slow_bodies_are_given_up():
    async def never():
        await asyncio.sleep(60)

    guard = Guard(answer_at_once, ["h"], limits=Limits(body_seconds=0.05))
    assert asyncio.run(call(guard, [never])) == 408


def test_an_answer_that_takes_too_long_is_given_up():
    async def slow(scope, receive, send):
        await asyncio.sleep(60)

    assert asyncio.run(call(Guard(slow, ["h"], limits=Limits(answer_seconds=0.05)))) == 503


def test_only_so_many_requests_wait():
    async def main():
        gate = asyncio.Event()

        async def wait(scope, receive, send):
            await gate.wait()
            await answer_at_once(scope, receive, send)

        guard = Guard(wait, ["h"], limits=Limits(at_once=1, waiting=2))
        calls = [asyncio.create_task(call(guard)) for _ in range(5)]
        await asyncio.sleep(0.05)
        gate.set()
        return sorted(await asyncio.gather(*calls))

    assert asyncio.run(main()) == [200, 200, 200, 503, 503]


def test_who_does_not_read_keeps_nobody_out():
    async def main():
        guard = Guard(answer_at_once, ["h"], limits=Limits(at_once=1))
        scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": [(b"host", b"h")]}

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            await asyncio.sleep(60)

        slow = asyncio.create_task(guard(scope, receive, send))
        await asyncio.sleep(0.01)
        status = await asyncio.wait_for(call(guard), 5)
        slow.cancel()
        return status

    assert asyncio.run(main()) == 200
