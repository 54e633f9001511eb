"""Joining or starting a Ray cluster.

A cluster that is started here listens on the loopback address only, asks for a token that is made for it, and reports
nothing about its use. Of a cluster that is joined, these are the settings of those who started it.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tacit.core import MissingExtraError, TacitError, UsageError
from tacit.distributed.ray_backend import RayBackend

SECONDS = 10  # to wait for an answer of an address
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # what opens a connection of gRPC
SETTINGS = bytes([4])  # type of the frame that answers
WRONG_TOKEN = "its token is not given or wrong; want RAY_AUTH_MODE=token and the token in RAY_AUTH_TOKEN"
LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")  # `ray.init` replaces them by the address of this machine
QUIET: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}


@contextmanager
def ray_cluster(address: str = "auto") -> Iterator[None]:
    """Train vectors of items and count words on the machines of a Ray cluster, as long as the context lasts.

    The models are those of one machine, bit by bit. `EmbeddingRanker` and all methods with one inside (`ssi-*`, `htr*`,
    `blend`) make use of it, as do `TextVectorizer.fit` and `read_collection` for MediaWiki dumps.

    Parameters
    ----------
    address : str, default="auto"
        HOST:PORT of a cluster; "auto" joins the cluster of this machine, or else starts one.
    """
    with _connected(address), RayBackend().used():
        yield


@contextmanager
def _connected(address: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("training or searching on a cluster", "ray", "ray") from error
    if ray.is_initialized():
        yield
        return
    constants, _ = _internals()
    may_leave = constants.ENABLE_RAY_CLUSTER
    try:
        found = _find() if address == "auto" else address
        if found is None:
            _start(ray)
        else:
            _join(ray, found)
        yield
    finally:
        ray.shutdown()
        constants.ENABLE_RAY_CLUSTER = may_leave
        os.environ.clear()
        os.environ.update(before)


def _internals() -> tuple[Any, Any]:
    """Constants and services of Ray that have no public name (2.60); nothing else here is private.

    `constants.ENABLE_RAY_CLUSTER = False` makes the loopback address the only one of this machine. Its public form, the
    variable RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER, is read once, when Ray is imported, and `ray.init` replaces a loopback
    address that it is given. `services.find_bootstrap_address` tells what `ray start` started here; `ray.init("auto")`
    would join the clusters of other commands too, and wait for minutes where one does not answer any more.
    """
    from ray._private import ray_constants, services

    return ray_constants, services


def _find() -> str | None:
    """Address of the cluster that `ray start` started on this machine; those of other commands are not joined."""
    found = os.environ.get("RAY_ADDRESS") or _internals()[1].find_bootstrap_address(None)
    return str(found) if found and _problem(str(found)) is None else None


def _start(ray: Any) -> None:
    os.environ["RAY_AUTH_TOKEN"] = _token()
    os.environ.pop("RAY_AUTH_MODE", None)  # without it, a cluster of one machine asks for the token
    _internals()[0].ENABLE_RAY_CLUSTER = False
    try:
        with _kept_messages():
            ray.init("local", include_dashboard=False, **QUIET)
    except Exception as error:  # Ray has no type of its own for this
        raise TacitError(f"no Ray cluster could be started on this machine: {' '.join(str(error).split())}") from error


@cache
def _token() -> str:
    """Ray reads a token once in a process."""
    return secrets.token_hex(32)


@contextmanager
def _kept_messages() -> Iterator[list[str]]:
    """Keep what Ray writes to standard error, past Python, and put it into a list."""
    kept, before = list[str](), os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield kept
        finally:
            os.dup2(before, 2)
            os.close(before)
            file.seek(0)
            kept.append(file.read().decode(errors="replace"))


def _join(ray: Any, address: str) -> None:
    problem, messages = _problem(address), list[str]()
    if problem is not None:
        raise _refusal(address, problem)
    try:
        host, _, port = address.rpartition(":")
        if host in LOOPBACK and _problem(f"{ray.util.get_node_ip_address()}:{port}") is not None:
            _internals()[0].ENABLE_RAY_CLUSTER = False  # the cluster listens on the loopback address only
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", str(SECONDS))
        with _kept_messages() as messages:
            ray.init(address, **QUIET)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        is_refused = "InvalidAuthToken" in "".join(messages)
        raise _refusal(address, WRONG_TOKEN if is_refused else str(error.__cause__ or error)) from error


def _problem(address: str) -> str | None:
    """Why no cluster answers at an address; None if one does. Ray itself would wait for many minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"the address of a Ray cluster is {address!r}, want HOST:PORT or auto")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS) as connection:
            connection.sendall(HTTP_2)
            return None if connection.recv(9)[3:4] == SETTINGS else "it responds, but not as Ray does"
    except (OSError, OverflowError) as error:
        return str(error)


def _refusal(address: str, problem: str) -> TacitError:
    """One line about a cluster that cannot be joined."""
    return TacitError(f"the Ray cluster {address} cannot be joined: {' '.join(problem.split())}")
