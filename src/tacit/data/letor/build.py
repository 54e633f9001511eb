"""From texts with LETOR lines to `Lists`.

The compiled scanner reads each text (complete lines, about a megabyte) into its own table. The tables are joined at the
end, so memory is needed for the result and one text. If the scanner rejects a line, `line_problem` reads it again and
returns the reason; it may be slow and should be simple.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from tacit.core import DataError, Lists
from tacit.data.letor import scan

# Rows are dense in memory and may be sparse in the file. The limit on cells is a constant plus a number per byte of the
# file; a file above it has a wrong index, or is too sparse for a dense table.
FREE_CELLS = 1 << 24
CELLS_PER_BYTE = 32
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
INDEX = re.compile(rb"\d+")
BLANKS = b" \t\r"
LONGEST_SHOWN = 40


class ListsBuilder:
    """Collects lists from texts; `place` names the file in errors.

    With `n_features` None, the largest index found is the number of features, limited by `most`.

    >>> builder = ListsBuilder("my.txt", None, most=1000)
    >>> builder.add(1, b"2 qid:7 1:0.5 3:NULL #docid = a\\n-1 qid:7 2:1\\n")
    >>> lists = builder.finish()
    >>> lists.X.tolist(), lists.y.tolist(), lists.doc_ids
    ([[0.5, 0.0, nan], [0.0, 1.0, 0.0]], [2.0, nan], ['a', ''])
    """

    def __init__(self, place: str, n_features: int | None, most: int) -> None:
        self.place, self.most = place, most
        self.width = n_features or 0
        self.n_rows, self.n_bytes = 0, 0
        self.tables: list[np.ndarray] = []
        self.grades: list[np.ndarray] = []
        self.starts: list[int] = []
        self.line_of: dict[str, int] = {}  # first line of each query, in order
        self.last_query: str | None = None
        self.doc_ids: list[str] = []
        self.comments: list[str] = []

    def add(self, first_line: int, text: bytes) -> None:
        """Read complete lines, the first with the given number; raise at the first invalid line."""
        text = text if text.endswith(b"\n") else text + b"\n"
        self.n_bytes += len(text)
        piece = _Scan(text, first_line, self.width)
        piece.features = self._table(piece.n_lines, self.width)
        while (stopped_by := piece.run(self.most)) in (scan.TOO_NARROW, scan.TOO_SHORT):
            piece.features = self._larger_table(piece)
        problems = list(piece.settle_hard_numbers(self.most))
        if stopped_by == scan.BAD_LINE:
            line, start = int(piece.state[scan.LINE]), int(piece.state[scan.AT])
            problems.append((line, line_problem(text[start : text.index(b"\n", start)], self.most)))
        try:
            problems.extend(self._keep(piece))
        except UnicodeDecodeError:
            problems.append(_first_not_utf8(text, first_line))
        if problems:
            line, problem = min(problems)
            raise DataError(problem, path=self.place, line=line)

    def finish(self) -> Lists:
        """Return the lists of all texts; raise for a file without rows."""
        if not self.n_rows:
            raise DataError("has no rows, want lines of the form 'grade qid:ID index:value ...'", path=self.place)
        return Lists(
            X=self._joined_tables(),
            y=np.concatenate(self.grades),
            starts=np.array([*self.starts, self.n_rows], np.int64),
            query_ids=list(self.line_of),
            doc_ids=self.doc_ids,
            comments=self.comments if any(self.comments) else (),
        )

    def _table(self, n_lines: int, width: int) -> np.ndarray:
        """Return zeros for the rows of a text, up to the limit on cells. Untouched zeros use no memory."""
        return np.zeros((max(0, min(n_lines, self._rows_allowed(width))), width))

    def _rows_allowed(self, width: int) -> int:
        return (FREE_CELLS + CELLS_PER_BYTE * self.n_bytes) // max(width, 1) - self.n_rows

    def _larger_table(self, piece: _Scan) -> np.ndarray:
        """Return a larger table with the rows so far and space for more."""
        n_done, needed = int(piece.state[scan.ROW]), int(piece.state[scan.WIDTH])
        if n_done >= self._rows_allowed(needed):
            n_rows = self.n_rows + n_done + 1
            problem = f"{n_rows} rows by {needed} features are too sparse for a dense table"
            wanted = f"want at most {CELLS_PER_BYTE} cells for each byte of the file; number the features without gaps"
            raise DataError(f"{problem}, {wanted}", path=self.place, line=int(piece.state[scan.LINE]))
        old = piece.features
        # The first row usually has all features. Later rows may add features step by step, and each step is a copy.
        width = needed if n_done == 0 else min(max(needed, old.shape[1] * 3 // 2), self.most)
        table = np.zeros((min(piece.n_lines, self._rows_allowed(needed)), width))
        table[:n_done, : old.shape[1]] = old[:n_done]
        return table

    def _keep(self, piece: _Scan) -> Iterator[tuple[int, str]]:
        """Keep scanned rows; yield (line, problem) for queries that occur again."""
        n_rows = int(piece.state[scan.ROW])
        self.doc_ids += piece.names(piece.ids, scan.IDS_END)
        self.comments += piece.names(piece.comments, scan.COMMENTS_END)
        queries = piece.names(piece.queries, scan.QUERIES_END)
        for query_id, (row, line) in zip(queries, piece.list_places[: len(queries)].tolist(), strict=True):
            if query_id == self.last_query:  # the list continues from the previous text
                continue
            first = self.line_of.setdefault(query_id, line)
            if first != line:
                again = f"query {query_id!r} occurs again after other queries; its rows began in line {first}"
                yield line, f"{again}; want the rows of a query together"
            self.starts.append(self.n_rows + row)
            self.last_query = query_id
        self.tables.append(piece.features[:n_rows])
        self.grades.append(piece.grades[:n_rows])
        self.width = max(self.width, int(piece.state[scan.WIDTH]))
        self.n_rows += n_rows

    def _joined_tables(self) -> np.ndarray:
        if len(self.tables) == 1:
            return np.ascontiguousarray(self.tables[0][:, : self.width])
        X, end = np.zeros((self.n_rows, self.width)), self.n_rows
        while self.tables:  # from the end, so that each table is freed after it is copied
            table = self.tables.pop()
            n_columns = min(self.width, table.shape[1])
            X[end - len(table) : end, :n_columns] = table[:, :n_columns]
            end -= len(table)
        return X


class _Scan:
    """One text, the scanner's output for it, and its position."""

    def __init__(self, text: bytes, first_line: int, width: int) -> None:
        self.text, self.first_line = text, first_line
        self.bytes = np.frombuffer(text, np.uint8)
        self.n_lines = int(np.count_nonzero(self.bytes == ord("\n")))  # four times as fast as text.count
        self.features = np.zeros((0, width))
        self.grades = np.empty(self.n_lines)
        self.hard = np.empty((len(text) // 4, 4), np.int64)
        self.list_places = np.empty((self.n_lines, 2), np.int64)
        self.queries, self.ids, self.comments = (np.empty(len(text), np.uint8) for _ in range(3))
        self.state = np.zeros(scan.N_STATE, np.int64)
        self.state[scan.LINE], self.state[scan.WIDTH] = first_line, width

    def run(self, most: int) -> int:
        """Continue the scan; return why it stopped."""
        names = self.queries, self.list_places, self.ids, self.comments
        return int(scan.scan_lines(self.bytes, most, self.features, self.grades, self.hard, *names, self.state))

    def names(self, gathered: np.ndarray, end: int) -> list[str]:
        """Return the collected names as text."""
        return gathered[: self.state[end]].tobytes().decode("utf-8").split("\n")[:-1]

    def settle_hard_numbers(self, most: int) -> Iterator[tuple[int, str]]:
        """Parse the numbers that the scanner left with float(); yield (line, problem) for invalid ones."""
        for row, column, start, stop in self.hard[: self.state[scan.N_HARD]].tolist():
            value = float(self.text[start:stop])
            if column >= 0:
                self.features[row, column] = value
            else:
                self.grades[row] = np.nan if value == -1.0 else value
            if not math.isfinite(value) or (column < 0 and value < 0 and value != -1.0):
                line_start, line_stop = self.text.rfind(b"\n", 0, start) + 1, self.text.index(b"\n", start)
                number = self.first_line + self.text.count(b"\n", 0, start)
                yield number, line_problem(self.text[line_start:line_stop], most)


def _first_not_utf8(text: bytes, first_line: int) -> tuple[int, str]:
    for number, line in enumerate(text.split(b"\n"), first_line):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            if is_row(line):
                return number, f"byte 0x{line[error.start]:02x} is not UTF-8, want UTF-8 text"
    raise AssertionError("no row is wrong")


def line_problem(line: bytes, most: int) -> str:
    """Return the reason why a line is not a row with indices of at most `most`.

    >>> line_problem(b"2 qid:7 1:0.5 1:0.7", 46)
    "feature index is '1' after 1, want ascending indices"
    """
    body = line.partition(b"#")[0].strip(BLANKS)
    grade, *fields = re.split(rb"[ \t\r]+", body)
    value = _number(grade)
    if not (value >= 0 or value == -1):
        return f"grade is {shown(grade)}, want a number >= 0, or -1 for unjudged"
    if not fields or not fields[0].startswith(b"qid:"):
        found = f"{shown(fields[0])} follows the grade" if fields else "the row has no query"
        return f"{found}, want 'grade qid:ID index:value ...'"
    if fields[0] == b"qid:":
        return "qid is empty, want qid:ID"
    return _feature_problem(fields[1:], most) or "the row is not of the form 'grade qid:ID index:value ...'"


def is_row(line: bytes) -> bool:
    """Return whether the line contains more than spaces and a comment."""
    return not line.strip(BLANKS).startswith(b"#") and bool(line.strip(BLANKS))


def shown(field: bytes) -> str:
    """Return the field as shown in messages: quoted, on one line, not too long."""
    text = field.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "...")


def _number(field: bytes) -> float:
    """Return the number in a field, NaN if it is invalid or too large for float64."""
    value = float(field) if NUMBER.fullmatch(field) else math.nan
    return value if math.isfinite(value) else math.nan


def _feature_problem(fields: list[bytes], most: int) -> str | None:
    last = 0
    for field in fields:
        index, colon, value = field.partition(b":")
        if not colon:
            return f"field {shown(field)} has no colon, want index:value"
        if not INDEX.fullmatch(index) or not index.strip(b"0"):
            return f"feature index is {shown(index)}, want a whole number >= 1"
        if len(index.lstrip(b"0")) > len(str(most)) or int(index) > most:
            return f"feature index is {shown(index)}, want at most {most}"
        if int(index) <= last:
            return f"feature index is {shown(index)} after {last}, want ascending indices"
        if value != b"NULL" and math.isnan(_number(value)):
            return f"value of feature {int(index)} is {shown(value)}, want a finite number or NULL"
        last = int(index)
    return None
