"""Joining or starting a Ray cluster.

A cluster that is started here listens on the loopback address only, asks for a token that is made for it, and reports
nothing about its use. Of a cluster that is joined, these are the settings of those who started it.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tacit.core import MissingExtraError, TacitError, UsageError
from tacit.distributed.training import PartedTrainer
from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows, new_trainer

SECONDS = 10  # to wait for an answer of an address
QUIET: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}


@contextmanager
def ray_cluster(address: str = "auto") -> Iterator[None]:
    """Train vectors of items on the machines of a Ray cluster, as long as the context lasts.

    The models are those of one machine, bit by bit. `EmbeddingRanker` and all methods with one inside (`ssi-*`, `htr*`,
    `blend`) make use of it.

    Parameters
    ----------
    address : str, default="auto"
        HOST:PORT of a cluster; "auto" joins the cluster of this machine, or else starts one.
    """
    with _connected(address):
        token = new_trainer.set(_parted_trainer)
        try:
            yield
        finally:
            new_trainer.reset(token)


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
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("training on a cluster", "ray", "ray") from error
    if ray.is_initialized():
        yield
        return
    before = dict(os.environ)
    try:
        if address == "auto":
            _join_or_start(ray)
        else:
            _join(ray, address)
        yield
    finally:
        ray.shutdown()
        os.environ.clear()
        os.environ.update(before)


def _join_or_start(ray: Any) -> None:
    try:
        address = ray._private.services.get_ray_address_from_environment("auto", None)
    except ConnectionError:
        os.environ["RAY_AUTH_TOKEN"] = _token()
        os.environ.pop("RAY_AUTH_MODE", None)  # without it, a cluster of one machine asks for the token
        # What Ray itself does on systems without clusters: every address is the loopback address.
        ray._private.ray_constants.ENABLE_RAY_CLUSTER = False
        ray.init("local", include_dashboard=False, **QUIET)
    else:
        _join(ray, address)


@cache
def _token() -> str:
    """Ray reads a token once in a process."""
    return secrets.token_hex(32)


def _join(ray: Any, address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"the address of a Ray cluster is {address!r}, want HOST:PORT or auto")
    try:
        socket.create_connection((host, int(port)), SECONDS).close()
        ray.init(address, **QUIET)
    except (OSError, OverflowError, RuntimeError, ray.exceptions.RayError) as error:
        raise _refusal(address, error) from error


def _refusal(address: str, error: Exception) -> TacitError:
    """One line about a cluster that cannot be joined."""
    return TacitError(f"the Ray cluster {address} cannot be joined: {' '.join(str(error).split())}")
