"""Requests that come together are worked on together; each gets its own result."""

import asyncio
import threading

import pytest

from tacit.app.web.batches import LARGEST_BATCH, Batches


def run(work, requests):
    """Results of requests that come at once, while a first one is worked on."""

    async def main():
        batches = Batches(work)
        return await asyncio.gather(*(batches.result(*request) for request in requests), return_exceptions=True)

    return asyncio.run(main())


def test_each_gets_its_own_result_and_groups_stay_apart():
    seen = []

    def work(group, items):
        seen.append((group, len(items)))
        return [(group, item, threading.current_thread() is threading.main_thread()) for item in items]

    requests = [("ab"[n % 2], n) for n in range(2 * LARGEST_BATCH + 10)]
    assert run(work, requests) == [(group, item, False) for group, item in requests]
    assert {group for group, _ in seen} == {"a", "b"}
    assert max(size for _, size in seen) == LARGEST_BATCH
    assert sum(size for _, size in seen) == len(requests)


def test_a_failure_is_told_to_all_of_its_batch_and_the_next_go_on():
    def work(group, items):
        if group == "bad":
            raise ValueError("no")
        return items

    found = run(work, [("bad", 1), ("bad", 2), ("good", 3)])
    assert [type(result) for result in found] == [ValueError, ValueError, int]


def test_who_leaves_disturbs_nobody():
    async def main():
        gate = threading.Event()
        batches = Batches(lambda group, items: (gate.wait(5), items)[1])
        leaving, staying = (asyncio.create_task(batches.result("g", n)) for n in range(2))
        await asyncio.sleep(0.05)
        leaving.cancel()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        return await staying

    assert asyncio.run(main()) == 1


def test_a_batch_does_not_wait_for_a_slow_request():
    async def main():
        gate = threading.Event()
        batches = Batches(lambda group, items: (group == "slow" and gate.wait(5), items)[1])
        slow = asyncio.create_task(batches.slow_result("slow", "a phrase"))
        await asyncio.sleep(0)
        quick = await batches.result("quick", "words")
        was_done = slow.done()
        gate.set()
        return quick, was_done, await slow

    assert asyncio.run(main()) == ("words", False, "a phrase")
