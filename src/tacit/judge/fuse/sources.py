"""Reading of legs: TREC runs, a table with one column for each leg, or data frames.

A table has a column of queries, a column of documents, and one column of scores for each leg. An empty cell, NaN or
null means that the leg did not return the document. Rows with equal scores are ranked in the order of the table.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import DataError, MissingExtraError, Run, TacitError, UsageError, check_kind, check_list, checked
from tacit.data import as_run, read_lines, read_run
from tacit.data.columns import parse_number
from tacit.data.files import display_name, split_suffix
from tacit.judge.fuse.legs import check_names

QUERY_COLUMNS = ("query", "query_id", "query-id", "qid")
DOCUMENT_COLUMNS = ("document", "document_id", "doc", "doc_id", "docid", "docno", "corpus-id")
TABLES = (".csv", ".tsv", ".parquet")
EMPTY = ("", "nan", "null", "none", "na")


@checked
def read_legs(paths: Sequence[str]) -> dict[str, Run]:
    """Read runs by name from TREC run files, or from one table; the name of a run is the stem of its file."""
    tables = [path for path in paths if is_table(path)]
    if tables and len(paths) > 1:
        raise UsageError(f"{tables[0]} is a table; give it alone, with the scores of all legs")
    if tables:
        return read_table(tables[0])
    check_names([run_name(path) for path in paths])
    return {run_name(path): read_run(path) for path in paths}


def as_runs(given: Any) -> dict[str, Run]:
    """Return runs by name from paths, runs, a mapping to forms that `data.as_run` takes, or one table.

    A table is a frame of pandas or polars, or a dict of columns.
    """
    if isinstance(given, str | Path):
        return read_legs([str(given)])
    if hasattr(given, "columns") and hasattr(given, "__getitem__"):
        return table_runs({str(name): list(given[name]) for name in given.columns}, "table")
    if isinstance(given, Mapping):
        is_run = (isinstance(part, Run | str | Path | Mapping) or hasattr(part, "columns") for part in given.values())
        if not all(is_run):
            for name, column in given.items():
                check_kind(f"runs[{name!r}]", column, Iterable, "a run, its path, or a column of a table")
            return table_runs({str(name): list(column) for name, column in given.items()}, "table")
        check_names([str(name) for name in given])
        return {str(name): as_run(part, str(name)) for name, part in given.items()}
    parts = check_list("runs", given, "paths, Run objects, a mapping of these, or a table")
    if all(isinstance(part, str | Path) for part in parts):
        return read_legs([str(part) for part in parts])
    if not all(isinstance(part, Run) for part in parts):
        raise UsageError("runs must be paths, Run objects, a mapping of these, or a table")
    check_names([part.name for part in parts])
    return {part.name: part for part in parts}


def is_table(path: str) -> bool:
    """Return whether the file name is the name of a table."""
    return split_suffix(path)[0].lower() in TABLES


def run_name(path: str) -> str:
    """Return the stem of a file, without compression suffix.

    >>> run_name("runs/bm25.run.gz"), run_name("dense.txt"), run_name("plain")
    ('bm25', 'dense', 'plain')
    """
    compression = split_suffix(path)[1]
    return Path(Path(path).name.removesuffix(compression)).stem


def read_table(path: str) -> dict[str, Run]:
    """Read runs by name from a CSV, TSV or parquet file."""
    if split_suffix(path)[0].lower() == ".parquet":
        return table_runs(_parquet_columns(path), path)
    place, delimiter = display_name(path), "\t" if split_suffix(path)[0].lower() == ".tsv" else ","
    rows = csv.reader((line for _, line in read_lines(path)), delimiter=delimiter)
    header = next(rows, None)
    if not header:
        raise DataError("is empty, want a header: query,document and one column for each leg", path=place)
    columns: dict[str, list[Any]] = {name.strip(): [] for name in header}
    if len(columns) < len(header):
        raise DataError(f"a column is in the header twice: {', '.join(header)}", path=place, line=1)
    for number, row in enumerate(rows, 2):
        if row and len(row) != len(header):
            raise DataError(f"{len(row)} columns, want {len(header)} as in the header", path=place, line=number)
        for column, cell in zip(columns.values(), row, strict=False):
            column.append(cell)
    return table_runs(columns, place)


def table_runs(columns: Mapping[str, Sequence[Any]], place: str) -> dict[str, Run]:
    """Return runs by name from columns: queries, documents, and the scores of each leg.

    >>> columns = {"query": ["q", "q"], "document": ["a", "b"], "bm25": [2.5, None], "dense": [0.5, 0.75]}
    >>> {name: run.to_dict() for name, run in table_runs(columns, "table").items()}
    {'bm25': {'q': {'a': 2.5}}, 'dense': {'q': {'a': 0.5, 'b': 0.75}}}
    """
    query, document = (_column(columns, names, place) for names in (QUERY_COLUMNS, DOCUMENT_COLUMNS))
    legs = [name for name in columns if name not in (query, document)]
    check_names(legs)
    keys = list(zip(map(str, columns[query]), map(str, columns[document]), strict=True))
    if len(set(keys)) < len(keys):
        seen = set[tuple[str, str]]()
        row = next(row for row, key in enumerate(keys) if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DataError(f"row {row + 1}: query {keys[row][0]!r} has document {keys[row][1]!r} twice", path=place)
    return {name: _leg_run(name, keys, columns[name], place) for name in legs}


def _leg_run(name: str, keys: list[tuple[str, str]], scores: Iterable[Any], place: str) -> Run:
    nested = dict[str, dict[str, float]]()
    for row, (key, cell) in enumerate(zip(keys, scores, strict=True), 1):
        score = _score(cell)
        if score is None:
            continue
        if not math.isfinite(score):
            raise DataError(f"row {row}: {name} is {cell!r}, want a finite number or an empty cell", path=place)
        nested.setdefault(key[0], {})[key[1]] = score
    if not nested:
        raise DataError(f"column {name!r} has no score", path=place)
    run = Run.from_dict(nested, name)
    return Run(run.query_ids, run.doc_ids, run.query, run.doc, run.score, name, np.arange(len(run)))


def _score(cell: Any) -> float | None:
    """Return the number in a cell, None for an empty one, NaN for text."""
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in EMPTY):
        return None
    if isinstance(cell, str):
        found = parse_number(cell.strip())
        return found if not math.isnan(found) else math.inf
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return math.inf
    return None if math.isnan(number) else number


def _column(columns: Mapping[str, Sequence[Any]], names: Sequence[str], place: str) -> str:
    found = next((name for wanted in names for name in columns if name.lower() == wanted), None)
    if found is None:
        raise DataError(f"has no column {names[0]!r} (columns: {', '.join(columns)})", path=place)
    return found


def _parquet_columns(path: str) -> dict[str, list[Any]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(f"{path}: a parquet file", "pyarrow", "parquet") from None
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, ValueError) as error:
        raise TacitError(f"{path}: is not a parquet file: {error}") from None
    return {name: table[name].to_pylist() for name in table.column_names}
