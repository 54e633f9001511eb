"""Parquet and Arrow files, by pyarrow; rows are read block by block, so a file of any size needs little memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from tacit.core import MissingExtraError
from tacit.data.files import split_suffix
from tacit.data.formats.source import Record, Source, Table

BLOCK_ROWS = 4096
# Exceptions that pyarrow raises for damaged or unusual files. NotImplementedError means a column type that it cannot
# convert, which is an error in the user's file.
_ERRORS = (OSError, ValueError, TypeError, OverflowError, MemoryError, SystemError, NotImplementedError)


def is_parquet(start: bytes) -> bool:
    """Return whether a file begins like parquet."""
    return start.startswith(b"PAR1")


def is_arrow(start: bytes) -> bool:
    """Return whether a file begins like Arrow: file format, Feather 1, or the stream format of `datasets`."""
    return start.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"))


def read_parquet(source: Source) -> Table:
    """Read the rows of a parquet file."""
    pyarrow = _import(source, "this is a parquet file, and reading it")
    with _explained(source, "parquet"):
        file = pyarrow.parquet.ParquetFile(_opened(source))
    columns = tuple(file.schema_arrow.names)
    return Table(_rows(file.iter_batches(BLOCK_ROWS), source, "parquet"), source.place, columns=columns)


def read_arrow(source: Source) -> Table:
    """Read the rows of an Arrow file or stream."""
    pyarrow = _import(source, "this is an Arrow file, and reading it")
    with _explained(source, "Arrow"):
        if source.start.startswith(b"FEA1"):
            table = pyarrow.feather.read_table(_opened(source))
            columns, batches = tuple(table.column_names), iter(table.to_batches(BLOCK_ROWS))
        elif source.start.startswith(b"ARROW1"):
            file = pyarrow.ipc.open_file(_opened(source))
            columns, batches = tuple(file.schema.names), _batches_of(file)
        else:
            stream = pyarrow.ipc.open_stream(_opened(source))
            columns, batches = tuple(stream.schema.names), iter(stream)
    return Table(_rows(batches, source, "Arrow"), source.place, columns=columns)


def _batches_of(file: Any) -> Iterator[Any]:
    return (file.get_batch(number) for number in range(file.num_record_batches))


def _rows(batches: Iterator[Any], source: Source, what: str) -> Iterator[Record]:
    number = 0
    with _explained(source, what):
        for batch in batches:
            batch.validate(full=True)  # a damaged file may point outside itself
            for fields in batch.to_pylist():
                number += 1
                yield Record(number, fields, True)


def _import(source: Source, what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.feather
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(f"{source.place}: {what}", "pyarrow", "parquet") from None
    return pyarrow


def _opened(source: Source) -> Any:
    """Open the file for pyarrow, which needs random access, so other inputs are read into memory."""
    if os.fspath(source.path) != "-" and not split_suffix(source.path)[1]:
        return os.fspath(source.path)
    return _import(source, "reading the file").BufferReader(b"".join(source.chunks))


class _explained:
    """Turns pyarrow's errors into ours."""

    def __init__(self, source: Source, what: str) -> None:
        self.source, self.what = source, what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        pyarrow = _import(self.source, "reading the file")
        if isinstance(error, (pyarrow.ArrowException, *_ERRORS)):
            reason = " ".join(str(error).split())[:200]
            raise self.source.problem(f"the {self.what} file cannot be read: {reason}") from None
