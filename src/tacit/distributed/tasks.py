"""Plain tasks on the machines of a Ray cluster: reading pages and counting words of blocks of texts.

A task depends on its block alone, and results are taken in the order of the blocks, so what is made of them does not
depend on the machines. A task whose machine is lost is run again by Ray on another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from tacit import __version__
from tacit.core import TacitError

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
ONE_THREAD = {"env_vars": dict.fromkeys(THREADS, "1")}
TASK_OPTIONS: dict[str, Any] = {"num_cpus": 1, "scheduling_strategy": "SPREAD", "runtime_env": ONE_THREAD}
BLOCKS_PER_PROCESSOR = 2  # at work or on the way


def map_on_cluster(work: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
    """Results of a function for each block, in the order of the blocks.

    Blocks are read as processors become free: no more than `BLOCKS_PER_PROCESSOR` of them are there for each.
    """
    import ray

    run, kept = ray.remote(**TASK_OPTIONS)(_run), [ray.put(work)]  # in a list, so that Ray does not fetch it each time
    n_most = BLOCKS_PER_PROCESSOR * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting: deque[Any] = deque()
    for block in blocks:
        if len(waiting) == n_most:
            yield _result(waiting.popleft())
        waiting.append(run.remote(__version__, kept, block))
    while waiting:
        yield _result(waiting.popleft())


def check_version(found: str, wanted: str) -> None:
    """Raise unless two machines have the same version of tacit."""
    if found != wanted:
        raise TacitError(f"a machine of the cluster has tacit {found}, want {wanted} as here")


def _run(version: str, kept: list[Any], block: Any) -> Any:
    check_version(__version__, version)
    return _function(kept[0])(block)


@lru_cache(maxsize=1)
def _function(ref: Any) -> Any:
    """The function of a task, made once in each process; a tokenizer in it may take long to make."""
    import ray

    return ray.get(ref)


def _result(ref: Any) -> Any:
    import ray

    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())
        raise TacitError(f"a block of the input could not be read on the cluster: {reason}") from error
