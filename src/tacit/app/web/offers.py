"""Pairs to judge next: a plan of pairs, without pairs that the judge has already judged.

A plan is made by `judge.what_to_judge` for a judge, a purpose and a model version, and extended when it is used up. Its
order is shuffled, so that a judge cannot infer the rank of a document from its turn.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from tacit.app.web.tickets import Ticket, Tickets
from tacit.app.web.workspace import Version, Workspace
from tacit.judge import Suggestion, what_to_judge

PLAN_SIZE = 60
DISPLAY = "shuffled,rank hidden"


class Offer(NamedTuple):
    """One pair to judge, the text of its query, and the number of planned pairs left after it."""

    ticket: Ticket
    text: str
    n_left: int


class Offers:
    """Plans by judge, purpose and version."""

    def __init__(self, workspace: Workspace, tickets: Tickets) -> None:
        self.workspace, self.tickets = workspace, tickets
        self._lock = threading.Lock()
        self._plans: dict[tuple[str, str, str], list[Suggestion]] = {}
        self._judged: dict[str, set[tuple[str, str]]] = {}

    def n_judged(self, judge: str) -> int:
        """Return the number of pairs that the judge has judged."""
        with self._lock:
            return len(self._judged_by(judge))

    def note(self, judge: str, query: str, document: str, *, withdrawn: bool = False) -> None:
        """Note that a pair is now judged, or no longer judged."""
        with self._lock:
            pairs = self._judged_by(judge)
            (pairs.discard if withdrawn else pairs.add)((query, document))

    def forget(self) -> None:
        """Reload the judged pairs after an import."""
        with self._lock:
            self._judged.clear()

    def next(self, judge: str, purpose: str, after: str | None = None) -> Offer | None:
        """Return the next pair of the plan; None if there is nothing to judge. `after` is an open ticket."""
        version = self.workspace.active
        opened = None if after is None else self.tickets.read(after)
        passed = set() if opened is None else {(opened.query, opened.document)}
        with self._lock:
            key = judge, purpose, version.name
            judged, held = self._judged_by(judge), version.searcher.documents_.row_of
            plan = self._plans.get(key, [])
            self._plans[key] = [pair for pair in plan if pair[:2] not in judged and pair.document in held]
            if all(pair[:2] in passed for pair in self._plans[key]):
                self._extend(key, version)
            left = [pair for pair in self._plans[key] if pair[:2] not in passed]
            return self._offer(left, version) if left else None

    def _extend(self, key: tuple[str, str, str], version: Version) -> None:
        """Add pairs to a plan that is used up, in random order."""
        judge, purpose, name = key
        store = self.workspace.store
        known = store.queries()
        queries = known.take([row for row, text in enumerate(known.texts) if text])
        if not len(queries):
            return
        found = what_to_judge(
            version.searcher, queries, PLAN_SIZE, purpose=purpose, store=store, judge=judge, model_name=name
        )
        order = np.random.default_rng(len(self._judged_by(judge))).permutation(len(found)).tolist()
        planned = {pair[:2] for pair in self._plans[key]}
        self._plans[key] += [found[place] for place in order if found[place][:2] not in planned]

    def skip(self, judge: str, purpose: str, ticket: Ticket) -> None:
        """Move a pair to the end of its plan."""
        with self._lock:
            plan = self._plans.get((judge, purpose, ticket.model), [])
            late = [pair for pair in plan if pair[:2] == (ticket.query, ticket.document)]
            self._plans[judge, purpose, ticket.model] = [pair for pair in plan if pair not in late] + late

    def _offer(self, pairs: list[Suggestion], version: Version) -> Offer:
        pair = pairs[0]
        ticket = Ticket(pair.query, pair.document, pair.rank, version.name, pair.probability, DISPLAY)
        queries = self.workspace.store.queries()
        return Offer(ticket, queries.texts[queries.row_of[pair.query]], len(pairs) - 1)

    def _judged_by(self, judge: str) -> set[tuple[str, str]]:
        if judge not in self._judged:
            self._judged[judge] = {(record.query, record.document) for record in self.workspace.store.current(judge)}
        return self._judged[judge]
