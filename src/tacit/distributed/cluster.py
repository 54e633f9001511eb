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
from tacit.core.tasks import spread_map
from tacit.distributed.tasks import map_on_cluster
from tacit.distributed.training import PartedTrainer
from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows, new_trainer

SECONDS = 10  # to wait for an answer of an address
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # what opens a connection of gRPC
SETTINGS = bytes([4])  # type of the frame that answers
WRONG_TOKEN = "its token is not given or wrong; want RAY_AUTH_MODE=token and the token in RAY_AUTH_TOKEN"
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
    with _connected(address):
        tokens = new_trainer.set(_parted_trainer), spread_map.set(map_on_cluster)
        try:
            yield
        finally:
            new_trainer.reset(tokens[0])
            spread_map.reset(tokens[1])


def n_machines() -> int:
    """Number of machines of the cluster."""
    import ray

    return sum(bool(node["Alive"]) for node in ray.nodes())


def _parted_trainer(
    tables: Tables, data: TrainingRows, settings: EmbeddingSettings, threads: int | None, partitions: int | None
) -> EmbeddingTrainer:
    if settings.uniform:
        raise UsageError('a Ray cluster trains in blocks; negatives="uniform" takes one triple a step, want "mined"')
    return PartedTrainer(tables, data, settings, threads, partitions or n_machines())


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
    constants = ray._private.ray_constants
    may_leave = constants.ENABLE_RAY_CLUSTER
    try:
        found = _find(ray) if address == "auto" else address
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


def _find(ray: Any) -> str | None:
    """Address of the cluster that `ray start` started on this machine; those of other commands are not joined."""
    found = ray._private.services.get_ray_address_from_environment(None, None)
    return str(found) if found is not None and _problem(str(found)) is None else None


def _start(ray: Any) -> None:
    os.environ["RAY_AUTH_TOKEN"] = _token()
    os.environ.pop("RAY_AUTH_MODE", None)  # without it, a cluster of one machine asks for the token
    _stay_here(ray)
    try:
        with _kept_messages():
            ray.init("local", include_dashboard=False, **QUIET)
    except Exception as error:  # Ray has no type of its own for this
        raise TacitError(f"no Ray cluster could be started on this machine: {' '.join(str(error).split())}") from error


def _stay_here(ray: Any) -> None:
    """Let the loopback address be the only one, which is what Ray does on systems where it supports no clusters."""
    ray._private.ray_constants.ENABLE_RAY_CLUSTER = False


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
        used = ray._private.services.canonicalize_bootstrap_address(address)
        if used != address and _problem(used) is not None:  # it listens on the loopback address only
            _stay_here(ray)
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
            return None if connection.recv(9)[3:4] == SETTINGS else "it answers, but not as Ray does"
    except (OSError, OverflowError) as error:
        return str(error)


def _refusal(address: str, problem: str) -> TacitError:
    """One line about a cluster that cannot be joined."""
    return TacitError(f"the Ray cluster {address} cannot be joined: {' '.join(problem.split())}")
