"""Joining or starting a Ray cluster.

A cluster started here listens only on the loopback address, requires a token created for it, and reports no usage
statistics. For a cluster that is joined, these settings must be configured on that cluster.
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

SECONDS = 10  # to wait for a response from an address
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # opens a gRPC connection
SETTINGS = bytes([4])  # type of the response frame
WRONG_TOKEN = "its token is not given or wrong; want RAY_AUTH_MODE=token and the token in RAY_AUTH_TOKEN"
LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")  # `ray.init` replaces them by the address of this machine
QUIET: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}


@contextmanager
def ray_cluster(address: str = "auto") -> Iterator[None]:
    """Train vectors of items and count words on the machines of a Ray cluster within the context.

    The models are bit-identical to models of one machine. `EmbeddingRanker` and all methods that contain one (`ssi-*`,
    `htr*`, `blend`) use the cluster, as do `TextVectorizer.fit` and `read_collection` for MediaWiki dumps.

    Parameters
    ----------
    address : str, default="auto"
        HOST:PORT of a cluster; "auto" joins the local cluster, or else starts one.
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
    """Return constants and services of Ray without a public name (2.60); nothing else here is private.

    `constants.ENABLE_RAY_CLUSTER = False` restricts this machine to the loopback address. Its public form, the variable
    RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER, is read only when Ray is imported, and `ray.init` replaces a given loopback
    address. `services.find_bootstrap_address` returns what `ray start` started here; `ray.init("auto")` would also join
    clusters of other commands, and wait for minutes if one no longer responds.
    """
    from ray._private import ray_constants, services

    return ray_constants, services


def _find() -> str | None:
    """Return the address of the cluster that `ray start` started on this machine; other clusters are not joined."""
    found = os.environ.get("RAY_ADDRESS") or _internals()[1].find_bootstrap_address(None)
    return str(found) if found and _problem(str(found)) is None else None


def _start(ray: Any) -> None:
    os.environ["RAY_AUTH_TOKEN"] = _token()
    os.environ.pop("RAY_AUTH_MODE", None)  # without it, a cluster of one machine requires the token
    _internals()[0].ENABLE_RAY_CLUSTER = False
    try:
        with _kept_messages():
            ray.init("local", include_dashboard=False, **QUIET)
    except Exception as error:  # Ray has no specific exception for this
        raise TacitError(f"no Ray cluster could be started on this machine: {' '.join(str(error).split())}") from error


@cache
def _token() -> str:
    """Reload the token, which Ray reads only once per process."""
    return secrets.token_hex(32)


@contextmanager
def _kept_messages() -> Iterator[list[str]]:
    """Capture what Ray writes to standard error outside Python, and collect it in a list."""
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
            _internals()[0].ENABLE_RAY_CLUSTER = False  # the cluster listens only on the loopback address
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", str(SECONDS))
        with _kept_messages() as messages:
            ray.init(address, **QUIET)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        is_refused = "InvalidAuthToken" in "".join(messages)
        raise _refusal(address, WRONG_TOKEN if is_refused else str(error.__cause__ or error)) from error


def _problem(address: str) -> str | None:
    """Return why no cluster responds at an address; None if one does. Ray itself would wait for many minutes."""
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
    """Return a one-line error about a cluster that cannot be joined."""
    return TacitError(f"the Ray cluster {address} cannot be joined: {' '.join(problem.split())}")
