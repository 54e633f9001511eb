"""From feature lists to a run: fit a named method on some lists and rank others, or cross-validate by folds."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tacit.core import Lists, Run, TacitError, UsageError, checked, track
from tacit.data import ClickEstimates, Preferences
from tacit.data.letor.folds import Fold
from tacit.metrics import parse_measure
from tacit.rerank.base import ListRanker
from tacit.rerank.program_pairs import ProgramPreferences
from tacit.rerank.registry import get_method

logger = logging.getLogger("tacit")
FEW_ZEROS = 0.2  # share of non-relevant judged rows below which unjudged rows are used in training
UNJUDGED_WEIGHT = 0.2  # of a pair of a relevant and an unjudged row in that case
MAX_UNJUDGED = 50  # rows of a list in such pairs


@dataclass(frozen=True)
class RankingTask:
    """Training options: system, measure for choices (None: the system's own), seed, threads, extra preferences."""

    method: str
    measure: str | None = None
    seed: int = 0
    threads: int | None = None
    preferences: Preferences | ClickEstimates | ProgramPreferences | None = None
    skip_unknown: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> ListRanker:
        """Return an unfitted ranker."""
        method = get_method(self.method)
        method.make(**self.params)  # raises for unknown parameters
        ranker = method.offer(seed=self.seed, threads=self.threads).set_params(**self.params)
        if self.measure is not None:
            parse_measure(self.measure)
            if "measure" not in ranker.get_params(deep=False):
                raise UsageError(f"method {self.method!r} does not use a measure; leave --measure out")
            ranker.set_params(measure=self.measure)
        return ranker


@checked
def fit_lists(task: RankingTask, train: Lists, validation: Lists | None = None, *, warn: bool = True) -> ListRanker:
    """Fit a ranker on the lists of `train`, with choices made on the lists of `validation`.

    If all or nearly all judged rows are relevant, unjudged rows count as probably worse; with `warn`, a message says
    so.

    >>> import numpy as np
    >>> train = Lists(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), np.array([0, 2]), ["q"], ["a", "b"])
    >>> ranker = fit_lists(RankingTask("rankboost"), train)
    >>> ranker.rank(train).to_dict()["q"]["a"]
    0.0
    """
    ranker = task.make()
    pairs, weights = None, None
    if task.preferences is not None:
        pairs, weights = task.preferences.rows(train, skip_unknown=task.skip_unknown)
    elif has_few_zeros(train):
        pairs = positive_pairs(train)
        weights = np.full(len(pairs), UNJUDGED_WEIGHT)
        n_judged, n_relevant = int((train.y >= 0).sum()), int((train.y > 0).sum())
        how_many = (
            f"{n_judged} judged rows are all"
            if n_judged == n_relevant
            else f"{n_relevant} of {n_judged} judged rows are"
        )
        logger.log(
            logging.WARNING if warn else logging.DEBUG,
            "%s relevant: unjudged rows of their lists are taken as probably worse, weight %g",
            how_many,
            UNJUDGED_WEIGHT,
        )
    ranker.method_ = task.method
    return ranker.fit(train, pairs=pairs, pair_weights=weights, validation=validation)


@checked
def rank_folds(task: RankingTask, lists: Lists, folds: Mapping[str, Fold]) -> Run:
    """Rank every fold's test lists after training on its training lists; each query may be in only one test part."""
    seen: dict[str, str] = {}
    for name, fold in folds.items():
        for query in fold.test:
            if query in seen:
                raise TacitError(f"query {query!r} is in the test part of {seen[query]!r} and of {name!r}, want one")
            seen[query] = name
    parts = [_rank_fold(task, lists, fold) for fold in track(folds.values(), "folds", total=len(folds))]
    return join_runs(parts, task.method)


def count_idle_lists(lists: Lists) -> int:
    """Count lists whose grades cannot be learned from: lists with one row, no judged row, or one grade for all."""
    count = 0
    for number in range(len(lists)):
        grades = lists.y[lists.rows(number)]
        judged = grades[grades >= 0]  # excludes NaN
        count += not len(judged) or judged.min() == judged.max()
    return count


def has_few_zeros(lists: Lists) -> bool:
    """Return whether nearly all judged rows are relevant, so that worse rows must be taken from unjudged ones.

    >>> y = np.array([1.0, 2.0, np.nan])
    >>> lists = Lists(np.zeros((3, 1)), y, np.array([0, 3]), ["q"], list("abc"))
    >>> has_few_zeros(lists), has_few_zeros(replace(lists, y=y - 1))
    (True, False)
    """
    judged = lists.y[lists.y >= 0]
    return 0 < len(judged) < len(lists.y) and bool((judged == 0).mean() < FEW_ZEROS)


def positive_pairs(lists: Lists) -> np.ndarray:
    """Return (relevant row, unjudged row) of one list, int64 (n, 2), with at most MAX_UNJUDGED rows, evenly spaced.

    >>> lists = Lists(np.zeros((3, 1)), np.array([1, np.nan, np.nan]), np.array([0, 3]), ["q"], list("abc"))
    >>> positive_pairs(lists).tolist()
    [[0, 1], [0, 2]]
    """
    pairs = [np.empty((0, 2), np.int64)]
    for start, stop in zip(lists.starts[:-1].tolist(), lists.starts[1:].tolist(), strict=True):
        grades = lists.y[start:stop]
        better, worse = np.flatnonzero(grades > 0) + start, np.flatnonzero(~(grades >= 0)) + start
        if len(better) and len(worse):
            picks = np.unique(np.linspace(0, len(worse) - 1, MAX_UNJUDGED).round().astype(np.int64))
            pairs.append(np.stack(np.meshgrid(better, worse[picks], indexing="ij"), axis=-1).reshape(-1, 2))
    return np.concatenate(pairs)


def join_runs(runs: list[Run], name: str) -> Run:
    """Return the lines of several runs of different queries as one run."""
    scores = {query: documents for run in runs for query, documents in run.to_dict().items()}
    return Run.from_dict(scores, name)


def _rank_fold(task: RankingTask, lists: Lists, fold: Fold) -> Run:
    train, test = lists.take_queries(fold.train), lists.take_queries(fold.test)
    ranker = fit_lists(_within(task, train), train, lists.take_queries(fold.vali) if fold.vali else None)
    return ranker.rank(test)


def _within(task: RankingTask, train: Lists) -> RankingTask:
    """Return the task with the preferences about these lists only; those about other folds' lists are no mistake."""
    given = task.preferences
    if given is None:
        return task
    kept = given.within(train.query_ids)
    return replace(task, preferences=kept if len(kept) else None)
