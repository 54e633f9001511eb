"""What a judge is offered next: a plan of pairs, passed over where the judge has judged already.

A plan is made by `plans` for a judge, a purpose and a model version, and made again when it is used up.
Within a plan the order is shuffled, so that a judge cannot tell the rank of a document from its turn.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from tacit.app.web.plans import Pair, make_plan
from tacit.app.web.tickets import Ticket, Tickets
from tacit.app.web.workspace import Version, Workspace

PLAN_SIZE = 60
DISPLAY = "shuffled,rank hidden"


@dataclass(frozen=True)
class Offer:
    """One pair to judge, and how many of the plan are left after it."""

    ticket: Ticket
    text: str
    n_left: int


class Offers:
    """Plans by judge, purpose and version."""

    def __init__(self, workspace: Workspace, tickets: Tickets) -> None:
        self.workspace, self.tickets = workspace, tickets
        self._lock = threading.Lock()
        self._plans: dict[tuple[str, str, str], list[Pair]] = {}
        self._judged: dict[str, set[tuple[str, str]]] = {}

    def n_judged(self, judge: str) -> int:
        """How many pairs the judge has judged."""
        with self._lock:
            return len(self._judged_by(judge))

    def note(self, judge: str, query: str, document: str, *, withdrawn: bool = False) -> None:
        """Remember that a pair is judged now, or no longer."""
        with self._lock:
            pairs = self._judged_by(judge)
            (pairs.discard if withdrawn else pairs.add)((query, document))

    def next(self, judge: str, purpose: str, after: str | None = None) -> Offer | None:
        """The next pair of the plan; None if there is nothing to judge. `after` is a ticket that is still open."""
        version = self.workspace.active
        opened = None if after is None else self.tickets.read(after)
        passed = set() if opened is None else {(opened.query, opened.document)}
        with self._lock:
            key = judge, purpose, version.name
            for _ in range(2):  # the present plan, then a new one
                plan = self._plans.get(key) or []
                left = [pair for pair in plan if (pair.query, pair.document) not in self._judged_by(judge)]
                self._plans[key] = left
                open_pairs = [pair for pair in left if (pair.query, pair.document) not in passed]
                if open_pairs:
                    return self._offer(open_pairs, version)
                if left:
                    return None  # all that is left is open already
                self._plans[key] = make_plan(
                    version.searcher, self.workspace.store, judge=judge, purpose=purpose, n=PLAN_SIZE
                )
            return None

    def skip(self, judge: str, purpose: str, ticket: Ticket) -> None:
        """Put a pair at the end of its plan."""
        with self._lock:
            plan = self._plans.get((judge, purpose, ticket.model), [])
            late = [pair for pair in plan if (pair.query, pair.document) == (ticket.query, ticket.document)]
            self._plans[judge, purpose, ticket.model] = [pair for pair in plan if pair not in late] + late

    def _offer(self, pairs: list[Pair], version: Version) -> Offer:
        pair = pairs[0]
        ticket = Ticket(pair.query, pair.document, pair.rank, version.name, pair.probability, DISPLAY)
        return Offer(ticket, pair.text, len(pairs) - 1)

    def _judged_by(self, judge: str) -> set[tuple[str, str]]:
        if judge not in self._judged:
            self._judged[judge] = {(record.query, record.document) for record in self.workspace.store.current(judge)}
        return self._judged[judge]
