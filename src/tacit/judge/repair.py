"""Recover the records of a damaged judgment store: read it page by page, without SQLite.

SQLite refuses a file at the first damaged page, although all other pages are intact. Here every page is read
separately: the leaves of tables contain the records, and the number of columns shows the table of a record. Pages in
the write-ahead log replace pages of the file. The format is https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tacit.core import Collection, StoreError, TacitError, check_path, checked
from tacit.judge.database import one_line
from tacit.judge.records import KINDS, Judgment, as_utc, check_name, check_text
from tacit.judge.store import JudgmentStore

HEADER, WAL_HEADER, FRAME_HEADER = 100, 32, 24  # bytes
LEAF = 0x0D  # first byte of a page with records of a table
PAGE_SIZE = 4096  # SQLite's default, used if the header of the file is damaged
LONGEST_RECORD = 4_100_000  # bytes of a record: a query has at most a million characters
TABLES = {4: "query", 2: "judge", 11: "judgment"}  # tables by their number of columns
WIDTHS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes of integers by their type

Row = tuple[Any, ...]


class Repaired(NamedTuple):
    """Result of a repair.

    Parameters
    ----------
    records, queries : int
        Records and queries of the new store.
    unreadable : int
        Records that were found, but contain values that are invalid in a store.
    without_query : int
        Saved records whose query could not be read: its id is `unreadable-` and a number.
    judges : list of str
        Judges whose kind could not be read; they count as programs, so that no program passes for a person.
    """

    records: int
    queries: int
    unreadable: int
    without_query: int
    judges: list[str]


@checked
def repair_store(damaged: str | Path, new: str | Path) -> Repaired:
    """Write every readable record of a damaged store into a new store.

    Parameters
    ----------
    damaged : str or Path
        The damaged store, which is only read, together with its `-wal` file. No other process may write to it.
    new : str or Path
        File of the new store; it must not exist.
    """
    new = Path(check_path(new, "new"))
    if new.exists():
        raise StoreError(f"{new}: exists already, want the name of a new file")
    tables = read_tables(Path(check_path(damaged, "damaged")))
    queries = dict(_queries(tables["query"]))
    kinds = {name: kind for name, kind in tables["judge"].values() if kind in KINDS and isinstance(name, str)}
    records, numbers = list[Judgment](), set[Any]()
    for row in (row for _, row in sorted(tables["judgment"].items())):
        try:
            records.append(_judgment(row, queries, kinds))
            numbers.add(row[1])
        except (TacitError, TypeError):
            continue
    if not records and not queries:
        raise StoreError(f"{damaged}: no record can be read; nothing was written")
    n_saved = _write(new, queries, records)
    lost = {f"unreadable-{number}" for number in numbers if number not in queries}
    return Repaired(
        records=n_saved,
        queries=len(queries) + len(lost),
        unreadable=len(tables["judgment"]) - len(records),
        without_query=sum(record.query in lost for record in records),
        judges=sorted({record.judge for record in records if record.judge} - set(kinds)),
    )


def _write(new: Path, queries: Mapping[int, Row], records: list[Judgment]) -> int:
    ids, texts, topics = zip(*queries.values(), strict=True) if queries else ((), (), ())
    try:
        with JudgmentStore(new) as store:
            store.add_queries(Collection(ids, [""] * len(ids), texts), topics)
            return store.import_records(records)
    except BaseException:
        for name in (str(new), f"{new}-wal", f"{new}-shm"):
            Path(name).unlink(missing_ok=True)
        raise


def _queries(rows: Mapping[int, Row]) -> Iterator[tuple[int, Row]]:
    """Return id, text and topic of each readable query by its number; an id counts once."""
    seen: set[str] = set()
    for number, (_, name, text, topic) in rows.items():
        try:
            check_name("query id", name)
            text = check_text(text) if text else ""
            topic = check_name("topic", topic) if topic else None
        except TacitError:
            continue
        if name not in seen:
            seen.add(name)
            yield number, (name, text, topic)


def _judgment(row: Row, queries: Mapping[int, Row], kinds: Mapping[str, str]) -> Judgment:
    _, query, document, grade, judge, time, rank, model, probability, display, action = row
    name = queries[query][0] if query in queries else check_name("query id", f"unreadable-{int(query)}")
    kind = kinds.get(judge, "program" if judge else "person")
    shown = {"rank": rank, "model": model, "probability": probability, "display": display}
    grade = None if grade is None else float(grade)
    return Judgment(name, document, grade, judge or "", as_utc(time), kind=kind, action=action, **shown)


def read_tables(path: Path) -> dict[str, dict[int, Row]]:
    """Return rows by table and number, from all readable pages."""
    with one_line(path):
        content = path.read_bytes()
        log = Path(f"{path}-wal")
        logged = log.read_bytes() if log.exists() else b""
    said = int.from_bytes(content[16:18], "big")
    sizes = {PAGE_SIZE, 65536 if said == 1 else said}
    valid = (size for size in sizes if 512 <= size <= 65536 and size & (size - 1) == 0)
    found = [_read_pages(_pages(content, logged, size), size) for size in valid]
    return max(found, key=lambda tables: sum(len(rows) for rows in tables.values()))


def _pages(content: bytes, logged: bytes, size: int) -> dict[int, bytes]:
    """Return pages by number; pages of finished transactions in the log replace pages of the file."""
    pages = {at // size + 1: content[at : at + size] for at in range(0, len(content), size)}
    finished: dict[int, bytes] = {}
    running: dict[int, bytes] = {}
    salts = logged[WAL_HEADER + 8 : WAL_HEADER + 16]  # frames of earlier transactions have other salts
    for at in range(WAL_HEADER, len(logged) - FRAME_HEADER - size + 1, FRAME_HEADER + size):
        frame = logged[at : at + FRAME_HEADER]
        if frame[8:16] != salts:
            continue
        running[int.from_bytes(frame[:4], "big")] = logged[at + FRAME_HEADER : at + FRAME_HEADER + size]
        if any(frame[4:8]):  # the last frame of a transaction
            finished |= running
            running = {}
    return pages | finished


def _read_pages(pages: Mapping[int, bytes], size: int) -> dict[str, dict[int, Row]]:
    tables: dict[str, dict[int, Row]] = {name: {} for name in TABLES.values()}
    for page_number, page in pages.items():
        for number, payload in _cells(page, HEADER if page_number == 1 else 0, pages, size):
            row = _row(payload)
            name = TABLES.get(len(row))
            # Unused pages have older versions of the row of a query, with fewer values.
            if name and _n_known(row) > _n_known(tables[name].get(number, ())):
                tables[name][number] = row
    return tables


def _n_known(row: Row) -> int:
    return sum(value is not None for value in row)


def _cells(page: bytes, start: int, pages: Mapping[int, bytes], size: int) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each record of a page."""
    if page[start : start + 1] != bytes([LEAF]):
        return
    n_cells = int.from_bytes(page[start + 3 : start + 5], "big")
    for place in range(start + 8, min(start + 8 + 2 * n_cells, len(page) - 1), 2):
        at = int.from_bytes(page[place : place + 2], "big")
        length, at = _varint(page, at)
        number, at = _varint(page, at)
        if length <= LONGEST_RECORD:
            yield number, _payload(page, at, length, pages, size)


def _payload(page: bytes, at: int, length: int, pages: Mapping[int, bytes], size: int) -> bytes:
    """Return the content of a record; the end of a long one is on overflow pages."""
    if length <= size - 35:
        return page[at : at + length]
    least = (size - 12) * 32 // 255 - 23
    local = least + (length - least) % (size - 4)
    local = local if local <= size - 35 else least
    parts, following = [page[at : at + local]], page[at + local : at + local + 4]
    for _ in range((length - local) // (size - 4) + 1):
        further = pages.get(int.from_bytes(following, "big"), b"")
        following = further[:4]
        parts.append(further[4:])
    return b"".join(parts)[:length]


def _row(payload: bytes) -> Row:
    """Return the values of a record; () if they do not fill it exactly."""
    end, at = _varint(payload, 0)
    kinds: list[int] = []
    while at < min(end, len(payload)) and len(kinds) <= max(TABLES):
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != end or end + sum(_n_bytes(kind) for kind in kinds) != len(payload):
        return ()
    values = []
    for kind in kinds:
        values.append(_value(kind, payload[at : at + _n_bytes(kind)]))
        at += _n_bytes(kind)
    return tuple(values)


def _n_bytes(kind: int) -> int:
    return WIDTHS.get(kind, 8 if kind == 7 else (kind - 12) // 2 if kind >= 12 else 0)


def _value(kind: int, data: bytes) -> Any:
    if kind in WIDTHS:
        return int.from_bytes(data, "big", signed=True)
    if kind == 7:
        (number,) = struct.unpack(">d", data)
        return number
    if kind >= 13 and kind % 2:
        return data.decode("utf-8", "surrogateescape")  # refused by every check of a text
    return {0: None, 8: 0, 9: 1}.get(kind, data)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and the position after it; 0 past the end."""
    number = 0
    for n_read in range(9):
        byte = data[at] if at < len(data) else 0
        at += 1
        if n_read == 8:
            return number << 8 | byte, at
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return number, at
