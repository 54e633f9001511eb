"""Click logs: documents shown, in order, and documents clicked.

A log has one JSON object a line, each a session: {"query": "…", "shown": ["a", "b", "c"], "clicked": ["c"], "count":
2}; the optional `count` is the number of equal sessions. Or it has lines `query<TAB>document[<TAB>count]`, without
positions. Tables in other formats (CSV, JSON arrays, parquet, …) and frames have columns with these names. A table may
also have one row for each shown document, with columns `session`, `query`, `document`, `position` (default: the order
of the rows) and `clicked`; without `session`, the rows are counts without positions. `query` is the text of a query or
its id. `click_model` estimates relevance from a log.

With `position_one`, only clicks on the first result count, so that no position has an advantage (SSI, section 6.4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tacit.core import ClickedLinks, Collection, DataError, Shown, check_kind, check_list, checked, plural
from tacit.data.click_model import ClickEstimates, estimate_clicks, estimate_counts
from tacit.data.columns import (
    TOO_LARGE,
    TOO_SMALL,
    UnknownIds,
    id_text,
    is_header,
    parse_number,
    parse_weight,
    report_header,
    split_tabs,
)
from tacit.data.files import FilePath, read_lines
from tacit.data.formats.registry import has_certain_start, is_table, table_of
from tacit.data.formats.roles import CLICK_NAMES, find_columns, listed
from tacit.data.formats.source import ReadOptions, Record, Table, open_source
from tacit.data.jsonlines import kind_of, parse_object

WANTED = "query<TAB>document, or these and <TAB>count"
OPTIONAL = ("count", "clicked", "session", "position")  # columns of a table
CLICKED = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False, "none": False}
LEAST_RELEVANCE = 0.25  # minimum for a training pair, relative to the best document of the query


class Session(NamedTuple):
    """One list of results shown to users, and their clicks.

    Parameters
    ----------
    query : str
        Query.
    shown : tuple of str
        Documents in the order shown.
    clicked : frozenset of str
        Clicked documents.
    times : float
        Number of times this happened.
    line : int
        Line of the log.
    """

    query: str
    shown: tuple[str, ...]
    clicked: frozenset[str]
    times: float
    line: int


@dataclass(frozen=True)
class ClickLog:
    """Clicks on documents.

    Parameters
    ----------
    sessions : sequence of Session
        Documents shown and clicked; for counts without positions, one session for each line.
    name : str, default="clicks"
        Source, for messages.
    ordered : bool, default=True
        Whether sessions contain the shown documents, in order.

    Examples
    --------
    >>> shown = ("a", "b", "c")
    >>> log = ClickLog([Session("q", shown, frozenset("c"), 90.0, 1), Session("q", shown, frozenset("a"), 10.0, 2)])
    >>> found = log.estimates().preferences()
    >>> list(zip(found.better, found.worse, found.weights.round(1).tolist()))
    [('a', 'b', 1.0), ('c', 'a', 1.0), ('c', 'b', 1.0)]
    """

    sessions: Sequence[Session]
    name: str = "clicks"
    ordered: bool = True

    def __post_init__(self) -> None:
        for session in check_list("sessions", self.sessions, "sessions"):
            check_kind("sessions", session, Session, "sessions")

    def estimates(self, *, position_one: bool = False) -> ClickEstimates:
        """Return the estimated relevance of the shown documents (see `click_model`).

        With `position_one`, only clicks on first results count, as counts without positions.
        """
        by_count = position_one or not self.ordered
        counts = self._counted_clicks() if by_count else {}
        if not (counts if by_count else any(session.clicked for session in self.sessions)):
            where = " on the first result" if position_one else ""
            raise DataError(f"no click{where} in {plural(len(self.sessions), 'session')}", path=self.name)
        return estimate_counts(counts, self.name) if by_count else estimate_clicks(self.sessions, self.name)

    def _counted_clicks(self) -> dict[tuple[str, str], float]:
        """Return clicks on first results, by query and document."""
        counts: dict[tuple[str, str], float] = {}
        for session in self.sessions:
            for doc_id in session.clicked.intersection(session.shown[:1]):
                counts[session.query, doc_id] = counts.get((session.query, doc_id), 0.0) + session.times
        return counts

    def named_by(self, queries: Collection, *, texts: bool = False, skip_unknown: bool = False) -> ClickLog:
        """Return the log with the ids (or the texts) of `queries` instead of the ids or texts in the log."""
        row_of = {text.strip(): row for row, text in reversed(list(enumerate(queries.full_texts())))} | queries.row_of
        names = list(queries.full_texts()) if texts else queries.ids
        unknown, sessions = UnknownIds(self.name), []
        for session in self.sessions:
            if session.query in row_of:
                sessions.append(session._replace(query=names[row_of[session.query]]))
            else:
                unknown.add(session.line, "query", session.query)
        unknown.settle(len(sessions), skip=skip_unknown)
        return ClickLog(sessions, self.name, self.ordered)

    def pairs(
        self, docs: Collection, *, position_one: bool = False, skip_unknown: bool = False
    ) -> tuple[Collection, ClickedLinks]:
        """Return distinct queries and their clicked documents, with the other shown documents, for training.

        The weight of a pair is its relevance by the click model, relative to the best document of the query; pairs
        below LEAST_RELEVANCE are dropped. With `position_one`, and without positions, the weight is the number of
        clicks.
        """
        found = self.estimates(position_one=position_one)
        names = zip(found.queries, found.docs, strict=True)
        by_count = position_one or not self.ordered
        counted = dict(zip(names, found.clicks.tolist(), strict=True)) if by_count else _relative(found)
        unknown, counts = UnknownIds(self.name), dict[tuple[int, int], float]()
        row_of: dict[str, int] = {}
        line_of = {(session.query, doc_id): session.line for session in reversed(self.sessions)
                   for doc_id in session.shown}  # fmt: skip
        for (query, doc_id), weight in counted.items():
            doc = docs.row_of.get(doc_id, -1)
            if doc < 0:
                unknown.add(line_of[query, doc_id], "document", doc_id)
            else:
                counts[row_of.setdefault(query, len(row_of)), doc] = weight
        unknown.settle(len(counts), skip=skip_unknown)
        if not counts:
            sessions = plural(len(self.sessions), "session")
            raise DataError(f"too few clicks in {sessions} to learn from, want more sessions", path=self.name)
        texts = list(row_of)
        queries = Collection([f"q{row}" for row in range(len(texts))], [""] * len(texts), texts)
        rows, weights = np.array(list(counts), np.int64), np.array(list(counts.values()), np.float32)
        shown = _shown(found, row_of, docs, ordered=not by_count)
        return queries, ClickedLinks(rows[:, 0], rows[:, 1], len(texts), len(docs), weights, shown=shown)


def _relative(found: ClickEstimates) -> dict[tuple[str, str], float]:
    """Return the relevance of clicked documents relative to the best document of the query, if it is large enough."""
    best: dict[str, float] = {}
    for query, value in zip(found.queries, found.relevance.tolist(), strict=True):
        best[query] = max(best.get(query, 0.0), value)
    clicked = zip(found.queries, found.docs, found.relevance.tolist(), found.clicks.tolist(), strict=True)
    weights = {(query, doc): value / best[query] for query, doc, value, clicks in clicked if clicks}
    return {pair: weight for pair, weight in weights.items() if weight >= LEAST_RELEVANCE}


def _shown(found: ClickEstimates, row_of: dict[str, int], docs: Collection, ordered: bool) -> Shown:
    """Return the estimates of some queries by rows, without documents that are not in the collection."""
    names = zip(found.queries, found.docs, strict=True)
    pairs = [(row_of.get(query, -1), docs.row_of.get(doc, -1)) for query, doc in names]
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    kept = (rows >= 0).all(axis=1)
    return Shown(
        queries=rows[kept, 0],
        items=rows[kept, 1],
        clicks=found.clicks[kept],
        expected=found.expected[kept],
        log_prior=found.log_prior[kept],
        slope=found.slope,
        strength=found.strength,
        ordered=ordered,
    )


@checked
def read_click_log(path: FilePath, options: ReadOptions | None = None) -> ClickLog:
    """Read a click log: sessions, or counts without positions.

    Parameters
    ----------
    path : path
        Plain or compressed file; `-` is standard input.
    options : ReadOptions or None, default=None
        Encoding of the file, and table of an SQLite database.

    Returns
    -------
    ClickLog

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "log.jsonl")
    ...     _ = path.write_text('{"query": "q", "shown": ["a", "b"], "clicked": ["b"]}')
    ...     read_click_log(path).sessions[0].clicked
    frozenset({'b'})
    """
    source = open_source(path, options)
    place = source.place
    if has_certain_start(source) or (is_table(source, CLICK_NAMES, OPTIONAL) and not _is_lines(source.start)):
        return log_of_table(table_of(source))
    lines = [*read_lines(path, source.chunks)]
    filled = [(number, line) for number, line in lines if line and not line.isspace()]
    if not filled:
        raise DataError(
            'has no clicks, want {"query": …, "shown": […], "clicked": […]} or query<TAB>document[<TAB>count]',
            path=place,
        )
    ordered = filled[0][1].lstrip().startswith("{")
    if not ordered and is_header(split_tabs(filled[0][1], WANTED, (2, 3), place, filled[0][0])):
        report_header(filled[0][1].split("\t"), place, filled[0][0])
        filled = filled[1:]
    parse = _session if ordered else _counted
    return ClickLog([parse(line, place, number) for number, line in filled], place, ordered)


def _is_lines(start: bytes) -> bool:
    """Return whether a file has sessions in lines of JSON, or `query<TAB>document` without further columns."""
    head = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = head.partition(b"\n")[0]
    is_plain = b"\t" in first and not first.startswith((b"{", b"["))
    return (first.startswith(b"{") and b'"shown"' in first) or (is_plain and first.count(b"\t") < 2)


def log_of_table(table: Table) -> ClickLog:
    """Return sessions from a table of them or of shown documents, else counts without positions."""
    records = [*table.records]
    if not records:
        raise DataError("has no clicks, want columns of queries and documents", path=table.place)
    if "shown" in records[0].fields:
        return ClickLog([_session_of(fields, table.place, line) for line, fields, _ in records], table.place)
    columns = table.columns or tuple(records[0].fields)
    try:
        names = find_columns(columns, CLICK_NAMES, OPTIONAL)
    except KeyError as missing:
        found = f"no column is a {missing.args[0]} (columns: {listed(columns)})"
        raise DataError(f"{found}, want query, document and count", path=table.place) from None
    if names["session"] and names["clicked"]:
        return ClickLog(_sessions(records, names, table.place), table.place)
    rows = (_counted_row(fields, names, table.place, line) for line, fields, _ in records)
    return ClickLog([session for session in rows if session is not None], table.place, ordered=False)


def _sessions(records: Sequence[Record], names: Mapping[str, str], place: str) -> list[Session]:
    """Return the rows of shown documents by session and query, in the order of their positions."""
    rows: dict[tuple[str, str], list[tuple[float, str, bool, int]]] = {}
    for number, fields, _ in records:
        query, document = _names_of(fields, names, place, number)
        shown = rows.setdefault((str(fields.get(names["session"])), query), [])
        at = parse_number(str(fields.get(names["position"]))) if names["position"] else float(len(shown))
        if not math.isfinite(at):
            found = f"{names['position']} is {fields.get(names['position'])!r}, want a number"
            raise DataError(found, path=place, line=number)
        if any(document == other for _, other, _, _ in shown):
            raise DataError(f"{document!r} is shown twice in a session, want it once", path=place, line=number)
        shown.append((at, document, _is_clicked(fields, names, place, number), number))
    return [
        Session(
            query,
            tuple(document for _, document, _, _ in sorted(shown)),
            frozenset(document for _, document, clicked, _ in shown if clicked),
            1.0,
            shown[0][3],
        )
        for (_, query), shown in rows.items()
    ]


def _counted_row(fields: Mapping[str, Any], names: Mapping[str, str], place: str, number: int) -> Session | None:
    """Return a row of a table as a session that shows one document; None if it has no click."""
    query, document = _names_of(fields, names, place, number)
    given = fields.get(names["count"])
    if parse_number(str(given)) == 0 or (names["clicked"] and not _is_clicked(fields, names, place, number)):
        return None
    count = 1.0 if given is None or given == "" else parse_weight(str(given), place, number)
    return Session(query, (document,), frozenset([document]), count, number)


def _names_of(fields: Mapping[str, Any], names: Mapping[str, str], place: str, number: int) -> tuple[str, str]:
    """Return query and document of a row."""
    given = (fields.get(names[role]) for role in ("query", "document"))
    query, document = ("" if value is None else id_text(value).strip() for value in given)
    if not query or not document:
        raise DataError(f"the {'document' if query else 'query'} is empty", path=place, line=number)
    return query, document


def _is_clicked(fields: Mapping[str, Any], names: Mapping[str, str], place: str, number: int) -> bool:
    """Return whether a row counts as clicked."""
    value = fields.get(names["clicked"])
    is_clicked = CLICKED.get(str(value).strip().lower().removesuffix(".0"))
    if is_clicked is None:
        raise DataError(f"{names['clicked']} is {value!r}, want 1 or 0", path=place, line=number)
    return is_clicked


def _counted(line: str, place: str, number: int) -> Session:
    """Return a line of counts as a session that shows one document."""
    fields = split_tabs(line, WANTED, (2, 3), place, number)
    query, doc_id = fields[0].strip(), fields[1]
    if not query:
        raise DataError("the query is empty, want its text", path=place, line=number)
    count = parse_weight(fields[2], place, number) if len(fields) == 3 else 1.0
    return Session(query, (doc_id,), frozenset([doc_id]), count, number)


def _session(line: str, place: str, number: int) -> Session:
    return _session_of(parse_object(line, place, number), place, number)


def _session_of(fields: Mapping[str, Any], place: str, number: int) -> Session:
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


def _ids(fields: Mapping[str, Any], name: str, place: str, number: int) -> tuple[str, ...]:
    values = fields.get(name)
    if not isinstance(values, list):
        raise DataError(f"{name} is {kind_of(values)}, want a list of document ids", path=place, line=number)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise DataError(f"{name} contains {value!r}, want document ids", path=place, line=number)
    return tuple(map(str, values))


def _count(value: Any, place: str, number: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not TOO_SMALL < value < TOO_LARGE:
        raise DataError(f"count is {value!r}, want a number above 0", path=place, line=number)
    return float(value)
