"""A small chat endpoint of our own on the loopback address, which can fail in many ways."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Endpoint(ThreadingHTTPServer):
    """`reply(data, messages, count)` gives the content, or a tuple (status, body, headers); count is per pair."""

    daemon_threads = True

    def __init__(self, reply):
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply, self.requests, self.seen, self.lock = reply, [], {}, threading.Lock()
        self.running = self.most_running = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    """Speaks just enough of the protocol."""

    def do_POST(self):
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.loads(body["messages"][-1]["content"])
        with server.lock:
            server.running += 1
            server.most_running = max(server.most_running, server.running)
            server.requests.append((self.path, dict(self.headers), body))
            key = data["query"], data["document"]
            server.seen[key] = server.seen.get(key, 0) + 1
            count = server.seen[key]
        try:
            self.answer(server.reply(data, body["messages"], count))
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client did not wait
        finally:
            with server.lock:
                server.running -= 1

    def answer(self, reply):
        status, content, headers = reply if isinstance(reply, tuple) else (200, reply, {})
        if callable(content):
            content = content()
        if not isinstance(content, bytes):
            content = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Be silent."""


@pytest.fixture
def endpoint():
    """endpoint(reply) starts one; all are closed at the end."""
    servers = []

    def start(reply):
        server = Endpoint(reply)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()
    time.sleep(0)
