"""Records of a judgment store: one for each event of a query-document pair.

A record has one of three actions. `judged`: a judge gave a grade, or marked the pair "cannot judge". `withdrawn`: a
judge withdrew an earlier judgment. `drawn`: a sampling design chose the pair; the record has no judge and no grade, and
its probability replaces the probability in earlier records of the pair.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from tacit.core import TacitError, check_choice, check_number, checked, shown
from tacit.data.columns import id_problem

ACTIONS = ("judged", "withdrawn", "drawn")
DECISION = "decision"  # `display` of a judgment by a person who saw other judges' grades
KINDS = ("person", "program")
MAX_TEXT = 1_000_000  # characters of a query
ID_WORDS, ID_DIGITS = 40, 16
PARSEABLE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")


@dataclass(frozen=True)
class Judgment:
    """One record of a judgment store.

    Parameters
    ----------
    query : str
        Id of the query.
    document : str
        Id of the document.
    grade : float or None
        Grade >= 0; None for "cannot judge", and in records that are not judgments.
    judge : str
        Name of the judge; empty in a `drawn` record.
    time : str
        UTC time in ISO 8601 form with microseconds, such as `2026-01-31T12:00:00.000000Z`.
    text : str or None, default=None
        Text of the query, if known.
    kind : {"person", "program"}, default="person"
        Kind of the judge.
    rank : int or None, default=None
        Rank, from 1, of the document in the results.
    model : str or None, default=None
        Version of the model that found it.
    probability : float or None, default=None
        Probability that the pair was chosen to be shown; None if unknown.
    display : str or None, default=None
        How the document was shown, such as `shuffled`.
    action : {"judged", "withdrawn", "drawn"}, default="judged"
        The event.
    """

    query: str
    document: str
    grade: float | None
    judge: str
    time: str
    text: str | None = None
    kind: str = "person"
    rank: int | None = None
    model: str | None = None
    probability: float | None = None
    display: str | None = None
    action: str = "judged"

    def __post_init__(self) -> None:
        check_choice("action", self.action, ACTIONS)
        for name, value in (("query id", self.query), ("document id", self.document), ("judge", self.judge)):
            if name != "judge" or self.action != "drawn":
                check_name(name, value)
        check_choice("kind of judge", self.kind, KINDS)
        if self.grade is not None:
            check_number("grade", self.grade, low=0)
        if self.grade is not None and self.action != "judged":
            raise TacitError(f"a record that is {self.action} has the grade {self.grade:g}, want none")
        if self.rank is not None:
            check_number("rank", self.rank, low=1, high=2**53, whole=True)
        if self.probability is not None:
            check_number("probability", self.probability, low=0, high=1, open_low=True)
        for name in ("model", "display"):
            if getattr(self, name) is not None:
                check_name(name, getattr(self, name))


FIELDS = tuple(field.name for field in fields(Judgment))


def check_name(what: str, value: Any) -> str:
    """Return the value if it is an id that can be written to files.

    >>> check_name("judge", "Ann ")
    Traceback (most recent call last):
    tacit.core.errors.TacitError: judge is 'Ann ', want no spaces at its ends
    """
    if not isinstance(value, str):
        raise TacitError(f"{what} is {shown(value)}, want text")
    problem = id_problem(value) or _not_utf8(value)
    if problem:
        raise TacitError(f"{what} {problem}")
    return value


def check_text(text: Any) -> str:
    """Return the text of a query if it can be stored: not blank, not too long, valid Unicode."""
    if not isinstance(text, str) or not text.strip():
        raise TacitError(f"the text of a query is {shown(text)}, want at least one word")
    if len(text) > MAX_TEXT:
        raise TacitError(f"the text of a query has {len(text)} characters, want at most {MAX_TEXT}")
    problem = _not_utf8(text)
    if problem:
        raise TacitError(f"the text of a query {problem}")
    return text


def check_topic(topic: Any) -> str | None:
    """Return the topic of a query if it can be stored; None means no topic."""
    problem = "" if topic is None else _not_utf8(topic) if isinstance(topic, str) else f"is {shown(topic)}, want text"
    if problem:
        raise TacitError(f"the topic of a query {problem}")
    return topic


def typed_text(text: str) -> str:
    """Return the text of a typed query in normal form: NFC, one space between words.

    >>> typed_text("  cats   and dogs ")
    'cats and dogs'
    """
    return " ".join(unicodedata.normalize("NFC", check_text(text)).split())


@checked
def typed_query_id(text: str, n_digits: int = ID_DIGITS) -> str:
    """Return the id of a typed query: its first words, and a digest of the whole text, without spaces.

    >>> typed_query_id("Cats & dogs"), typed_query_id(" Cats  & dogs") == typed_query_id("Cats & dogs")
    ('cats-dogs~fdab422acc5b63db', True)
    """
    text = typed_text(text)
    words = "-".join(re.findall(r"[a-z0-9]+", unicodedata.normalize("NFKD", text).lower()))[:ID_WORDS].strip("-")
    return f"{words}~{hashlib.sha256(text.encode()).hexdigest()[:n_digits]}"


def utc_now() -> str:
    """Return the current time in the form of records."""
    return as_utc(datetime.now(UTC))


def as_utc(time: datetime | str) -> str:
    """Return the time in the form of records; it must have a UTC offset.

    >>> as_utc("2026-01-31T13:00:00+01:00")
    '2026-01-31T12:00:00.000000Z'
    """
    try:
        moment = datetime.fromisoformat(time) if isinstance(time, str) and PARSEABLE.match(time) else time
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
    except (ValueError, OverflowError):
        pass
    raise TacitError(f"time is {time!r}, want a date and time with its offset, such as 2026-01-31T12:00:00Z")


def just_after(time: str) -> str:
    """Return the time one microsecond later."""
    return as_utc(datetime.fromisoformat(time) + timedelta(microseconds=1))


def _not_utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"contains U+{ord(text[error.start]):04X}, half of a character"
    return ""
