"""Candidates that rank feature lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.core import Lists, TacitError
from tacit.metrics import evaluate_rows
from tacit.rerank.ranking_lists import RankingTask, fit_lists


@dataclass
class ListTask:
    """Judged feature lists, and measures."""

    lists: Lists
    measures: Sequence[str]
    threads: int | None = None
    seed: int = 0
    _warned: bool = False

    @classmethod
    def of(cls, lists: Lists, measures: Sequence[str], **options: Any) -> ListTask:
        """Make the task of the lists that have a relevant row."""
        judged = [number for number in range(len(lists)) if (lists.y[lists.rows(number)] >= 1).any()]
        if len(judged) < 2:
            raise TacitError(f"{len(judged)} of {len(lists)} lists have a relevant row, want at least 2")
        return cls(lists.take(judged), measures, **options)

    def warn_once(self) -> bool:
        """Return whether to report how lists with relevant rows only are read: True only the first time."""
        first, self._warned = not self._warned, True
        return first

    def measure(self, lists: Lists, scores: np.ndarray) -> dict[str, np.ndarray]:
        """Measure scores on some lists."""
        return evaluate_rows(lists.y, scores, lists.qid, list(self.measures)).values


@dataclass
class ListCandidate:
    """A method of `tacit rank`, trained on the training lists."""

    name: str
    task: ListTask
    params: dict[str, Any] = field(default_factory=dict)
    learns: bool = True

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Fit on some lists, measure on others."""
        task = RankingTask(self.name, seed=self.task.seed, threads=self.task.threads, params=self.params)
        ranker = fit_lists(task, self.task.lists.take(train), warn=self.task.warn_once())
        held = self.task.lists.take(test)
        return self.task.measure(held, ranker.predict(held.X, held.qid))


@dataclass
class ColumnCandidate:
    """One feature as the score, rising or falling: the best on the training lists, or a given one."""

    task: ListTask
    measure: str
    column: int | None = None
    name: str = "column"
    learns: bool = True

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Choose the column on some lists, measure on others."""
        column, sign = self.choose(train)
        held = self.task.lists.take(test)
        return self.task.measure(held, sign * np.nan_to_num(held.X[:, column]))

    def choose(self, train: np.ndarray) -> tuple[int, float]:
        """Return number of the column and its sign."""
        if self.column is not None:
            return self.column, 1.0
        lists = self.task.lists.take(train)
        found = {
            (column, sign): float(
                self.task.measure(lists, sign * np.nan_to_num(lists.X[:, column]))[self.measure].mean()
            )
            for column in range(lists.X.shape[1])
            for sign in (1.0, -1.0)
        }
        return max(found, key=lambda choice: found[choice])
