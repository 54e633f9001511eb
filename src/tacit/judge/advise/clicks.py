"""Clicks as training data, and as a measure.

Held-out clicks measure a ranking of the documents shown for a query; other documents cannot be clicked and are left
out. The grade of a document is its number of clicks. Users look mostly at the first results, so the measure favours the
shown order and systems similar to it. Corrected clicks are the number of clicks divided by the clicks that a typical
document gets at the same positions (see `data.click_model`). They give no credit for a position, even if the first
documents deserve theirs, so they favour systems that differ from the shown order. The truth is between the two: a gain
is claimed only if both show it.

Counts without positions are treated as judgments of relevant documents in the whole collection. They favour the
system whose results were shown, and systems that learn to resemble it, so no claim is based on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core import Collection, DataError, Judgments, Run, plural
from tacit.data import ClickLog
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask
from tacit.metrics import evaluate
from tacit.search import Searcher
from tacit.search.sources import hash_query

SHOWN, CORRECTED = "shown", "corrected {}"
MAX_QUERIES = 500  # measured queries; the clicks of all others are training data in every fold
BLOCK = 50  # queries scored together
ORDERED_NOTE = (
    "Measured by clicks on the documents that were shown for queries held out from learning. Users click what they see "
    "first, which favours the shown order; corrected clicks favour what differs from it. A gain is claimed only if "
    "both show it. Documents that were not shown count for nothing."
)
UNKNOWN_ORDER = "clicks favour the documents that were shown first, and the shown order is not known"
COUNTED_NOTE = (
    "Measured by clicks on queries held out from learning, without the order in which documents were shown: the system "
    "that showed them is favoured, and a document that was not clicked counts as not relevant."
)


@dataclass
class ClickTask(CollectionTask):
    """Queries with clicks, measured on the documents shown for them.

    Parameters
    ----------
    corrected : Judgments or None
        Clicks divided by expected clicks; None without positions.
    """

    corrected: Judgments | None = None

    @classmethod
    def of_log(cls, documents: Collection, log: ClickLog, measures: Sequence[str], **options: Any) -> ClickTask:
        """Make the task of a log that names queries by their texts; of many queries, draw some by the seed."""
        clicks, expected = _count(log, documents)
        texts = [text for text, found in clicks.items() if any(found.values())]
        if len(texts) < 2:
            found = plural(len(texts), "query")
            raise DataError(f"{found} with a click on a known document, want at least 2", path=log.name)
        drawn = np.random.default_rng(options.get("seed", 0)).permutation(len(texts))[:MAX_QUERIES]
        asked = {f"q{number}": texts[row] for number, row in enumerate(np.sort(drawn))}
        queries = Collection(list(asked), [""] * len(asked), list(asked.values()))
        counted = _judgments({name: clicks[text] for name, text in asked.items()})
        corrected = _judgments(
            {name: {doc: n / expected[text, doc] for doc, n in clicks[text].items()} for name, text in asked.items()}
        )
        return cls(documents, queries, counted, measures, corrected=corrected if log.ordered else None, **options)

    def measure(self, searcher: Searcher, test: np.ndarray) -> dict[str, np.ndarray]:
        """Measure a fitted searcher on some queries."""
        if self.corrected is None:
            return super().measure(searcher, test)
        scores = {}
        for start in range(0, len(test), BLOCK):
            queries = self.queries.take(test[start : start + BLOCK].tolist())
            rows = searcher.query_rows(list(queries.full_texts()))
            for name, found in zip(queries.ids, searcher.ranker_.scores(rows), strict=True):
                scores[name] = found[self.shown[name]].astype(np.float64)
        return self.measure_shown(scores)

    @cached_property
    def shown(self) -> dict[str, np.ndarray]:
        """Return the rows of the documents shown for each query."""
        row_of, grades = self.documents.row_of, self.judgments.to_dict()
        return {query: np.sort([row_of[doc] for doc in docs]) for query, docs in grades.items()}

    def measure_shown(self, scores: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Measure scores of the shown documents by query: by clicks and by corrected clicks."""
        assert self.corrected is not None
        query = np.repeat(np.arange(len(scores)), [len(found) for found in scores.values()])
        doc = np.concatenate([self.shown[name] for name in scores])
        run = Run(list(scores), self.documents.ids, query, doc, np.concatenate(list(scores.values())))
        found: dict[str, np.ndarray] = {}
        for judgments, name in ((self.judgments, "{}"), (self.corrected, CORRECTED)):
            grades = judgments.to_dict()
            judged = Judgments.from_dict({query: grades[query] for query in scores})
            values = evaluate(judged, run, list(self.measures)).values
            found |= {name.format(measure): array for measure, array in values.items()}
        return found


def with_texts(log: ClickLog, queries: Collection | None) -> ClickLog:
    """Return the log with query texts instead of ids; other names are already texts."""
    if queries is None:
        return log
    text_of = {name: queries.full_text(row).strip() for name, row in queries.row_of.items()}
    sessions = [session._replace(query=text_of.get(session.query, session.query)) for session in log.sessions]
    return replace(log, sessions=sessions)


def _count(log: ClickLog, documents: Collection) -> tuple[dict[str, dict[str, float]], dict[tuple[str, str], float]]:
    """Count clicks on known documents by query, 0 for documents only shown, with the expected number by pair."""
    found = log.estimates()
    clicks: dict[str, dict[str, float]] = {}
    for query, doc, number in zip(found.queries, found.docs, found.clicks.tolist(), strict=True):
        if doc in documents.row_of:
            clicks.setdefault(query, {})[doc] = number
    pairs = zip(found.queries, found.docs, strict=True)
    return clicks, dict(zip(pairs, found.expected.tolist(), strict=True))


def _judgments(clicks: dict[str, dict[str, float]]) -> Judgments:
    """Return clicks as grades; the smallest above 0 becomes 1."""
    least = min(number for found in clicks.values() for number in found.values() if number)
    return Judgments.from_dict(
        {query: {doc: number / least for doc, number in found.items()} for query, found in clicks.items()}
    )


@dataclass
class ShownCandidate:
    """The order in which documents were shown, by mean rank if the order changed."""

    task: ClickTask
    log: ClickLog
    name: str = SHOWN
    learns: bool = False

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Measure some queries."""
        names = {self.task.queries.full_text(row): self.task.queries.ids[row] for row in test}
        ranks: dict[tuple[str, int], np.ndarray] = {}
        for session in self.log.sessions:
            for rank, doc in enumerate(session.shown, start=1) if session.query in names else ():
                pair = names[session.query], self.task.documents.row_of.get(doc, -1)
                ranks[pair] = ranks.get(pair, np.zeros(2)) + session.times * np.array([rank, 1])
        scores = {
            name: np.array([-ranks[name, doc][0] / ranks[name, doc][1] for doc in self.task.shown[name].tolist()])
            for name in names.values()
        }
        return self.task.measure_shown(scores)


@dataclass
class ClickCandidate(CollectionCandidate):
    """A method that learns from clicks, but never from clicks of its test queries.

    Clicks of queries that are never measured are training data in every fold.
    """

    log: ClickLog = field(default_factory=lambda: ClickLog([]))

    def __post_init__(self) -> None:
        measured = {hash_query(text): row for row, text in enumerate(self.task.queries.full_texts())}
        self._row = np.array([measured.get(hash_query(session.query), -1) for session in self.log.sessions])
        self.learns = bool((self._row >= 0).any())

    def fitted_once(self) -> Searcher:
        """Return the searcher fitted on all clicks, none of which belong to measured queries."""
        if self._fitted is None:
            self._fitted = self.fitted(np.empty(0, np.int64))
        return self._fitted

    def fitted(self, train: np.ndarray) -> Searcher:
        """Return a searcher fitted on the clicks of some queries and of all queries that are never measured."""
        assert self.like is not None
        kept = np.flatnonzero((self._row < 0) | np.isin(self._row, train))
        log = replace(self.log, sessions=[self.log.sessions[number] for number in kept.tolist()])
        known = self.task.documents.row_of
        if not any(doc in known for session in log.sessions for doc in session.clicked):
            return self.like.fitted_once()
        return self._fit(clicks=log.pairs(self.task.documents, skip_unknown=True))
