"""Signed tickets of offered pairs, so that a judgment can record the probability that it was shown.

A ticket contains query, document, rank, model version, probability and display. It is signed with a key stored next to
the judgments, so tickets survive a restart and cannot be forged.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from itsdangerous import BadData, URLSafeSerializer

from tacit.core import TacitError

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
