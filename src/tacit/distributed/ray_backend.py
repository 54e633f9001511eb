"""A Ray cluster as a backend; `cluster` joins or starts one.

A task depends only on its block, and results are used in the order of the blocks, so they do not depend on the
machines. If a machine is lost, Ray runs its tasks again on another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from tacit import __version__
from tacit.core import TacitError
from tacit.distributed.backend import Backend, Owner, OwnerLostError

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
OPTIONS: dict[str, Any] = {
    "scheduling_strategy": "SPREAD",
    "runtime_env": {"env_vars": dict.fromkeys(THREADS, "1")},  # more threads would not change any bit
}
BLOCKS_PER_PROCESSOR = 2  # running or queued


class RayBackend(Backend):
    """The cluster to which this process is connected."""

    @property
    def n_machines(self) -> int:
        """Return the number of live machines."""
        import ray

        return sum(bool(node["Alive"]) for node in ray.nodes())

    def map_tasks(self, work: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Run tasks with at most `BLOCKS_PER_PROCESSOR` blocks per processor."""
        import ray

        run = ray.remote(num_cpus=1, **OPTIONS)(_run)
        kept = [ray.put(work)]  # in a list, so that Ray does not fetch it each time
        n_most = BLOCKS_PER_PROCESSOR * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting: deque[Any] = deque()
        for block in blocks:
            if len(waiting) == n_most:
                yield _result(waiting.popleft())
            waiting.append(run.remote(__version__, kept, block))
        while waiting:
            yield _result(waiting.popleft())

    def own(self, make: Callable[..., Any], *args: Any) -> Owner:
        """Make the object in an actor. It reserves no processor, because it works only while the caller waits."""
        import ray

        return _RayOwner(ray.remote(num_cpus=0, **OPTIONS)(_Held).remote(make, *args))

    def share(self, value: Any) -> Any:
        """Put a value into the object store."""
        import ray

        return ray.put(value)


class _RayOwner(Owner):
    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def call(self, name: str, *args: Any) -> Callable[[], Any]:
        sent = self._actor.call.remote(__version__, name, *args)
        return lambda: _result(sent)

    def end(self) -> None:
        import ray

        ray.kill(self._actor)


class _Held:
    """An object in the process of an actor."""

    def __init__(self, make: Callable[..., Any], *args: Any) -> None:
        self._held = make(*args)

    def call(self, version: str, name: str, *args: Any) -> Any:
        _check_version(version)
        return getattr(self._held, name)(*args)


def _run(version: str, kept: list[Any], block: Any) -> Any:
    _check_version(version)
    return _function(kept[0])(block)


def _check_version(wanted: str) -> None:
    if wanted != __version__:
        raise TacitError(f"a machine of the cluster has tacit {__version__}, want {wanted} as here")


@lru_cache(maxsize=1)
def _function(ref: Any) -> Any:
    """Return the function of a task, made once in each process, because its tokenizer may be slow to make."""
    import ray

    return ray.get(ref)


def _result(ref: Any) -> Any:
    import ray

    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        is_lost = isinstance(error, ray.exceptions.RayActorError | ray.exceptions.ObjectLostError)
        problem = "lost the requested object" if is_lost else "could not do a task"
        reason = " ".join(str(error).split())
        raise (OwnerLostError if is_lost else TacitError)(f"the Ray cluster {problem}: {reason}") from error
