"""Preferences between two documents of a query.

Triples refer to rows of two collections, preferences to rows of feature lists; both files have lines
`query<TAB>better<TAB>worse`. The same preference may occur more than once, and two may contradict each other: every
line is one observation of a click or a judge.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core import Collection, DataError, Lists, TacitError, checked
from tacit.data.columns import UnknownIds, is_header, logger, parse_weight, report_header, split_tabs
from tacit.data.files import FilePath, display_name, read_lines


@checked
def read_triples(path: FilePath, queries: Collection, docs: Collection, *, skip_unknown: bool = False) -> np.ndarray:
    """Read rows of (query, better document, worse document), int64 (n, 3); unknown ids as in `read_links`."""
    place, unknown = display_name(path), UnknownIds(display_name(path))
    tables = (("query", queries.row_of), ("document", docs.row_of), ("document", docs.row_of))
    rows = array("q")
    for number, fields in _statements(path, (3,)):
        triple = [row_of.get(field, -1) for (_, row_of), field in zip(tables, fields, strict=True)]
        if -1 in triple:
            bad = triple.index(-1)
            unknown.add(number, tables[bad][0], fields[bad])
        else:
            rows.extend(triple)
    unknown.settle(len(rows) // 3, skip=skip_unknown)
    if not rows:
        raise DataError("has no lines, want query<TAB>better<TAB>worse", path=place)
    return np.array(rows, np.int64).reshape(-1, 3)


@dataclass(frozen=True)
class Preferences:
    """Preferences between two documents of a query.

    Parameters
    ----------
    queries : sequence of str
        Query of each preference.
    better : sequence of str
        Preferred document.
    worse : sequence of str
        The other document.
    weights : ndarray of shape (n_preferences,), float64
        Positive weights.
    """

    queries: Sequence[str]
    better: Sequence[str]
    worse: Sequence[str]
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.queries)

    def within(self, queries: Iterable[str]) -> Preferences:
        """Return the preferences of these queries."""
        known = set(queries)
        kept = [t for t, query in enumerate(self.queries) if query in known]
        queries, better, worse = ([column[t] for t in kept] for column in (self.queries, self.better, self.worse))
        return Preferences(queries, better, worse, np.asarray(self.weights)[kept])

    def rows(self, lists: Lists, *, skip_unknown: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return (better row, worse row) of the lists, int64 (n, 2), and the weight of each, float64 (n,).

        A preference about a document that has no row in its query's list is an error; with `skip_unknown` it is
        skipped, and the number of skipped preferences is logged.
        """
        row_of = _rows_by_name(lists)
        pairs = np.array(
            [
                (row_of.get((query, better), -1), row_of.get((query, worse), -1))
                for query, better, worse in zip(self.queries, self.better, self.worse, strict=True)
            ],
            np.int64,
        ).reshape(-1, 2)
        known = pairs.min(axis=1) >= 0
        if not known.all():
            self._report_unknown(pairs, known, skip_unknown)
        return pairs[known], np.asarray(self.weights, np.float64)[known]

    def _report_unknown(self, pairs: np.ndarray, known: np.ndarray, skip_unknown: bool) -> None:
        first = int(np.argmin(known))
        document = self.better[first] if pairs[first, 0] < 0 else self.worse[first]
        found = (
            f"{np.count_nonzero(~known)} of {len(known)} preferences name a document that has no row, "
            f"the first is {document!r} of query {self.queries[first]!r}"
        )
        if not skip_unknown or not known.any():
            raise TacitError(f"{found}; skip_unknown (--skip-unknown) leaves them out, if any remain")
        logger.warning("left out: %s", found)


@checked
def read_preferences(path: FilePath) -> Preferences:
    """Read preferences between documents: `qid<TAB>better_docid<TAB>worse_docid[<TAB>weight]`.

    Parameters
    ----------
    path : path
        Plain or compressed file; `-` is standard input.

    Returns
    -------
    Preferences

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "preferences.tsv")
    ...     _ = path.write_text("q\\ta\\tb\\t2\\n")
    ...     preferences = read_preferences(path)
    >>> preferences.queries, preferences.better, preferences.worse, preferences.weights
    (['q'], ['a'], ['b'], array([2.]))
    """
    place = display_name(path)
    columns: tuple[list[str], list[str], list[str]] = ([], [], [])
    weights = array("d")
    for number, fields in _statements(path, (3, 4)):
        weights.append(parse_weight(fields[3], place, number) if len(fields) == 4 else 1.0)
        for column, field in zip(columns, fields, strict=False):
            column.append(field)
    if not weights:
        raise DataError("has no lines, want query<TAB>better<TAB>worse", path=place)
    return Preferences(*columns, np.array(weights, np.float64))


def _statements(path: FilePath, widths: tuple[int, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, columns) of non-blank lines; raise if both documents are the same."""
    place = display_name(path)
    wanted = "query<TAB>better<TAB>worse" + (", or these and <TAB>weight" if 4 in widths else "")
    for number, line in read_lines(path):
        if not line or line.isspace():
            continue
        fields = split_tabs(line, wanted, widths, place, number)
        if number == 1 and is_header(fields):
            report_header(fields, place, number)
            continue
        if fields[1] == fields[2]:
            raise DataError(f"better and worse are both {fields[1]!r}, want two documents", path=place, line=number)
        yield number, fields


def _rows_by_name(lists: Lists) -> dict[tuple[str, str], int]:
    """Return rows by (query id, document id); for a repeated document in a list, its first row."""
    rows: dict[tuple[str, str], int] = {}
    for row, (number, name) in enumerate(zip(lists.qid.tolist(), lists.document_names(), strict=True)):
        rows.setdefault((lists.query_ids[number], name), row)
    return rows
