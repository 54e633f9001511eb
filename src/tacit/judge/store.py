"""The judgment store: an append-only log of who judged which document for which query, in one SQLite file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from threading import RLock
from types import NoneType, TracebackType
from typing import Any, NamedTuple, Self

from tacit.core import Collection, StoreError, TacitError, check_choice, check_number, check_path, checked
from tacit.judge.database import DAMAGED, connect, damage_in_one_line, one_line, transaction
from tacit.judge.records import (
    DECISION,
    FIELDS,
    KINDS,
    Judgment,
    as_utc,
    check_name,
    check_text,
    check_topic,
    just_after,
    typed_query_id,
    typed_text,
    utc_now,
)

BLOCK = 20_000  # rows read together
DIGITS = (16, 32, 64)  # digits of the ids of typed queries; more only if another query has the shorter id
COLUMNS = "query.id, document, grade, coalesce(judge, ''), time, text, coalesce(kind, 'person'), rank, model"
SELECT = (
    f"SELECT {COLUMNS}, probability, display, action FROM judgment JOIN query ON query.number = judgment.query "
    "LEFT JOIN judge ON judge.name = judgment.judge"
)

# The last record of each judge and pair, by time, with the pair's last known probability; ordered by the first record.
CURRENT = """
  SELECT query.id, last.document, grade, judge, time, text, kind, rank, model, chance.probability, display, action
  FROM (SELECT *, row_number() OVER (PARTITION BY judge, query, document ORDER BY time DESC, number DESC) AS age,
               min(number) OVER (PARTITION BY judge, query, document) AS first
        FROM judgment WHERE judge IS NOT NULL AND (?1 IS NULL OR judge = ?1)) AS last
  JOIN query ON query.number = last.query JOIN judge ON judge.name = last.judge
  LEFT JOIN (SELECT query, document, probability,
                    row_number() OVER (PARTITION BY query, document ORDER BY time DESC, number DESC) AS age
             FROM judgment WHERE probability IS NOT NULL) AS chance
       ON chance.query = last.query AND chance.document = last.document AND chance.age = 1
  WHERE last.age = 1 AND action = 'judged' ORDER BY first
"""

# Judgments that no later record of the same judge and pair replaces.
COUNTS = """
  SELECT judge, count(*) FROM judgment AS this WHERE judge IS NOT NULL AND action = 'judged' AND NOT EXISTS (
    SELECT 1 FROM judgment AS later INDEXED BY judgment_pair
    WHERE later.query = this.query AND later.document = this.document AND later.judge = this.judge
          AND later.time >= this.time AND (later.time > this.time OR later.number > this.number))
  GROUP BY judge
"""

# Pairs whose last record, from any judge, is a decision.
DECIDED = """
  SELECT query.id, this.document FROM judgment AS this JOIN query ON query.number = this.query
  WHERE display = ? AND action = 'judged' AND NOT EXISTS (
    SELECT 1 FROM judgment AS later INDEXED BY judgment_pair
    WHERE later.query = this.query AND later.document = this.document AND later.judge IS NOT NULL
          AND (later.time > this.time OR later.time = this.time AND later.number > this.number))
"""

# The last known rank of the pairs of one judge.
RANKS = """
  SELECT query.id, mine.document, ranked.rank FROM judgment AS mine
  JOIN judgment AS ranked ON ranked.query = mine.query AND ranked.document = mine.document AND ranked.rank IS NOT NULL
  JOIN query ON query.number = mine.query
  WHERE mine.judge = ? ORDER BY ranked.time, ranked.number
"""

# SQLite takes the other columns of a group from the row that has the maximum.
JUDGED = """
  SELECT query.id, document
  FROM (SELECT query, document, judge, action, max(time || printf('%020d', number))
        FROM judgment WHERE judge IS NOT NULL AND (?1 IS NULL OR judge = ?1) GROUP BY query, document, judge) AS last
  JOIN query ON query.number = last.query JOIN judge ON judge.name = last.judge
  WHERE action = 'judged' AND (?1 IS NOT NULL OR kind = 'person')
"""

# Valid types and values of one record, in the order of `FIELDS`; anything else is damage.
_TEXT, _MAYBE_TEXT, _MAYBE_NUMBER, _MAYBE_WHOLE = (str,), (str, NoneType), (float, NoneType), (int, NoneType)
ROW_TYPES = frozenset(
    product(
        *(_TEXT, _TEXT, _MAYBE_NUMBER, _TEXT, _TEXT, _MAYBE_TEXT, _TEXT),
        *(_MAYBE_WHOLE, _MAYBE_TEXT, _MAYBE_NUMBER, _MAYBE_TEXT, _TEXT),
    )
)


class Judge(NamedTuple):
    """One judge of a store: `kind` is person or program, `n_judgments` counts the current judgments."""

    name: str
    kind: str
    n_judgments: int


class JudgmentStore:
    """Judgments in one SQLite file, which is append-only.

    A changed judgment is a new record; `current` gives the last judgment of each judge and pair. Threads may share a
    store, and processes may open the same file. Methods that write return after the record is on disk.

    Parameters
    ----------
    path : str or Path
        The file; it is created if it does not exist.
    read_only : bool, default=False
        Open for reading only; the file must exist.
    create : bool, default=True
        Whether a missing file is created.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, JudgmentStore(f"{folder}/my.judgments") as store:
    ...     first = store.record("cats and dogs", "d7", 2, "ann", probability=0.5)
    ...     again = store.record("cats and dogs", "d7", 1, "ann")
    ...     [(j.query, j.grade) for j in store.current()], len(store)
    ([('cats-and-dogs~7301df9b7f9e2d81', 1.0)], 2)
    """

    def __init__(self, path: str | Path, *, read_only: bool = False, create: bool = True) -> None:
        self.path = Path(check_path(path))
        self._lock = RLock()
        self._database = connect(self.path, read_only=read_only, create=create)
        self._counts: tuple[int, dict[str, int]] | None = None

    def close(self) -> None:
        """Close the file; all records are already on disk."""
        with self._lock:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self._ask("SELECT count(*) FROM judgment")[0][0])

    def record(
        self,
        query: str,
        document: str,
        grade: float | None,
        judge: str,
        *,
        kind: str | None = None,
        rank: int | None = None,
        model: str | None = None,
        probability: float | None = None,
        display: str | None = None,
    ) -> Judgment:
        """Record one judgment, and return it when it is on disk.

        Parameters
        ----------
        query : str
            Id of a known query, or the text of any query.
        document : str
            Id of the document.
        grade : float or None
            Grade >= 0; None means "cannot judge".
        judge : str
            Name of the judge.
        kind : {"person", "program"} or None, default=None
            Kind of the judge; None: as recorded before, or person for a new judge.
        rank, model, probability, display
            Rank, model version, probability and display of the document; see `Judgment`.
        """
        shown = {"rank": rank, "model": model, "probability": probability, "display": display}
        with self._writing():
            return self._append(query, document, grade, judge, kind, action="judged", **shown)

    @checked
    def record_many(self, judgments: Iterable[Mapping[str, Any]]) -> list[Judgment]:
        """Record judgments, each with the arguments of `record` by name, in one transaction: all of them or none."""
        with self._writing():
            return [self._append(**({"kind": None, "action": "judged"} | dict(given))) for given in judgments]

    def withdraw(self, query: str, document: str, judge: str) -> Judgment:
        """Record that a judge withdraws the judgment of a pair, which is then unjudged by this judge."""
        with self._writing():
            return self._append(query, document, None, judge, None, action="withdrawn")

    @checked
    def import_records(self, records: Iterable[Judgment]) -> int:
        """Append records unchanged, in one transaction; records already in the store are skipped.

        Returns
        -------
        int
            Number of records appended.
        """
        known = set(self.history())
        with self._writing():
            n_new = 0
            for record in records:
                complete = self._complete(record)
                if complete not in known:
                    known.add(complete)
                    self._insert(complete)
                    n_new += 1
        return n_new

    @checked
    def add_queries(self, queries: Collection, topics: Sequence[str | None] | None = None) -> None:
        """Add queries under their ids; a known query must have the same text."""
        with self._writing():
            for row, (query_id, _, text) in enumerate(queries):
                self._query_number(query_id, text, None if topics is None else topics[row])

    @checked
    def change_query(self, query_id: str, text: str | None = None, topic: str | None = None) -> None:
        """Change the text or topic of a query; the text of a query with records is fixed, because they refer to it."""
        with self._writing():
            number, known, known_topic = self._known_query(query_id)
            if text is not None and text != known and self.n_records(query_id):
                n_records = self.n_records(query_id)
                raise TacitError(f"query {query_id!r} has {n_records} records about its text; add a new query instead")
            new_topic = known_topic if topic is None else check_topic(topic) or None
            values = (known if text is None else check_text(text), new_topic)
            self._database.execute("UPDATE query SET text = ?, topic = ? WHERE number = ?", (*values, number))

    @checked
    def delete_query(self, query_id: str) -> None:
        """Delete a query that has no records; records are never deleted."""
        with self._writing():
            number, n_records = self._known_query(query_id)[0], self.n_records(query_id)
            if n_records:
                raise TacitError(f"query {query_id!r} has {n_records} records, which are never deleted")
            self._database.execute("DELETE FROM query WHERE number = ?", (number,))

    @checked
    def n_records(self, query_id: str) -> int:
        """Return number of records of a query."""
        counted = "SELECT count(*) FROM judgment JOIN query ON query.number = judgment.query WHERE query.id = ?"
        return int(self._ask(counted, query_id)[0][0])

    def _known_query(self, query_id: str) -> tuple[int, str | None, str | None]:
        rows = self._ask_query(query_id)
        if not rows:
            raise TacitError(f"there is no query {query_id!r}, want the id of one in the store")
        number, text, topic = rows[0]
        return int(number), text, topic

    def queries(self) -> Collection:
        """Return all queries; the text is empty if unknown. Extra `topic`: their groups."""
        rows = self._ask("SELECT id, coalesce(text, ''), topic FROM query ORDER BY number")
        ids, texts, topics = zip(*rows, strict=True) if rows else ((), (), ())
        return Collection(list(ids), [""] * len(ids), list(texts), {"topic": list(topics)})

    def n_queries(self) -> int:
        """Return number of queries."""
        return int(self._ask("SELECT count(*) FROM query")[0][0])

    @checked
    def query_id(self, query: str) -> str:
        """Return the id of a query given by id or text: the first known query, else the id of a new text."""
        rows = self._ask("SELECT id FROM query WHERE id = ?", check_text(query))
        rows = rows or self._ask("SELECT id FROM query WHERE text IN (?, ?) ORDER BY number", query, typed_text(query))
        if rows:
            return str(rows[0][0])
        text = typed_text(query)
        free = (name for name in (typed_query_id(text, n) for n in DIGITS) if not self._ask_query(name))
        found = next(free, None)
        if found is None:
            raise StoreError(f"{self.path}: query {text!r} has the id of another query")
        return found

    def history(self) -> list[Judgment]:
        """Return every record, in the order in which they were appended."""
        return self._records(f"{SELECT} ORDER BY judgment.number")

    @checked
    def current(self, judge: str | None = None) -> list[Judgment]:
        """Return the last judgment of each judge and pair, by time; "cannot judge" included, withdrawn ones excluded.

        A missing probability is taken from the pair's last record that has one.
        """
        return self._records(CURRENT, judge)

    @checked
    def judged(self, judge: str | None = None) -> set[tuple[str, str]]:
        """Return pairs (query, document) currently judged by a judge, or by any person; "cannot judge" counts."""
        return set(self._ask(JUDGED, judge))

    def decided(self) -> set[tuple[str, str]]:
        """Return pairs (query, document) where a person decided between judges (`DECISION`), and no record followed."""
        return set(self._ask(DECIDED, DECISION))

    def has_decisions(self) -> bool:
        """Return whether any judgment was made with other judges' grades in sight (`DECISION`)."""
        return bool(self._ask("SELECT EXISTS (SELECT 1 FROM judgment WHERE display = ?)", DECISION)[0][0])

    def ranks(self, judge: str) -> dict[tuple[str, str], int]:
        """Return the rank of each pair that a judge judged, from any record that has one."""
        return {(query, document): int(rank) for query, document, rank in self._ask(RANKS, judge)}

    def kinds(self) -> dict[str, str]:
        """Return the kinds of the judges that have judgments, by name."""
        return {judge.name: judge.kind for judge in self.judges() if judge.n_judgments}

    def judges(self) -> list[Judge]:
        """Return the judges by name."""
        counts = self._judgment_counts()
        rows = self._ask("SELECT name, kind FROM judge ORDER BY name")
        return [Judge(name, kind, counts.get(name, 0)) for name, kind in rows]

    def _judgment_counts(self) -> dict[str, int]:
        """Return the number of current judgments by judge; recounted only after new records."""
        last = int(self._ask("SELECT coalesce(max(number), 0) FROM judgment")[0][0])
        if self._counts is None or self._counts[0] != last:
            self._counts = last, dict(self._ask(COUNTS))
        return self._counts[1]

    def record_draw(self, draws: Iterable[Judgment]) -> None:
        """Append records of the pairs drawn by a sampling design, in one transaction."""
        with self._writing():
            for draw in draws:
                self._insert(self._complete(draw))

    def _append(
        self, query: str, document: str, grade: float | None, judge: str, kind: str | None, **shown: Any
    ) -> Judgment:
        check_name("document id", document)
        if kind is not None:
            check_choice("kind of judge", kind, KINDS)
        grade = None if grade is None else float(check_number("grade", grade, low=0))
        query_id = self.query_id(query)
        self._query_number(query_id, None if self._ask_query(query_id) else typed_text(query))
        known = self._ask("SELECT kind FROM judge WHERE name = ?", check_name("judge", judge))
        kind = kind or (known[0][0] if known else "person")
        time = self._next_time(query_id, document, judge)
        record = self._complete(Judgment(query_id, document, grade, judge, time, kind=kind, **shown))
        self._insert(record)
        return record

    def _next_time(self, query_id: str, document: str, judge: str) -> str:
        """Return the current time, or just after the judge's last record of the pair if the clock was set back."""
        number = self._ask_query(query_id)[0][0]
        pair = "SELECT max(time) FROM judgment WHERE query = ? AND document = ? AND judge = ?"
        last, now = self._ask(pair, number, document, judge)[0][0], utc_now()
        with damage_in_one_line(self.path):
            return now if last is None or last < now else just_after(last)

    def _complete(self, record: Judgment) -> Judgment:
        """Return the record as the store returns it: time in UTC, text of its query."""
        number = self._query_number(record.query, record.text)
        text = self._ask("SELECT text FROM query WHERE number = ?", number)[0][0]
        return replace(record, time=as_utc(record.time), text=text)

    def _insert(self, record: Judgment) -> None:
        if record.judge:
            self._database.execute("INSERT OR IGNORE INTO judge VALUES (?, ?)", (record.judge, record.kind))
            ((kind,),) = self._ask("SELECT kind FROM judge WHERE name = ?", record.judge)
            if kind != record.kind:
                raise TacitError(
                    f"judge {record.judge!r} is a {kind} in this store, want another name for a {record.kind}"
                )
        values = (
            *(self._ask_query(record.query)[0][0], record.document, record.grade, record.judge or None, record.time),
            *(record.rank, record.model, record.probability, record.display, record.action),
        )
        self._database.execute(f"INSERT INTO judgment VALUES (NULL{', ?' * len(values)})", values)

    def _query_number(self, query_id: str, text: str | None, topic: str | None = None) -> int:
        """Return the row of a query, which is added if new; an unknown text or topic is filled in."""
        rows = self._ask_query(check_name("query id", query_id))
        check_topic(topic)
        if not rows:
            values = (query_id, check_text(text) if text else None, topic)
            return int(self._database.execute("INSERT INTO query VALUES (NULL, ?, ?, ?)", values).lastrowid or 0)
        number, known, known_topic = rows[0]
        if text and known and text != known:
            raise TacitError(f"query {query_id!r} has the text {known!r} in this store, found {text!r}")
        if (text and not known) or (topic is not None and topic != known_topic):
            values = (check_text(text) if text and not known else known, topic or known_topic, number)
            self._database.execute("UPDATE query SET text = ?, topic = ? WHERE number = ?", values)
        return int(number)

    def _ask_query(self, query_id: str) -> list[Any]:
        return self._ask("SELECT number, text, topic FROM query WHERE id = ?", query_id)

    def _records(self, question: str, *values: Any) -> list[Judgment]:
        rows = self._ask(question, *values)
        if any(tuple(map(type, row)) not in ROW_TYPES for row in rows):
            raise StoreError(f"{self.path}: {DAMAGED}")
        return [_stored(row) for row in rows]

    def _ask(self, question: str, *values: Any) -> list[Any]:
        with self._lock, one_line(self.path):
            return self._database.execute(question, values).fetchall()

    def _ask_in_blocks(self, question: str, *values: Any) -> Iterator[list[Any]]:
        """Yield the rows in blocks, so that a million rows are never in memory as tuples."""
        with self._lock, one_line(self.path):
            cursor = self._database.execute(question, values)
            while block := cursor.fetchmany(BLOCK):
                yield block

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock, one_line(self.path), transaction(self._database):
            yield


def _stored(row: tuple[Any, ...]) -> Judgment:
    """Return the record of a row, which was checked when it was recorded."""
    record = object.__new__(Judgment)
    record.__dict__.update(zip(FIELDS, row, strict=True))
    return record
