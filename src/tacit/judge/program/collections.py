"""Searchers that learn from people's grades, and from a program's grades if these help.

With and without the program's grades (`judge.advise.assisted`), searchers are fitted on the judged queries of four of
five folds, and measured on the fifth by people's grades. No grades of that fold are used for training, neither people's
nor the program's. The gain must satisfy the rule of `advise`; otherwise only people's grades are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core import Collection, Judgments
from tacit.features import find_language
from tacit.judge.advise.assisted import AssistedCandidate, ProgramWorth, assisted_candidate, worth_of
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask
from tacit.judge.advise.procedure import CrossValidation
from tacit.judge.advise.verdict import FEWEST_QUERIES, JUDGED, ClaimRule, Gain, judged_only
from tacit.search import Searcher

N_FOLDS = 5
MEASURE = "nDCG@10"


@dataclass(frozen=True)
class AssistVerdict:
    """Whether a program's grades were used, their gain on queries that people judged, and their worth."""

    used: bool
    gain: Gain
    n_queries: int
    worth: ProgramWorth

    def __str__(self) -> str:
        shown = "used" if self.used else f"not used: {self.gain.reason}"
        low, high = self.gain.interval
        measured = (
            f"{MEASURE} {self.gain.gain:+.4f} ({low:+.4f} to {high:+.4f}, p {self.gain.p:.2g}) on {self.n_queries} "
            "queries that people judged, cross-validated"
        )
        return f"the program's grades are {shown}" + (f"; {measured}" if self.n_queries >= FEWEST_QUERIES else "")

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as `tacit serve` sends it."""
        return {"used": self.used, "text": str(self), "queries": self.n_queries, **self.gain.to_json()}


def judge_program(
    task: CollectionTask, without: CollectionCandidate, assisted: AssistedCandidate, seed: int = 0
) -> AssistVerdict:
    """Test whether a program's grades gain over people's alone, by cross-validation over queries judged by people."""
    worth, n = worth_of(task.judgments, assisted.program), len(task.queries)
    problem = ""
    if n < FEWEST_QUERIES:
        problem = f"people judged {n} queries with a relevant document, want at least {FEWEST_QUERIES}"
    elif not worth.trust:
        problem = "its grades do not predict people's"
    if problem:
        return AssistVerdict(False, Gain(False, 0.0, (-1.0, 1.0), 1.0, problem), n, worth)
    validation = CrossValidation([without, assisted], n, MEASURE, min(N_FOLDS, n), seed=seed)
    gain = ClaimRule(MEASURE, task.has_zeros).gain(validation.values(without), validation.values(assisted))
    return AssistVerdict(gain.help, gain, n, worth)


def fit_assisted(
    searcher: Searcher,
    documents: Collection,
    queries: Collection,
    people: Judgments,
    program: Judgments,
    further: Mapping[str, Any] | None = None,
) -> tuple[Searcher, AssistVerdict]:
    """Fit a searcher with a program's grades if they gain, else without.

    Parameters
    ----------
    searcher : Searcher
        An unfitted `blend`.
    documents, queries : Collection
        Documents, and texts of all queries graded by people or the program.
    people, program : Judgments
        Grades.
    further : mapping or None, default=None
        Vectors and other arguments of `Searcher.fit` for every fold.
    """
    language = find_language(documents, searcher.language)
    own = {"words": searcher.words, "language": language, "threads": searcher.params.get("threads")}
    task = CollectionTask.of(documents, queries, people, [MEASURE, judged_only(MEASURE), JUDGED], **own)
    encode = {} if searcher.encode is None else {"encode": searcher.encode}
    named = {"encoder": searcher.encoder} if searcher.encoder and not encode else {}
    how: dict[str, Any] = {
        "stem": searcher.stem is not False,
        "params": searcher.params | named,
        "further": dict(further or {}) | encode,
    }
    how["like"] = CollectionCandidate("blend", task, searcher.method, **how)
    without = CollectionCandidate("people", task, searcher.method, learns=True, **how)
    assisted = assisted_candidate("both", without, queries, program)
    verdict = judge_program(task, without, assisted, seed=searcher.params.get("seed", 0))
    sources: dict[str, Any] = {"queries": queries, "qrels": people}
    if verdict.used:
        sources = assisted.sources(np.arange(len(task.queries)), set())
    return searcher.fit(documents, **sources, **how["further"]), verdict
