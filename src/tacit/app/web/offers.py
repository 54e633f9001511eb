"""Pairs to judge next, each with a signed ticket, so that a judgment can record the probability that it was shown.

A plan is made by `judge.what_to_judge` for a judge, a purpose and a model version, and extended when it is used up. Its
order is shuffled, so that a judge cannot infer the rank of a document from its turn. A ticket is signed with a key
stored next to the judgments, so tickets survive a restart and cannot be forged.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from itsdangerous import BadData, URLSafeSerializer

from tacit.app.web.workspace import Version, Workspace
from tacit.core import TacitError
from tacit.judge import Suggestion, what_to_judge

PLAN_SIZE = 60
DISPLAY = "shuffled,rank hidden"
KEY_BYTES = 32


@dataclass(frozen=True)
class Ticket:
    """One offered pair."""

    query: str
    document: str
    rank: int | None
    model: str
    probability: float | None
    display: str


class Tickets:
    """Signs tickets, and verifies them.

    >>> tickets = Tickets(b"k" * 32)
    >>> text = tickets.sign(Ticket("q1", "d7", 3, "m1", 0.25, "shuffled"))
    >>> tickets.read(text).probability
    0.25
    >>> tickets.read(text[:-2] + "AA")
    Traceback (most recent call last):
    tacit.core.errors.TacitError: the ticket was not issued here, want one from /next
    """

    def __init__(self, key: bytes) -> None:
        self._signer = URLSafeSerializer(key, "ticket", signer_kwargs={"digest_method": hashlib.sha256})

    @classmethod
    def beside(cls, store: Path, *, read_only: bool = False) -> Tickets:
        """Return the signer of a judgment store; its key is created on first use, unless the store is read-only."""
        path = store.with_name(store.name + ".key")
        if read_only and not path.exists():
            return cls(secrets.token_bytes(KEY_BYTES))
        if not path.exists():
            _write_once(path, secrets.token_bytes(KEY_BYTES))
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            raise TacitError(f"{path}: contains {len(key)} bytes, want the {KEY_BYTES} bytes of a key; remove it")
        return cls(key)

    def sign(self, ticket: Ticket) -> str:
        """Return the ticket as a text that clients send back."""
        return str(self._signer.dumps(asdict(ticket)))

    def read(self, text: str) -> Ticket:
        """Return the ticket written by `sign`; refuse all other texts."""
        try:
            return Ticket(**self._signer.loads(text))
        except (BadData, TypeError, ValueError):
            raise TacitError("the ticket was not issued here, want one from /next") from None


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


def _write_once(path: Path, data: bytes) -> None:
    """Write the file atomically, unless another process did."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):
            os.link(unfinished, path)
    finally:
        unfinished.unlink()
