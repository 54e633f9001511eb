"""Checks of every request before it reaches a route, and headers of every response.

These are checked: the Host (a page of another site must not reach a local service under its own name), the Origin of
requests that change something, the token if one is set, and the size and duration of the body. The numbers of requests
in progress and in the queue are limited, and their bodies share one memory budget; a request above a limit gets status
503 and can be repeated. Event streams do not count as requests in progress, because they last as long as a training;
their bodies have the same limits.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from tacit.app.web.counters import PREFIX
from tacit.core import UsageError

Scope = dict[str, Any]

COOKIE = "tacit_token"
STREAMS = ("/train/events",)  # paths whose responses do not end, so they take no turn
CHANGING = ("/next",)  # paths that are read, but record something
UPLOADS = ("/documents", "/queries", "/judgments", "/import", "/rank")  # paths that may have large bodies
TOKEN = re.compile(r"[A-Za-z0-9!#$&'*+./:<=>?@^_`{|}~-]+")  # valid in a header and a cookie without quoting
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


FREE_BYTES = 64 << 10  # per body: small requests are served while large ones use up the budget


@dataclass(frozen=True)
class Limits:
    """Limits of a request.

    Parameters
    ----------
    body_bytes : int, default=1 MiB
        Maximum size of a body.
    upload_bytes : int, default=64 MiB
        Maximum size of a body with documents.
    all_bodies_bytes : int, default=160 MiB
        Maximum total size of the bodies being read or processed; the first 64 KiB of each do not count.
    body_seconds : float, default=20
        Time limit for receiving a body.
    answer_seconds : float, default=60
        Time limit for the start of a response.
    at_once : int, default=32
        Maximum number of requests in progress.
    waiting : int, default=512
        Maximum number of waiting requests.
    """

    body_bytes: int = 1 << 20
    upload_bytes: int = 64 << 20
    all_bodies_bytes: int = 160 << 20
    body_seconds: float = 20.0
    answer_seconds: float = 60.0
    at_once: int = 32
    waiting: int = 512


class Guard:
    """ASGI middleware with the checks above.

    Parameters
    ----------
    app : ASGI application
        The protected application.
    hosts : collection of str
        Permitted values of the Host header, such as `localhost:8000`.
    token : str or None, default=None
        Token that requests must send (`Authorization: Bearer …`, or the cookie that `/?token=…` sets): ASCII letters,
        digits and punctuation without quotes, commas, semicolons, per cent signs, brackets and backslashes.
    limits : Limits
        Limits of a request.
    """

    def __init__(
        self, app: Any, hosts: Collection[str], token: str | None = None, limits: Limits | None = None
    ) -> None:
        if token is not None and not TOKEN.fullmatch(token):
            odd = next((char for char in token if not TOKEN.fullmatch(char)), "")
            found = f"has the character {odd!a}" if odd else "is empty"
            raise UsageError(f"the token {found}, want letters, digits and characters valid in a cookie, such as - _ .")
        self.app, self.hosts, self.token = app, {host.lower() for host in hosts}, token
        self.limits = limits or Limits()
        self._turn = asyncio.Semaphore(self.limits.at_once)
        self._n_waiting = self._n_bytes = 0

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        problem = self._problem(scope, headers)
        if problem is not None:
            await refuse(send, *problem)
            return
        if self.token is not None and scope["path"] == "/" and _query(scope).get("token"):
            await self._set_cookie(scope, send)
            return
        await self._take_turn(scope, receive, send)

    def _problem(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Return status and reason for a request to refuse; None if it is accepted."""
        host = headers.get("host", "").lower()
        if host not in self.hosts:
            return 421, f"host is {host!r}, want a name of this service; see --allowed-host"
        origin = headers.get("origin")
        if scope["method"] not in ("GET", "HEAD") and origin is not None and _place(origin) != host:
            return 403, f"origin is {origin!r}, want a page of this service"
        if _is_foreign(scope, headers):
            return 403, "the request is from a page of another site, want a page of this service"
        if self.token is not None and _path(scope) != "/health" and not self._has_token(scope, headers):
            return 401, "the token is missing or wrong; open /?token=… or send Authorization: Bearer …"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15 or int(length) > self._largest(scope):
            return 413, f"the body has {length[:20]} bytes, want at most {self._largest(scope)}"
        return None

    def _has_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        cookie = _cookies(headers.get("cookie", "")).get(COOKIE)
        offered = [headers.get("authorization", "").removeprefix("Bearer "), cookie.value if cookie else ""]
        if scope["path"] == "/":
            offered.append(_query(scope).get("token", ""))
        wanted = str(self.token).encode()
        return any(hmac.compare_digest(value.encode(), wanted) for value in offered)

    async def _set_cookie(self, scope: Scope, send: Any) -> None:
        """Store the token in a cookie, and redirect to the address without it."""
        cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        await send_answer(send, 303, b"", {"location": "/", "set-cookie": cookie})

    def _largest(self, scope: Scope) -> int:
        return self.limits.upload_bytes if _path(scope) in UPLOADS else self.limits.body_bytes

    async def _take_turn(self, scope: Scope, receive: Any, send: Any) -> None:
        send, body = _with_headers(send), bytearray()
        try:
            problem = await self._read(receive, self._largest(scope), body)
            if problem is not None:
                await refuse(send, *problem)
            elif _path(scope) in STREAMS:
                await self.app(scope, _replay(bytes(body), receive), send)
            elif self._n_waiting >= self.limits.waiting:
                await refuse(send, 503, f"{self._n_waiting} requests are waiting; send this one again later")
            else:
                # Sent outside its turn, because a client that reads slowly must not block others.
                for message in await self._answer(scope, body):
                    await send(message)
        finally:
            self._n_bytes -= max(0, len(body) - FREE_BYTES)

    async def _answer(self, scope: Scope, body: bytearray) -> list[dict[str, Any]]:
        """Return the messages of the response, once it is the request's turn."""
        messages = list[dict[str, Any]]()
        self._n_waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._n_waiting -= 1

        async def collect(message: dict[str, Any]) -> None:
            messages.append(message)

        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                await self.app(scope, _replay(bytes(body)), collect)
        except TimeoutError:
            messages.clear()
            await refuse(collect, 503, f"no response after {self.limits.answer_seconds:g} seconds")
        finally:
            self._turn.release()
        return messages

    async def _read(self, receive: Any, largest: int, body: bytearray) -> tuple[int, str] | None:
        """Read the whole body; return status and reason if it is refused."""
        seconds = self.limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._read_all(receive, largest, body)
        except TimeoutError:
            return 408, f"the body did not arrive within {seconds:g} seconds, send it faster"

    async def _read_all(self, receive: Any, largest: int, body: bytearray) -> tuple[int, str] | None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return 400, "the connection was closed before the body had arrived"
            piece = message.get("body", b"")
            if len(body) + len(piece) > largest:
                return 413, f"the body is longer than {largest} bytes, want at most that many"
            more = max(0, len(body) + len(piece) - FREE_BYTES) - max(0, len(body) - FREE_BYTES)
            if more and self._n_bytes + more > self.limits.all_bodies_bytes:
                return 503, "other requests with large bodies are in progress; send this one again later"
            self._n_bytes += more
            body += piece
            if not message.get("more_body"):
                return None


def _replay(body: bytes, receive_more: Any = None) -> Any:
    """Return a `receive` that gives the body already read, then the result of `receive_more`; without it, it waits."""
    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        if receive_more is None:  # the client is still connected
            await asyncio.Event().wait()
        return cast("dict[str, Any]", await receive_more())

    return receive


def _with_headers(send: Any) -> Any:
    """Return a `send` that adds the headers of every response."""

    async def send_with_headers(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            known = {name.lower() for name, _ in message["headers"]}
            more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in known]
            message = message | {"headers": [*message["headers"], *more]}
        await send(message)

    return send_with_headers


async def refuse(send: Any, status: int, problem: str) -> None:
    """Respond with a status and a one-line error."""
    body = json.dumps({"error": problem}).encode()
    await send_answer(send, status, body, {"content-type": "application/json"})


async def send_answer(send: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    """Send one complete response."""
    table = HEADERS | headers | {"content-length": str(len(body))}
    encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in table.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def _path(scope: Scope) -> str:
    """Return the path without the version prefix of the interface."""
    return str(scope["path"]).removeprefix(PREFIX)


def _query(scope: Scope) -> dict[str, str]:
    text = scope.get("query_string", b"").decode("latin-1")
    found = parse_qs(text.replace("+", "%2B"))  # a token has no spaces, but may contain a plus
    return {name: values[0] for name, values in found.items()}


def _is_foreign(scope: Scope, headers: dict[str, str]) -> bool:
    """Return whether another site sent the request, by browser headers; its links may open any read-only page."""
    by_link = headers.get("sec-fetch-mode") == "navigate" and _path(scope) not in CHANGING
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not by_link


def _place(origin: str) -> str | None:
    """Return host and port of an origin; None if it is invalid."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _cookies(text: str) -> SimpleCookie:
    try:
        return SimpleCookie(text)
    except CookieError:
        return SimpleCookie()
