"""A simulated cluster in this process, for tests and to examine training on a cluster."""

from __future__ import annotations

import pickle  # copies values within this process as Ray would; no file or model is pickled
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import Context
from typing import Any

from tacit.distributed.backend import Backend, Owner, OwnerLostError


class InProcessBackend(Backend):
    """Tasks and owners in this process, which get copies of the caller's arguments only.

    Parameters
    ----------
    n_machines : int, default=1
        Number of simulated machines.

    Examples
    --------
    >>> backend = InProcessBackend(3)
    >>> list(backend.map_tasks(sum, [[1, 2], [3]]))
    [3, 3]
    >>> owner = backend.own(list, [2, 1])
    >>> wait = owner.call("append", 5)
    >>> owner.call("index", 5)()
    2
    """

    def __init__(self, n_machines: int = 1) -> None:
        self._n_machines = n_machines

    @property
    def n_machines(self) -> int:
        """Return the number of simulated machines."""
        return self._n_machines

    def map_tasks(self, work: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Run one block at a time."""
        there = _sent(work)
        for block in blocks:
            yield _sent(Context().run(there, _sent(block)))

    def own(self, make: Callable[..., Any], *args: Any) -> Owner:
        """Make the object in this process."""
        return _Held(Context().run(make, *_sent(args)))


class _Held(Owner):
    def __init__(self, held: Any) -> None:
        self._held = held

    def call(self, name: str, *args: Any) -> Callable[[], Any]:
        answer: Future[Any] = Future()
        try:
            if self._held is None:
                raise OwnerLostError("an owner in this process was ended")
            answer.set_result(_sent(Context().run(getattr(self._held, name), *_sent(args))))
        except Exception as error:
            answer.set_exception(error)
        return answer.result

    def end(self) -> None:
        self._held = None


def _sent(value: Any) -> Any:
    """Return a value as another process would receive it; arrays are read-only there, as with Ray.

    Pickle imitates how Ray sends arguments, so unsendable arguments fail here too. The bytes never leave this process.
    """
    buffers = list[pickle.PickleBuffer]()
    packed = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return pickle.loads(packed, buffers=[bytes(buffer) for buffer in buffers])
