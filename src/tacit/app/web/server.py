"""Listening: accepted host names, limits of the process, and uvicorn."""

from __future__ import annotations

import resource
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tacit.app.web.service import create_app
from tacit.app.web.workspace import Workspace
from tacit.core import TacitError, plural
from tacit.judge import JudgmentStore
from tacit.search import Searcher
from tacit.search.warming import warm_searcher

BACKLOG = 2048
MAX_CONNECTIONS = 4096
SECONDS_IDLE = 30  # maximum idle time without a request, or without the client reading the response
SWITCH_SECONDS = 0.0005  # a search's wait for the interpreter lock after each compiled loop on a busy service


class Connection(H11Protocol):
    """A connection that is closed after one to two times `seconds_idle` without activity.

    uvicorn has no time limit for the header of a request, or for a client that does not read.
    """

    seconds_idle: ClassVar[float] = SECONDS_IDLE
    max_connections: ClassVar[int] = MAX_CONNECTIONS

    def connection_made(self, transport: Any) -> None:
        """Start watching."""
        super().connection_made(transport)
        self._timer: Any = None
        if len(self.connections) > self.max_connections:
            transport.abort()
        else:
            self._watch(None)

    def connection_lost(self, error: Exception | None) -> None:
        """Stop watching."""
        super().connection_lost(error)
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self, before: tuple[Any, int] | None) -> None:
        now = self.cycle, self.transport.get_write_buffer_size()
        between_requests = self.cycle is None or self.cycle.response_complete
        if now == before and (between_requests or now[1]):
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(self.seconds_idle, self._watch, now)


def serve(
    searcher: Searcher,
    *,
    model: Path | None,
    store: Path,
    host: str,
    port: int,
    token: str | None,
    allowed_hosts: Sequence[str] = (),
    ranker: Any = None,
    read_only: bool = False,
    about: str = "",
) -> int:
    """Serve until interrupted."""
    _allow_many_connections()
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    with (
        JudgmentStore(store) as judgments,
        _switching_often(),
        closing(Workspace(model, searcher, judgments, read_only=read_only, about=about)) as workspace,
    ):
        names = host_names(host, port, allowed_hosts)
        app = create_app(workspace, hosts=names, token=token, ranker=ranker)
        if workspace.read_only:
            sys.stderr.write(f"read-only: {workspace.read_only}\n")
        warm_searcher(workspace.active.searcher)
        shown = f"[{host}]" if ":" in host else host
        served = plural(len(workspace.active.searcher.documents_), "document")
        sys.stderr.write(f"serving {served} at http://{shown}:{port}/ (press Ctrl-C to stop)\n")
        sys.stderr.flush()
        config = uvicorn.Config(
            app, http=Connection, ws="none", timeout_keep_alive=SECONDS_IDLE, log_level="error", access_log=False
        )
        uvicorn.Server(config).run(sockets=[listening])
    return 0


def host_names(host: str, port: int, allowed: Sequence[str]) -> set[str]:
    """Return the accepted values of the Host header.

    >>> sorted(host_names("127.0.0.1", 8000, ["search.example.org"]))
    ['127.0.0.1:8000', '[::1]:8000', 'localhost:8000', 'search.example.org', 'search.example.org:8000']
    """
    own = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host)}
    own -= {f"0.0.0.0:{port}", f"[::]:{port}"}
    return own | set(allowed) | {f"{name}:{port}" for name in allowed if ":" not in name}


@contextmanager
def _switching_often() -> Iterator[None]:
    """Let threads switch more often: with Python's 5 ms, a burst of requests would delay every search."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY. Without, each response on a kept connection takes 40 ms longer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)  # from here on no connection is refused, although responses begin a moment later
    except OSError as error:
        listening.close()
        raise TacitError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listening


def _allow_many_connections() -> None:
    """Raise the limit of open files to the system's maximum, so that idle connections do not keep others out."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
