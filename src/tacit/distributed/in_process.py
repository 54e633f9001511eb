"""A cluster within this process: for tests, and to see what a training on a cluster does."""

from __future__ import annotations

import pickle  # copies values within this process as Ray would; it never reads or writes a file or a model
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import Context
from typing import Any

from tacit.distributed.backend import Backend, Owner, OwnerLostError


class InProcessBackend(Backend):
    """Tasks and owners in this process, which see nothing of the caller but copies of what is sent to them.

    Parameters
    ----------
    n_machines : int, default=1
        How many machines it pretends to have.

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
        """Number of machines that it pretends to have."""
        return self._n_machines

    def map_tasks(self, work: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """One block after the other."""
        there = _sent(work)
        for block in blocks:
            yield _sent(Context().run(there, _sent(block)))

    def own(self, make: Callable[..., Any], *args: Any) -> Owner:
        """Make the object here."""
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
    """What arrives of a value in another process; arrays are read-only there, as with Ray.

    Pickle imitates how Ray sends arguments: what cannot be sent fails here too. The bytes never leave this process.
    """
    buffers = list[pickle.PickleBuffer]()
    packed = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return pickle.loads(packed, buffers=[bytes(buffer) for buffer in buffers])
