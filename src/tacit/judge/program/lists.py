"""Rankers of feature lists that learn from people's grades of some rows and a program's grades of others.

The program's grades become weighted preferences (`rerank.program_pairs`). They are used only if they help: the lists
with people's grades are split into folds, a ranker is trained on the other lists with and without the program's grades,
and both are measured on the fold by people's grades. The gain must satisfy the rule of `advise` (`gain_of`: at least 10
lists, p < .05, interval above 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tacit.core import Judgments, Lists, Run, TacitError, track
from tacit.data.letor.folds import Fold
from tacit.judge.advise.verdict import FEWEST_QUERIES, Gain, gain_of
from tacit.metrics import evaluate_rows
from tacit.rerank.base import ListRanker
from tacit.rerank.program_pairs import Agreement, ProgramPreferences, agreements
from tacit.rerank.ranking_lists import RankingTask, fit_lists, join_runs

N_FOLDS = 5
MEASURE = "nDCG-judged@10"  # ignores rows that people did not judge


@dataclass(frozen=True)
class ListVerdict:
    """Whether a program's grades were used, its gain on people's lists, and its agreement with people."""

    used: bool
    gain: Gain
    n_lists: int
    agreement: list[Agreement]

    def __str__(self) -> str:
        shown = "used" if self.used else f"not used: {self.gain.reason}"
        if self.n_lists < FEWEST_QUERIES:
            return f"the program's grades are {shown} with people's grades"
        low, high = self.gain.interval
        return (
            f"the program's grades are {shown}; {MEASURE} {self.gain.gain:+.4f} ({low:+.4f} to {high:+.4f}, "
            f"p {self.gain.p:.2g}) on {self.n_lists} lists with people's grades, cross-validated"
        )


def fit_assisted(
    task: RankingTask, train: Lists, program: Judgments, validation: Lists | None = None
) -> tuple[ListRanker, ListVerdict]:
    """Fit a ranker with a program's grades if they gain, else without.

    Parameters
    ----------
    task : RankingTask
        Training task, without further preferences.
    train : Lists
        Lists with people's grades of some rows; NaN or -1 is unjudged.
    program : Judgments
        The program's grades; rows that people judged too calibrate them.
    validation : Lists or None, default=None
        Lists for the choice of parameters.
    """
    given = ProgramPreferences(program.to_dict(), task.seed)
    grades = given.of_rows(train)
    if np.isnan(grades).all():
        raise TacitError(f"no grade of the program (of {len(program)}) is about a row of the lists")
    verdict = _judge(task, train, given, agreements(train, grades))
    return fit_lists(replace(task, preferences=given) if verdict.used else task, train, validation), verdict


def rank_folds_assisted(
    task: RankingTask, lists: Lists, folds: Mapping[str, Fold], program: Judgments
) -> tuple[Run, dict[str, ListVerdict]]:
    """Rank every fold's test lists, after training on its training lists and the program's grades of them."""
    parts, verdicts = [], {}
    for name, fold in track(folds.items(), "folds", total=len(folds)):
        validation = lists.take_queries(fold.vali) if fold.vali else None
        ranker, verdicts[name] = fit_assisted(task, lists.take_queries(fold.train), program, validation)
        parts.append(ranker.rank(lists.take_queries(fold.test)))
    return join_runs(parts, task.method), verdicts


def _judge(task: RankingTask, train: Lists, given: ProgramPreferences, known: list[Agreement]) -> ListVerdict:
    judged = [n for n in range(len(train)) if len(set(train.y[train.rows(n)][train.y[train.rows(n)] >= 0])) > 1]
    problem = ""
    if len(judged) < FEWEST_QUERIES:
        problem = f"people graded {len(judged)} lists with different grades, want at least {FEWEST_QUERIES}"
    elif not any(found.reliability for found in known):
        problem = "people do not confirm its order more often than chance"
    if problem:
        return ListVerdict(False, Gain(False, 0.0, (-1.0, 1.0), 1.0, problem), len(judged), known)
    order = np.random.default_rng(task.seed).permutation(judged)
    without, with_program = np.zeros(len(train)), np.zeros(len(train))
    for fold in (order[at::N_FOLDS] for at in range(N_FOLDS)):
        names = {train.query_ids[n] for n in fold.tolist()}
        learned = train.take_queries([q for q in train.query_ids if q not in names])
        held_out = train.take_queries([q for q in train.query_ids if q in names])
        at = [n for n in range(len(train)) if train.query_ids[n] in names]
        without[at] = _values(fit_lists(task, learned, warn=False), held_out)
        with_program[at] = _values(fit_lists(replace(task, preferences=given), learned, warn=False), held_out)
    gain = gain_of(without[judged], with_program[judged], seed=task.seed)
    return ListVerdict(gain.help, gain, len(judged), known)


def _values(ranker: ListRanker, lists: Lists) -> np.ndarray:
    return evaluate_rows(lists.y, ranker.predict(lists.X, lists.qid), lists.qid, MEASURE).values[MEASURE]
