"""Threads that live as long as a training and synchronize after each phase; the calling thread is one of them."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self

Work = Callable[[int], None]


class WorkerPool:
    """Runs work(part) for many parts; work should spend its time in loops that release the GIL.

    A free thread takes the next part. A phase may last less than a millisecond, so synchronization has to be cheap:
    one queue of tasks for each thread, and one for all results.

    >>> found = [0, 0, 0]
    >>> with WorkerPool(2) as workers:
    ...     workers.run(lambda part: found.__setitem__(part, part + 1), 3)
    >>> found
    [1, 2, 3]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._tasks: list[SimpleQueue[Callable[[], None] | None]] = []
        self._answers: SimpleQueue[BaseException | None] = SimpleQueue()
        self._threads: list[Thread] = []

    def __enter__(self) -> Self:
        self._tasks = [SimpleQueue() for _ in range(1, self.size)]
        self._threads = [Thread(target=self._help, args=(tasks,), daemon=True) for tasks in self._tasks]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for tasks in self._tasks:
            tasks.put(None)
        for thread in self._threads:
            thread.join()

    def run(self, work: Work, n_parts: int) -> None:
        """Return when all parts are done; an error in one of them is raised here. The last part is taken first."""
        parts = reversed(range(n_parts))  # its next is one step under the GIL: no part is taken twice

        def take_parts() -> None:
            while (part := next(parts, None)) is not None:
                work(part)

        helpers = self._tasks[: max(0, n_parts - 1)]
        for tasks in helpers:
            tasks.put(take_parts)
        try:
            take_parts()
        finally:
            errors = [self._answers.get() for _ in helpers]
        for error in errors:
            if error is not None:
                raise error

    def _help(self, tasks: SimpleQueue[Callable[[], None] | None]) -> None:
        while (task := tasks.get()) is not None:
            try:
                task()
            except BaseException as error:  # handed to the caller of run
                self._answers.put(error)
            else:
                self._answers.put(None)
