"""Import of queries and judgments from pasted text or a file, with format detection and a preview.

Supported formats are jsonl, tables with a header (comma, semicolon or tab), TREC qrels, `id<TAB>text`, and plain lines
with one query each. Lines without new information are counted; invalid lines are reported and skipped.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import islice
from typing import Any, NamedTuple

from tacit.core import Collection, DataError, TacitError
from tacit.data.jsonlines import parse_object
from tacit.judge import Judgment, JudgmentStore
from tacit.judge.records import check_name, check_text, check_topic, utc_now

NAMES = {  # of columns, by content
    "id": ("query_id", "query-id", "qid", "id", "_id"),
    "text": ("query", "text", "query_text", "title"),
    "topic": ("topic", "group"),
    "document": ("document", "document_id", "doc", "doc_id", "docid", "corpus-id", "pid"),
    "grade": ("grade", "score", "relevance", "rel", "rating", "label"),
    "judge": ("judge", "annotator", "rater"),
}
LONGEST_TEXT = {"id": 1_000, "text": 20_000, "topic": 200, "document": 1_000, "judge": 100}  # as in other requests
MAX_LINES = 100_000
N_PROBLEMS, N_SHOWN = 5, 10
MAX_CELL = 131_072  # characters; the default limit of the csv module, which other readers raise
_QRELS = re.compile(r"\S+\s+\S+\s+\S+\s+-?\d+")


class Row(NamedTuple):
    """One line: a query, a judgment, or both. `number` is the line number."""

    number: int
    id: str = ""
    text: str = ""
    topic: str | None = None
    document: str = ""
    grade: float | None = None
    judge: str = ""


class Found(NamedTuple):
    """Contents of a text: its format, the rows, and invalid lines."""

    form: str
    rows: list[Row]
    problems: list[str]


def read_text(text: str) -> Found:
    """Read the rows of a text.

    >>> read_text("query,topic\\nwhat is: a colon,signs\\n").rows[0][:4]
    (2, '', 'what is: a colon', 'signs')
    >>> read_text("q1 0 d7 2").rows[0]
    Row(number=1, id='q1', text='', topic=None, document='d7', grade=2.0, judge='')
    """
    numbered = enumerate(StringIO(text.lstrip("\ufeff"), newline=None), start=1)
    lines = list(islice(((number, line.rstrip("\n")) for number, line in numbered if line.strip()), MAX_LINES + 1))
    if not lines:
        raise TacitError("there is nothing to import, want one query on each line")
    if len(lines) > MAX_LINES:
        raise TacitError(f"the text has more than {MAX_LINES:,} lines, want at most that many; import it in parts")
    form, rows = _rows(lines)
    found, problems = list[Row](), list[str]()
    for row in rows:
        problem = row if isinstance(row, str) else _problem(row)
        if problem:
            problems.append(problem)
        elif isinstance(row, Row):
            found.append(row)
    return Found(form, found, problems)


def _problem(row: Row) -> str:
    """Return why a row cannot be stored; empty if it can."""
    for name, most in LONGEST_TEXT.items():
        if len(getattr(row, name) or "") > most:
            return f"line {row.number}: {name} of {len(getattr(row, name))} characters, want at most {most}"
    if row.grade is not None and not 0 <= row.grade <= 1000:
        return f"line {row.number}: the grade is {row.grade:g}, want 0 to 1000"
    try:
        for name in ("id", "document", "judge"):
            if getattr(row, name):
                check_name(name, getattr(row, name))
        check_topic(row.topic)
        if row.text:
            check_text(row.text)
    except TacitError as error:
        return f"line {row.number}: {error}"
    return ""


def _rows(lines: list[tuple[int, str]]) -> tuple[str, Iterator[Row | str]]:
    first = lines[0][1].strip()
    if first.startswith("{"):
        return "jsonl", (_json_row(*line) for line in lines)
    for sign, name in (("\t", "TSV"), (",", "CSV"), (";", "CSV")):
        heads = [_column(cell) for cell in _cells(first, sign)]
        known = [head for head in heads if head]
        if len(known) == len(heads) and len(set(known)) == len(known) and {"id", "text"} & set(known):
            return f"{name} with a header", _table(lines[1:], heads, sign)
    if all(_QRELS.fullmatch(line.strip()) for _, line in lines):
        cells = ((number, line.split()) for number, line in lines)
        return "TREC qrels", (Row(n, c[0], document=c[2], grade=max(0.0, float(c[3]))) for n, c in cells)
    if all(line.count("\t") == 1 for _, line in lines):
        pairs = ((number, line.strip().split("\t")) for number, line in lines)
        return "id and text", (Row(n, c[0].strip(), c[1].strip()) if len(c) == 2 else _wrong(n) for n, c in pairs)
    return "one query on each line", (Row(number, text=line.strip()) for number, line in lines)


def _cells(line: str, sign: str) -> list[str]:
    """Return the cells of a line; empty if a cell is too long."""
    try:
        cells = next(csv.reader([line], delimiter=sign))
    except csv.Error:
        return []
    return [] if any(len(cell) > MAX_CELL for cell in cells) else cells


def _column(name: str) -> str:
    """Return the content of a column by its name; empty if the name is unknown."""
    wanted = name.strip().lower()
    return next((kind for kind, names in NAMES.items() if wanted in names), "")


def _table(lines: list[tuple[int, str]], heads: list[str], sign: str) -> Iterator[Row | str]:
    for number, line in lines:
        cells = _cells(line, sign)
        if not cells:
            yield f"line {number}: a cell of more than {MAX_CELL} characters"
        elif len(cells) != len(heads):
            yield f"line {number}: {len(cells)} columns, want {len(heads)}"
        else:
            yield _row(number, dict(zip(heads, cells, strict=True)))


def _json_row(number: int, line: str) -> Row | str:
    try:
        found = parse_object(line, "", number)
    except DataError as error:
        return f"line {number}: {error.problem}"
    return _row(number, {_column(name): str(value) for name, value in found.items() if value is not None})


def _row(number: int, cells: Mapping[str, str]) -> Row | str:
    given = {name: cells.get(name, "").strip() for name in NAMES}
    if not (given["id"] or given["text"]):
        return f"line {number}: no query"
    grade = None
    if given["document"]:
        try:
            grade = float(given["grade"]) if given["grade"] else None
        except ValueError:
            return f"line {number}: the grade is {given['grade'][:20]!r}, want a number"
    return Row(number, given["id"], given["text"], given["topic"] or None, given["document"], grade, given["judge"])


def _wrong(number: int) -> str:
    return f"line {number}: want an id, a tab and a text"


def import_text(
    store: JudgmentStore,
    text: str,
    documents: Collection,
    *,
    judge: str,
    kind: str = "person",
    topic: str | None = None,
    keep: bool = False,
) -> dict[str, Any]:
    """Return what a text would add to a store, or with `keep` has added: counts, the first rows, and problems."""
    found = read_text(text)
    additions = _Additions(store, documents, judge, kind, topic)
    for row in found.rows:
        additions.add(row)
    if keep:
        additions.keep()
    problems = found.problems + additions.problems
    left = len(problems) - N_PROBLEMS
    return {
        "form": found.form,
        "queries": additions.counts,
        "judgments": additions.graded,
        "rows": [row._asdict() for row in found.rows[:N_SHOWN]],
        "problems": problems[:N_PROBLEMS] + ([f"and {left} more"] if left > 0 else []),
        "stored": keep,
    }


class _Additions:
    """Queries and judgments that rows would add to a store, the numbers of both, and the rows that are refused."""

    def __init__(self, store: JudgmentStore, documents: Collection, judge: str, kind: str, topic: str | None) -> None:
        self.store, self.documents, self.judge, self.kind, self.topic = store, documents, judge, kind, topic
        known = store.queries()
        self.texts = dict(zip(known.ids, known.texts, strict=True))
        self.judged = {(record.query, record.document, record.judge): record.grade for record in store.current()}
        self.now, self.kinds = utc_now(), {known.name: known.kind for known in store.judges()}
        self.queries: dict[str, tuple[str, str | None]] = {}
        self.records: dict[tuple[str, str, str], Judgment] = {}
        self.counts = {"new": 0, "known": 0, "repeated": 0}
        self.graded = {"new": 0, "known": 0, "unknown_documents": 0}
        self.problems = list[str]()

    def add(self, row: Row) -> None:
        """Count a row, and keep what is new in it."""
        name = row.id or self.store.query_id(row.text)
        if row.id and row.text and self.texts.get(name) and self.texts[name] != row.text:
            self.problems.append(f"line {row.number}: query {name!r} already has another text")
            return
        if not (row.text or row.document or name in self.texts):
            return
        if name in self.queries:
            self.counts["repeated"] += not row.document
        else:
            self.counts["known" if name in self.texts else "new"] += 1
            self.queries[name] = row.text, row.topic or self.topic
        if row.document:
            self._add_grade(name, row)

    def _add_grade(self, name: str, row: Row) -> None:
        if row.document not in self.documents.row_of:
            self.graded["unknown_documents"] += 1
            return
        key = name, row.document, row.judge or self.judge
        kind = self.kinds.get(key[2], self.kind)
        if kind != self.kind:
            self.problems.append(f"line {row.number}: judge {key[2]!r} is a {kind}, want the name of a {self.kind}")
        elif key in self.records or (key in self.judged and self.judged[key] == row.grade):
            self.graded["known"] += 1
        else:
            self.graded["new"] += 1
            self.records[key] = Judgment(name, row.document, row.grade, key[2], self.now, kind=self.kind)

    def keep(self) -> None:
        """Write all of it into the store."""
        ids = list(self.queries)
        texts = [self.queries[name][0] or self.texts.get(name, "") for name in ids]
        self.store.add_queries(Collection(ids, [""] * len(ids), texts), [self.queries[name][1] for name in ids])
        self.store.import_records(self.records.values())
