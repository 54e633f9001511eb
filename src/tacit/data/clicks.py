"""Click logs: what was shown, in which order, and what was clicked.

One JSON object a line, a session each: {"query": "…", "shown": ["a", "b", "c"], "clicked": ["c"], "count": 2}; `count`
is optional and is the number of such sessions. What follows from a session (Joachims, 2002):

    skip-above    a clicked document is better than every unclicked one that was shown above it
    unjudged      documents below the last click, or not shown: it is unknown whether they were looked at
    position one  only the first shown document is judged, and only in sessions with a click: clicked it is wanted,
                  skipped for a lower one it is not, so no place has an advantage over another (SSI, section 6.4)

Equal statements of several sessions are one statement with the sum of their counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tacit.core import Collection, DataError, Links
from tacit.data.columns import TOO_LARGE, TOO_SMALL, UnknownIds
from tacit.data.files import FilePath, display_name, read_lines
from tacit.data.jsonlines import kind_of, parse_object
from tacit.data.preferences import Preferences


class Session(NamedTuple):
    """One list of results that was shown to users, and what they clicked.

    Parameters
    ----------
    query : str
        Query.
    shown : tuple of str
        Documents in the order shown.
    clicked : frozenset of str
        Documents that were clicked.
    times : float
        How often this happened.
    line : int
        Line of the log.
    """

    query: str
    shown: tuple[str, ...]
    clicked: frozenset[str]
    times: float
    line: int

    def skips(self, *, position_one: bool = False) -> Iterator[tuple[str, str]]:
        """(better, worse) by skip-above; with `position_one` only where the worse one was shown first.

        >>> list(Session("q", ("a", "b", "c", "d"), frozenset({"c"}), 1.0, 1).skips())
        [('c', 'a'), ('c', 'b')]
        """
        for place, better in enumerate(self.shown):
            if better in self.clicked:
                above = self.shown[: min(place, 1) if position_one else place]
                yield from ((better, worse) for worse in above if worse not in self.clicked)


@dataclass(frozen=True)
class ClickLog:
    """Sessions of a log, and what can be learned from them."""

    sessions: Sequence[Session]
    name: str = "clicks"

    def preferences(self, *, position_one: bool = False) -> Preferences:
        """Statements of skip-above with counts as weights, for rankers of lists; queries as the log names them.

        >>> shown = ("a", "b", "c")
        >>> log = ClickLog([Session("q", shown, frozenset({"c"}), 2.0, 1), Session("q", shown, frozenset("b"), 1.0, 2)])
        >>> told = log.preferences()
        >>> list(zip(told.better, told.worse, told.weights.tolist()))
        [('c', 'a', 2.0), ('c', 'b', 2.0), ('b', 'a', 1.0)]
        """
        counts: dict[tuple[str, str, str], float] = {}
        for session in self.sessions:
            for pair in session.skips(position_one=position_one):
                statement = (session.query, *pair)
                counts[statement] = counts.get(statement, 0.0) + session.times
        if not counts:
            raise DataError(
                f"{len(self.sessions)} sessions tell no preference: nothing clicked was shown below anything unclicked",
                path=self.name,
            )
        queries, better, worse = zip(*counts, strict=True)
        weights = np.array(list(counts.values()), np.float64)
        return Preferences(list(queries), list(better), list(worse), weights)

    def pairs(
        self, docs: Collection, *, position_one: bool = False, skip_unknown: bool = False
    ) -> tuple[Collection, Links]:
        """Distinct queries, and their clicked documents with counts added up, for rankers of collections."""
        unknown, counts = UnknownIds(self.name), dict[tuple[int, int], float]()
        row_of: dict[str, int] = {}
        for session in self.sessions:
            for doc_id in session.shown[:1] if position_one else session.shown:
                if doc_id not in session.clicked:
                    continue
                doc = docs.row_of.get(doc_id, -1)
                if doc < 0:
                    unknown.add(session.line, "document", doc_id)
                    continue
                pair = row_of.setdefault(session.query, len(row_of)), doc
                counts[pair] = counts.get(pair, 0.0) + session.times
        unknown.settle(len(counts), skip=skip_unknown)
        if not counts:
            where = " on the first answer" if position_one else ""
            raise DataError(f"{len(self.sessions)} sessions hold no click{where}", path=self.name)
        return clicked_pairs(row_of, counts, len(docs))


def clicked_pairs(
    row_of: dict[str, int], counts: dict[tuple[int, int], float], n_docs: int
) -> tuple[Collection, Links]:
    """Queries by text (row_of) and weighted pairs of rows, as rankers of collections take them."""
    texts = list(row_of)
    queries = Collection([f"q{row}" for row in range(len(texts))], [""] * len(texts), texts)
    rows = np.array(list(counts), np.int64)
    return queries, Links(rows[:, 0], rows[:, 1], len(texts), n_docs, np.array(list(counts.values()), np.float32))


def read_click_log(path: FilePath) -> ClickLog:
    """Read the sessions of a click log.

    Parameters
    ----------
    path : path
        Plain or compressed file; `-` is standard input.

    Returns
    -------
    ClickLog

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "log.jsonl")
    ...     _ = path.write_text('{"query": "q", "shown": ["a", "b"], "clicked": ["b"]}')
    ...     read_click_log(path).preferences().better
    ['b']
    """
    return parse_sessions(read_lines(path), display_name(path))


def parse_sessions(lines: Iterable[tuple[int, str]], place: str) -> ClickLog:
    """The sessions that numbered lines write."""
    sessions = [_session(line, place, number) for number, line in lines if line and not line.isspace()]
    if not sessions:
        raise DataError('holds no sessions, want {"query": …, "shown": […], "clicked": […]}', path=place)
    return ClickLog(sessions, place)


def _session(line: str, place: str, number: int) -> Session:
    fields = parse_object(line, place, number)
    query = fields.get("query")
    if not isinstance(query, str) or not query.strip():
        raise DataError(f"query is {query!r}, want its text or id", path=place, line=number)
    shown, clicked = (_ids(fields, name, place, number) for name in ("shown", "clicked"))
    if len(set(shown)) != len(shown):
        raise DataError("a document is shown twice, want each once", path=place, line=number)
    unseen = [doc_id for doc_id in clicked if doc_id not in shown]
    if unseen:
        raise DataError(
            f"{unseen[0]!r} is clicked but not shown, want clicks on what was shown", path=place, line=number
        )
    return Session(query.strip(), shown, frozenset(clicked), _count(fields.get("count", 1), place, number), number)


def _ids(fields: dict[str, Any], name: str, place: str, number: int) -> tuple[str, ...]:
    values = fields.get(name)
    if not isinstance(values, list):
        raise DataError(f"{name} is {kind_of(values)}, want a list of document ids", path=place, line=number)
    for value in values:
        if not isinstance(value, str) or not value:
            raise DataError(f"{name} holds {value!r}, want document ids as text", path=place, line=number)
    return tuple(values)


def _count(value: Any, place: str, number: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not TOO_SMALL < value < TOO_LARGE:
        raise DataError(f"count is {value!r}, want a number above 0", path=place, line=number)
    return float(value)
