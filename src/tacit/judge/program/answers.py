"""All responses of program judges, in the SQLite file of the judgments: a cache, and a log of failures.

The table is append-only. A response has the key of its question (judge with model and prompt, query and text) and the
number of its repetition. A failure has no grade and a reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from tacit.judge.database import connect, one_line, transaction
from tacit.judge.program.questions import Answer
from tacit.judge.records import utc_now

TABLE = """CREATE TABLE IF NOT EXISTS answer (
  number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, repetition INTEGER NOT NULL, judge TEXT NOT NULL,
  query TEXT NOT NULL, document TEXT NOT NULL, grade REAL, probabilities TEXT, reason TEXT, failure TEXT,
  time TEXT NOT NULL)"""
INDEX = "CREATE INDEX IF NOT EXISTS answer_key ON answer (key, repetition)"
KNOWN = "SELECT key, repetition, grade, failure FROM answer WHERE judge = ? ORDER BY number"


class Known(NamedTuple):
    """An earlier response: its grade, or the reason why there is none."""

    grade: float | None
    failure: str | None


class AnswerTable:
    """The responses in one store.

    Parameters
    ----------
    path : str or Path
        File of the judgment store, which must exist.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._database = connect(self.path, create=False)
        with one_line(self.path):
            self._database.execute(TABLE)
            self._database.execute(INDEX)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def known(self, judge: str) -> dict[tuple[str, int], Known]:
        """Return the last response to each question and repetition."""
        with one_line(self.path):
            rows = self._database.execute(KNOWN, (judge,)).fetchall()
        return {(key, repetition): Known(grade, failure) for key, repetition, grade, failure in rows}

    def add(
        self, key: str, repetition: int, judge: str, pair: tuple[str, str], answer: Answer | None, failure: str | None
    ) -> None:
        """Append one response; it is on disk when this returns."""
        found = answer or Answer(0.0)
        chances = json.dumps(found.probabilities) if found.probabilities else None
        values = (key, repetition, judge, *pair, found.grade if answer else None, chances, found.reason, failure)
        with one_line(self.path), transaction(self._database):
            places = ", ".join("?" * (len(values) + 1))
            self._database.execute(f"INSERT INTO answer VALUES (NULL, {places})", (*values, utc_now()))
