"""Measures of a version on the current judgments, without a training: the score to start from.

Only a version that has not learned from judgments or links is measured this way. One that has would be measured on
queries it knows; its measures come from the cross-validation of a training (`verdicts`).
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool

from tacit.app.web.training.verdicts import MEASURE, SHOWN, means_of
from tacit.app.web.workspace import Workspace
from tacit.core import TacitError
from tacit.judge import JudgmentStore, judgments_about, merged_judgments
from tacit.judge.advise.collections import CollectionTask
from tacit.search import Searcher


class Measuring:
    """Measures versions, one at a time, and keeps the last result until judgments or documents change.

    Requests that wait for their turn use no thread, so that searches go on.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._searcher: Callable[[], Searcher | None] = lambda: None  # of the last result, if it is still loaded
        self._n_records = 0
        self._last: dict[str, Any] = {}

    async def of(self, workspace: Workspace, name: str) -> dict[str, Any]:
        """Return `measure_now` of a version, with its name."""
        async with self._turn:
            return await run_in_threadpool(self._of, workspace, name)

    def _of(self, workspace: Workspace, name: str) -> dict[str, Any]:
        searcher, n_records = workspace.find(name).searcher, len(workspace.store)
        if self._searcher() is not searcher or self._n_records != n_records:
            self._last = {"version": name} | measure_now(searcher, workspace.store)
            self._searcher, self._n_records = weakref.ref(searcher), n_records
        return self._last


def measure_now(searcher: Searcher, store: JudgmentStore) -> dict[str, Any]:
    """Return means with intervals and the value of each query, or the reason why there are none.

    The judgments are those of all people, or of the only program if no person has judged.
    """
    if searcher.n_pairs_:
        return _without("it has learned from labels, so only a training can measure it")
    kinds = store.kinds()
    people = [name for name, kind in kinds.items() if kind == "person"]
    if not kinds:
        return _without("there are no judgments")
    if not people and len(kinds) > 1:
        return _without("several programs have judged, and no person")
    known = store.queries()
    known = known.take([row for row, text in enumerate(known.texts) if text])
    judgments = judgments_about(merged_judgments(store, people or list(kinds), "last"), searcher.documents_)
    try:
        task = CollectionTask.of(searcher.documents_, known, judgments, SHOWN, threads=1)
        values = task.measure(searcher, np.arange(len(task.queries)))
    except TacitError as error:
        return _without(str(error))
    by_query = zip(task.queries.ids, task.queries.full_texts(), values[MEASURE].tolist(), strict=True)
    return {
        "measures": means_of(values),
        "queries": len(task.queries),
        "program": None if people else next(iter(kinds)),
        "reason": None,
        "by_query": [{"id": query, "text": text, "value": value} for query, text, value in by_query],
    }


def _without(reason: str) -> dict[str, Any]:
    return {"measures": {}, "queries": 0, "program": None, "reason": reason, "by_query": []}
