"""Batches of requests: requests that arrive while a batch is processed go into the next batch.

A batch of searches takes less time than separate searches, because most methods then read the vectors of all documents
from memory only once. The results are bit-identical.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

LARGEST_BATCH = 16  # maximum number of requests in one batch


class _Request(NamedTuple):
    group: Hashable
    item: Any
    answer: asyncio.Future[Any]


class Batches:
    """Runs a function on groups of requests, in a separate thread, one batch at a time; another has slow requests.

    Parameters
    ----------
    work : callable
        Function of a group and a list of items, which returns a result for each item.
    """

    def __init__(self, work: Callable[[Any, list[Any]], list[Any]]) -> None:
        self._work, self._thread, self._slow = work, ThreadPoolExecutor(1, "batches"), ThreadPoolExecutor(1, "slow")
        self._waiting: list[_Request] = []
        self._running: asyncio.Task[None] | None = None

    async def result(self, group: Hashable, item: Any) -> Any:
        """Return the result for one item, which is processed together with other items of its group."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self._waiting.append(_Request(group, item, answer))
        if self._running is None or self._running.done():
            self._running = loop.create_task(self._run())
        return await answer

    async def slow_result(self, group: Hashable, item: Any) -> Any:
        """Return the result for one item that may take long; it is processed alone, and batches do not wait for it."""
        results = await asyncio.get_running_loop().run_in_executor(self._slow, self._work, group, [item])
        return results[0]

    async def _run(self) -> None:
        while self._waiting:
            group = self._waiting[0].group
            batch = [request for request in self._waiting if request.group == group][:LARGEST_BATCH]
            self._waiting = [request for request in self._waiting if request not in batch]
            try:
                items = [request.item for request in batch]
                results = await asyncio.get_running_loop().run_in_executor(self._thread, self._work, group, items)
            except Exception as error:  # passed to each request
                for request in batch:
                    if not request.answer.done():
                        request.answer.set_exception(error)
            else:
                for request, result in zip(batch, results, strict=True):
                    if not request.answer.done():  # the client may have disconnected
                        request.answer.set_result(result)
