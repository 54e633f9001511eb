"""Log of document changes in a workspace: an append-only file next to the versions of its model.

A line is a checksum and a JSON object with the documents that were put (added or replaced) and the ids that were
removed. A change is on disk before it is acknowledged. A version that is trained, saved or made live later includes the
changes up to a position in the file, which is a number of bytes; later changes are applied when the version is loaded.
Changes are idempotent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from zlib import crc32

from tacit.core import Collection, DataError
from tacit.core.folders import sync
from tacit.search import Searcher

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAME = "documents.log"
BLOCK = 1 << 20  # bytes read at a time
_PLACEHOLDER = "\0being replaced"


class Entry(NamedTuple):
    """A document with its further fields."""

    id: str
    title: str
    text: str
    fields: Mapping[str, Any] = MappingProxyType({})


class Changes(NamedTuple):
    """The latest state by id of changed documents, None if removed, and the position after them."""

    documents: Mapping[str, Entry | None]
    end: int


def entries(documents: Collection) -> list[Entry]:
    """Return the documents of a collection."""
    return [_entry(documents, row) for row in range(len(documents))]


def _entry(documents: Collection, row: int) -> Entry:
    return Entry(*documents[row], documents.fields(row))


class DocumentLog:
    """The changes of one workspace.

    Parameters
    ----------
    path : Path
        The file; it is created at the first change.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = DocumentLog(Path(folder) / "documents.log")
    ...     end = log.append([Entry("a", "Cats", "they purr", {"legs": 4})], [])
    ...     end = log.append([], ["b"])
    ...     log.since(0).documents
    {'a': Entry(id='a', title='Cats', text='they purr', fields={'legs': 4}), 'b': None}
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def size(self) -> int:
        """Return the size of the file in bytes; if it differs from a known end, there may be further changes."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, put: Iterable[Entry], removed: Sequence[str]) -> int:
        """Write one change; return the position after it when it is on disk. On an error nothing is written."""
        change = {"put": [[*entry[:3], dict(entry.fields)] for entry in put], "removed": list(removed)}
        body = json.dumps(change, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        line = b"%08x %s\n" % (crc32(body), body)
        is_new = not self.path.exists()
        with self._alone() as file:
            end = self._good_end(file)
            try:
                os.ftruncate(file, end)  # an unfinished line of a killed process
                _write_all(file, line)
                os.fsync(file)
            except BaseException:
                os.ftruncate(file, end)
                raise
        if is_new:
            sync(self.path.parent)
        return end + len(line)

    def since(self, position: int) -> Changes:
        """Return the changes after a position; 0 for all changes."""
        documents: dict[str, Entry | None] = {}
        end = position if self._ends_a_line(position) else 0
        for change, after in self._changes(end):
            end = after
            documents |= {entry[0]: Entry(*entry) for entry in change["put"]}
            documents |= dict.fromkeys(change["removed"])
        return Changes(documents, end)

    def _changes(self, position: int) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield changes after a position, each with the position after it; an unfinished last line is skipped."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(position)
            for line in file:
                body = _checked(line)
                if body is None and not file.read(1):
                    return
                change = None if body is None else _parsed(body)
                if change is None:
                    raise DataError(f"the line at byte {position} is damaged; want it restored", path=self.path)
                position += len(line)
                yield change, position

    def _ends_a_line(self, position: int) -> bool:
        """Return whether a position can have been returned by `append`."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, position - 1))
                return position == 0 or file.read(1) == b"\n"
        except FileNotFoundError:
            return False

    def _good_end(self, file: int) -> int:
        """Return the position after the last complete line. Only the last line can be incomplete."""
        size = os.fstat(file).st_size
        start, newline = size - 1, -1  # the last byte may end the last line
        while start > 0 and newline < 0:
            end, start = start, max(0, start - BLOCK)
            newline = os.pread(file, end - start, start).rfind(b"\n")
        start = max(0, start + newline + 1) if newline >= 0 else 0
        return start if _checked(_read_all(file, start, size)) is None else size

    @contextmanager
    def _alone(self) -> Iterator[int]:
        self.path.parent.mkdir(exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)


def log_change(model: str | os.PathLike[str], put: Iterable[Entry], removed: Sequence[str]) -> None:
    """Log a change of a model for its workspace, if there is one."""
    folder = Path(f"{os.path.realpath(model)}.versions")
    if folder.is_dir():
        DocumentLog(folder / NAME).append(put, removed)


def apply_changes(searcher: Searcher, changes: Mapping[str, Entry | None]) -> Searcher:
    """Apply document changes to a searcher, in place; documents that are already up to date are skipped."""
    held = searcher.documents_.row_of
    new, replaced, gone = [], [], []
    for doc_id, document in changes.items():
        if document is None:
            gone += [doc_id] if doc_id in held else []
        elif doc_id not in held:
            new.append(document)
        elif _entry(searcher.documents_, held[doc_id]) != document:
            replaced.append(document)
    if new:
        searcher.add(collection_of(new))
    if gone or replaced:
        leaving = [*gone, *(document.id for document in replaced)]
        empty = len(leaving) == len(searcher.documents_) and replaced
        if empty:  # a collection must never be empty, not even temporarily
            searcher.add(collection_of([Entry(_PLACEHOLDER, "", replaced[0].text)]))
        searcher.remove(leaving)
        if replaced:
            searcher.add(collection_of(replaced))
        if empty:
            searcher.remove([_PLACEHOLDER])
    return searcher


def collection_of(documents: Sequence[Entry]) -> Collection:
    """Return documents as a collection."""
    ids, titles, texts = ([getattr(document, name) for document in documents] for name in ("id", "title", "text"))
    fields = [document.fields for document in documents]
    names = dict.fromkeys(name for given in fields for name in given)
    return Collection(ids, titles, texts, {name: [given.get(name) for given in fields] for name in names})


def _checked(line: bytes) -> bytes | None:
    """Return the JSON of a line; None if the line is not as it was written."""
    body = line[9:-1]
    return body if line.endswith(b"\n") and line[:9] == b"%08x " % crc32(body) else None


def _parsed(body: bytes) -> dict[str, Any] | None:
    """Return the change in the JSON of a line; None if `append` would not write it."""
    try:
        change = json.loads(body)
        good = change.keys() == {"put", "removed"} and all(isinstance(part, list) for part in change.values())
        good = good and all(isinstance(name, str) for name in change["removed"]) and all(map(_is_entry, change["put"]))
    except (AttributeError, RecursionError, TypeError, ValueError):
        return None
    return change if good else None


def _is_entry(value: Any) -> bool:
    *texts, fields = value
    return len(texts) == 3 and all(isinstance(text, str) for text in texts) and isinstance(fields, dict)


def _read_all(file: int, start: int, end: int) -> bytes:
    pieces = (os.pread(file, min(BLOCK, end - place), place) for place in range(start, end, BLOCK))
    return b"".join(pieces)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
