"""Feature lists in LETOR (SVMlight) format.

A row is `grade qid:ID index:value ... #docid = ID rest of the comment`, with fields separated by spaces:

- grade: a number >= 0, or -1 for unjudged, which becomes NaN;
- qid: any word; rows of a query are consecutive;
- indices ascend from 1; an absent one is 0; the value `NULL` is missing and becomes NaN;
- `#` begins a comment: `docid = X`, `docid=X`, `docid X` or its first word X names the document,
  and the rest is kept. Blank lines and comment lines are skipped.

Files may be compressed, by their suffix; `-` is standard input or output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from tacit.core import Lists, TacitError, check_kind, check_number
from tacit.data.files import CHUNK_BYTES, FilePath, display_name, open_output, read_blocks, read_bytes

MOST_FEATURES = 1_000_000
BLOCK_BYTES = 1 << 20  # large enough that calls cost nothing, small enough for the cache


def read_letor(path: FilePath, *, n_features: int | None = None, block_bytes: int = BLOCK_BYTES) -> Lists:
    """Read feature lists from a LETOR (SVMlight) file.

    Parameters
    ----------
    path : path
        Plain or compressed file; `-` is standard input.
    n_features : int, default=None
        Number of columns; None for the largest index in the file.
    block_bytes : int, default=1048576
        Number of bytes to parse at a time. The result does not depend on it.

    Returns
    -------
    Lists

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 3:NULL #docid = a inc = 1\\n-1 qid:7 2:1 #docid = b\\n")
    ...     lists = read_letor(path)
    >>> lists.X.tolist(), lists.y.tolist(), lists.query_ids
    ([[0.5, 0.0, nan], [0.0, 1.0, 0.0]], [2.0, nan], ['7'])
    >>> lists.doc_ids, lists.comments
    (['a', 'b'], ['inc = 1', ''])
    """
    check_number("block_bytes", block_bytes, low=1, high=1 << 30, whole=True)
    if n_features is not None:
        n_features = int(check_number("n_features", n_features, low=1, high=MOST_FEATURES, whole=True))
    from tacit.data.letor.build import ListsBuilder  # late import: the compiler takes half a second to load

    builder = ListsBuilder(display_name(path), n_features, most=n_features or MOST_FEATURES)
    for first_line, text in _texts(path, block_bytes):
        builder.add(first_line, text)
    return builder.finish()


def write_letor(lists: Lists, path: FilePath) -> None:
    """Write feature lists so that `read_letor` reads the same values, bit for bit.

    Parameters
    ----------
    lists : Lists
        Lists to write.
    path : path
        File to write; `-` is standard output.

    Examples
    --------
    >>> lists = Lists(np.array([[0.5, 3.0]]), np.array([1.0]), np.array([0, 1]), ["7"], ["a"], ["inc = 1"])
    >>> write_letor(lists, "-")
    1 qid:7 1:0.5 2:3 #docid = a inc = 1
    """
    check_kind("lists", lists, Lists, "Lists")
    _check_names(lists)
    _check_numbers(lists)
    with open_output(path) as out:
        for number, query_id in enumerate(lists.query_ids):
            out.writelines(_lines(lists, lists.rows(number), query_id))


def _texts(path: FilePath, block_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield the file in larger blocks of complete lines, each with the number of its first line."""
    blocks: list[bytes] = []
    first, size = 1, 0
    for line, block in read_blocks(path, read_bytes(path, chunk_bytes=min(CHUNK_BYTES, block_bytes))):
        first = first if blocks else line
        blocks.append(block)
        size += len(block)
        if size >= block_bytes:
            yield first, b"".join(blocks)
            blocks, size = [], 0
    if blocks:
        yield first, b"".join(blocks)


def _lines(lists: Lists, rows: slice, query_id: str) -> Iterator[str]:
    labels = [f" {index}:" for index in range(1, lists.X.shape[1] + 1)]
    comments = lists.comments or [""] * len(lists.X)
    for row in range(rows.start, rows.stop):
        grade = "-1" if np.isnan(lists.y[row]) else _decimal(float(lists.y[row]))
        values = map(_decimal, lists.X[row].tolist())
        features = "".join([part for pair in zip(labels, values, strict=True) for part in pair])
        doc_id, rest = lists.doc_ids[row], comments[row].strip(" \t\r")
        comment = f" #docid = {doc_id} {rest}".rstrip(" ") if doc_id else ""
        yield f"{grade} qid:{query_id}{features}{comment}\n"


def _decimal(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    return "NULL" if value != value else repr(value).removesuffix(".0")


def _check_names(lists: Lists) -> None:
    _check_words("query id", lists.query_ids, " \t\r\n#")
    _check_words("doc id", lists.doc_ids, " \t\r\n")
    if len(set(lists.query_ids)) != len(lists):
        raise TacitError("two lists have the same query id, want each query once")
    if not all(lists.query_ids):
        raise TacitError("a query id is empty, want a word")
    if lists.comments and len(lists.comments) != len(lists.X):
        raise TacitError(f"number of comments: {len(lists.comments)}, want {len(lists.X)}, one for each row")
    for row, comment in enumerate(lists.comments):
        if "\n" in comment:
            raise TacitError(f"the comment of row {row} contains a line break, want one line")
        if comment and not lists.doc_ids[row]:
            raise TacitError(f"row {row} has a comment and no doc id; its first word would be read as the doc id")


def _check_words(what: str, words: Sequence[str], forbidden: str) -> None:
    found = next(filter(None, map(re.compile(f"[{forbidden}]").search, words)), None)
    if found is not None:
        raise TacitError(f"{what} {found.string!r} contains {found[0]!r}, which the file format cannot store")


def _check_numbers(lists: Lists) -> None:
    infinite = np.isinf(lists.X)
    if infinite.any():
        row, column = np.argwhere(infinite)[0].tolist()
        raise TacitError(f"feature {column + 1} of row {row} is {lists.X[row, column]}, want finite or NaN (missing)")
    y = lists.y
    bad = np.isinf(y) | (y < 0) & (y != -1)
    if bad.any():
        row = int(np.argmax(bad))
        raise TacitError(f"the grade of row {row} is {y[row]:g}, want a number >= 0, or NaN or -1 for unjudged")
