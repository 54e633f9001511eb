"""Connections on which nothing happens are closed; all others stay."""

import socket
import sys
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection

import pytest
import uvicorn

from tacit import Collection, Searcher
from tacit.app.web import server

LARGE = b"x" * 20_000_000


async def answer(scope, receive, send):
    await receive()
    body = LARGE if scope["path"] == "/large" else b"ok"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


class Impatient(server.Connection):
    seconds_idle = 0.5


@pytest.fixture
def port(request):
    """A port of a server; the connection is that of the parameter."""
    listening = server._listen("127.0.0.1", 0)
    config = uvicorn.Config(
        answer,
        http=getattr(request, "param", Impatient),
        ws="none",
        lifespan="off",
        timeout_keep_alive=60,
        log_level="error",
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()[1]
    running.should_exit = running.force_exit = True
    thread.join(10)


def test_responses_on_a_kept_connection_do_not_wait_for_the_client(port):
    """With Nagle's algorithm, the body is held back until the client acknowledges the header, which takes 40 ms."""
    client, seconds = HTTPConnection("127.0.0.1", port), []
    for _ in range(30):
        begun = time.perf_counter()
        client.request("GET", "/")
        assert client.getresponse().read() == b"ok"
        seconds.append(time.perf_counter() - begun)
    client.close()
    assert sorted(seconds)[3] < 0.03


def test_threads_take_turns_often_while_serving(tmp_path, monkeypatch):
    seen, before = [], sys.getswitchinterval()

    def run(self, sockets):
        seen.append(sys.getswitchinterval())
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    monkeypatch.setattr(server, "_allow_many_connections", lambda: None)
    searcher = Searcher("bm25").fit(Collection(["a", "b"], ["", ""], ["cats purr", "dogs bark"]))
    server.serve(searcher, model=None, store=tmp_path / "judgments", host="127.0.0.1", port=0, token=None)
    assert seen[0] < before / 5
    assert sys.getswitchinterval() == before


def seconds_until_closed(connection, every=None):
    """How long the other side keeps a connection open, to which a byte may be sent every so often."""
    connection.settimeout(every or 10)
    start = time.monotonic()
    while time.monotonic() - start < 10:
        try:
            if not connection.recv(1):
                break
        except TimeoutError:
            connection.sendall(b"a")
        except ConnectionError:
            break
    return time.monotonic() - start


def read_all(connection):
    """What comes until the connection is closed."""
    connection.settimeout(10)
    read = bytearray()
    with suppress(ConnectionError):
        while piece := connection.recv(1 << 20):
            read += piece
    return read


def test_a_connection_without_a_request_is_closed(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        assert 0.1 < seconds_until_closed(connection) < 5


def test_a_header_that_drips_is_given_up(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /")
        assert seconds_until_closed(connection, every=0.05) < 5


def test_a_client_that_does_not_read_is_given_up(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nhost: h\r\n\r\n")
        time.sleep(1.5)
        assert len(read_all(connection)) < len(LARGE)


def test_a_connection_with_requests_stays(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.connect()
    opened = connection.sock
    for _ in range(8):
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"ok"
        time.sleep(0.2)
    assert connection.sock is opened
    connection.close()


class Lonely(Impatient):
    max_connections = 1


@pytest.mark.parametrize("port", [Lonely], indirect=True)
def test_too_many_connections_are_refused(port):
    with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)) as second:
        assert seconds_until_closed(second) < 0.4
