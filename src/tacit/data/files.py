"""Files: lines of text in, and atomic outputs.

Input may be compressed (gzip, xz, bzip2, zstd), whatever its name; output is compressed if its name ends in `.gz`,
`.xz`, `.bz2` or `.zst`. `-` is standard input or output. Bytes are processed in chunks

    file -> decompressor -> blocks that end at a line break -> UTF-8 -> lines

so a file of any size needs the memory of one chunk, or of its longest line. The limit for a line, and for a document
within a file, is `MAX_LINE_BYTES`; the environment variable TACIT_MAX_LINE_MIB changes it.

An output is a temporary file or folder next to the target, renamed when it is complete. Its name is
`.tacit-<digest of the target's name>-<random>.tmp`. Its process holds an operating system lock on it, which ends with
the process. So the next output to the same target can remove what a killed process left, but nothing that is still
being written. On systems without such locks these files remain.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import shutil
import stat
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import chain
from typing import IO, TextIO, TypeAlias, cast

from tacit.core import DataError, UsageError, check_path, checked, progress_bar
from tacit.core.folders import sync
from tacit.data.compression import COMPRESSIONS, N_FIRST_BYTES, DamagedError, compressor, decompress, find_compression

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FilePath: TypeAlias = str | os.PathLike[str]

CHUNK_BYTES = 1 << 17
NEAR_BYTES = 20  # of text in another encoding to show in a message, on each side of invalid UTF-8
MAX_LINE_BYTES = 64 << 20  # protects against mistakes and attacks: a few kilobytes can unpack to many gigabytes
BAR_BYTES = 20_000_000  # smaller files are read before a bar could be drawn


def split_suffix(path: FilePath) -> tuple[str, str]:
    """Return the suffixes of the format and of the compression, in lower case.

    >>> split_suffix("docs.ja.jsonl.GZ"), split_suffix("links.tsv"), split_suffix("-")
    (('.jsonl', '.gz'), ('.tsv', ''), ('', ''))
    """
    rest, last = os.path.splitext(check_path(path).lower())
    if last in COMPRESSIONS:
        return os.path.splitext(rest)[1], last
    return last, ""


def display_name(path: FilePath) -> str:
    """Return the path as shown in error messages."""
    text = check_path(path)
    return "<stdin>" if text == "-" else text


def max_line_bytes() -> int:
    """Return the maximum number of bytes of a line or document."""
    text = os.environ.get("TACIT_MAX_LINE_MIB", "")
    if text and not (text.isascii() and text.isdigit() and 0 < int(text) <= 1 << 20):
        raise UsageError(f"TACIT_MAX_LINE_MIB is {text!r}, want a whole number of MiB from 1 to 1048576")
    return int(text) << 20 if text else MAX_LINE_BYTES


def too_long(path: FilePath, line: int, what: str = "a line or document") -> DataError:
    """Return the error for a line or document above the limit."""
    found = f"{what} of more than {max_line_bytes() >> 20} MiB"
    return DataError(f"{found}; TACIT_MAX_LINE_MIB=N raises the limit", path=display_name(path), line=line)


def read_lines(path: FilePath, chunks: Iterable[bytes] | None = None) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text without its line break) from a plain or compressed UTF-8 file.

    Lines end in "\\n" or "\\r\\n"; a byte order mark at the very start is dropped. If the file cannot be read to its
    end, a `DataError` names the file and the last line. `chunks` are the plain bytes, if the file is already open.
    """
    place = display_name(path)
    for first, block in read_blocks(path, chunks):
        yield from enumerate(_decode(block, place, first), first)


def read_blocks(path: FilePath, chunks: Iterable[bytes] | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, bytes of complete lines); only the last block may lack a line break.

    The bytes are plain and without a byte order mark, but not yet checked to be UTF-8.
    """
    done = 0
    try:
        for block in _whole_lines(read_bytes(path) if chunks is None else chunks):
            if block is None:
                raise too_long(path, done + 1, "a line")
            yield done + 1, block if done else block.removeprefix(codecs.BOM_UTF8)
            done += block.count(b"\n")
    except DamagedError as damage:
        raise damaged_at(path, damage, done) from None


def damaged_at(path: FilePath, damage: DamagedError, line: int = 0) -> DataError:
    """Return the error for compressed data that is damaged after a line."""
    suffix = split_suffix(path)[1]
    where = " after this line" if line else f" or the suffix {suffix} is wrong" if suffix else ""
    return DataError(f"{damage}{where}", path=display_name(path), line=line or None)


def read_bytes(path: FilePath, *, chunk_bytes: int = CHUNK_BYTES, bar_from: int = BAR_BYTES) -> Iterator[bytes]:
    """Yield the plain bytes of a file in chunks; damaged compression raises a `DamagedError`.

    `chunk_bytes` are read from disk at a time; a file of at least `bar_from` bytes has a progress bar.
    """
    start, chunks = peek(_raw_bytes(path, chunk_bytes, bar_from), N_FIRST_BYTES)
    compression = find_compression(start) or split_suffix(path)[1]
    return decompress(chunks, compression) if compression else chunks


def peek(chunks: Iterable[bytes], n_bytes: int) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes (fewer than requested only if the input ends), and all chunks.

    >>> start, chunks = peek([b"a", b"bc", b"de"], 2)
    >>> start, list(chunks)
    (b'abc', [b'a', b'bc', b'de'])
    """
    rest, taken = iter(chunks), list[bytes]()
    while sum(map(len, taken)) < n_bytes and (chunk := next(rest, None)) is not None:
        taken.append(chunk)
    return b"".join(taken), chain(taken, rest)


@contextmanager
def open_output(path: FilePath) -> Iterator[TextIO]:
    """Open a UTF-8 text file that gets its name only if the block ends without an error.

    Until then the text is in a temporary file in the same folder, so readers never see an incomplete file.

    Parameters
    ----------
    path : path
        File to write, compressed by its suffix; `-` is standard output.
    """
    if check_path(path) == "-":
        with _standard_output() as out:
            yield out
        return
    try:
        with (
            _replaced_when_done(path) as raw,
            compressor(raw, split_suffix(path)[1]) as binary,
            io.TextIOWrapper(binary, encoding="utf-8", newline="\n") as text,
        ):
            yield text
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X}"
        raise DataError(f"cannot be written: the text contains {half}, half of a character", path=path) from None
    except OSError as error:
        raise DataError(f"cannot be written: {_reason(error)}", path=path) from error


def write_text(path: FilePath, text: str) -> None:
    """Write a UTF-8 text file as `open_output` does."""
    with open_output(path) as out:
        out.write(text)


@contextmanager
def _standard_output() -> Iterator[TextIO]:
    if not hasattr(sys.stdout, "buffer"):  # a test or a notebook replaced it by a text-only object
        yield sys.stdout
        return
    sys.stdout.flush()
    # Not a TextIOWrapper, because that would close standard output when it is deleted.
    yield cast(TextIO, codecs.getwriter("utf-8")(sys.stdout.buffer))
    sys.stdout.buffer.flush()


@contextmanager
def _replaced_when_done(path: FilePath) -> Iterator[IO[bytes]]:
    target = os.path.realpath(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        with open(target, "wb") as device:  # /dev/null or a pipe must not be replaced by a rename; a folder fails here
            yield device
        return
    with staged(target) as temporary, open(temporary, "wb") as raw:
        yield raw


def _raw_bytes(path: FilePath, chunk_bytes: int, bar_from: int) -> Iterator[bytes]:
    place = display_name(path)
    try:
        with _opened(path) as raw, _reading_bar(raw, place, bar_from) as advance:
            while chunk := raw.read(chunk_bytes):
                yield chunk
                advance(len(chunk))
    except OSError as error:
        raise DataError(_reason(error), path=place) from None


def _opened(path: FilePath) -> AbstractContextManager[IO[bytes]]:
    if os.fspath(path) == "-":
        if not hasattr(sys.stdin, "buffer"):
            raise DataError("standard input is not open", path="<stdin>")
        return nullcontext(sys.stdin.buffer)
    try:
        return open(path, "rb", buffering=0)
    except ValueError:
        raise DataError("contains a NUL character, want the name of a file", path=repr(os.fspath(path))) from None


def _reading_bar(raw: IO[bytes], place: str, bar_from: int) -> AbstractContextManager[Callable[[float], None]]:
    """Return a progress bar over the bytes on disk, because the size of the text is unknown."""
    size = os.fstat(raw.fileno()).st_size if isinstance(raw, io.FileIO) else 0
    if size < bar_from:
        return nullcontext(lambda amount: None)
    return progress_bar(f"reading {os.path.basename(place)}", total=size)


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes | None]:
    """Split the bytes into blocks that end with a line break; only the last may lack one. None: a line is too long."""
    pending: list[bytes] = []
    n_pending, limit = 0, max_line_bytes()
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join([*pending, chunk[:end]])
            pending = [chunk[end:]]
            n_pending = len(chunk) - end
        else:
            pending.append(chunk)
            n_pending += len(chunk)
        if n_pending > limit:
            yield None
    if rest := b"".join(pending):
        yield rest


def _decode(block: bytes, place: str, first: int) -> list[str]:
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + block.count(b"\n", 0, error.start)
        raise DataError(not_utf8(error), path=place, line=line) from None
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if "\r" in text:
        return [line.removesuffix("\r") for line in lines]
    return lines


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return a message with the probable encoding of text that is not UTF-8: Latin-1 or Windows-1252.

    >>> not_utf8(UnicodeDecodeError("utf-8", b"a M\\xfcller knife", 3, 4, "invalid start byte"))
    "this text is not UTF-8 but probably latin-1 ('a Müller knife'): --encoding latin-1 reads it"
    """
    start, end = max(0, error.start - NEAR_BYTES), error.start + NEAR_BYTES
    near = error.object[start : error.start].rpartition(b"\n")[2] + error.object[error.start : end].partition(b"\n")[0]
    encoding = "cp1252" if any(0x80 <= byte < 0xA0 for byte in near) else "latin-1"
    shown = near.decode(encoding, "replace").strip()
    if "\ufffd" in shown or not shown.replace("\t", " ").isprintable():
        found = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
        return f"{found}, want UTF-8 text; --encoding names another encoding, such as latin-1"
    return f"this text is not UTF-8 but probably {encoding} ({shown!r}): --encoding {encoding} reads it"


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "is a folder, want a file"
    if isinstance(error, PermissionError):
        return "permission denied"
    return error.strerror or str(error)


@contextmanager
@checked
def staged(target: str | os.PathLike[str], *, folder: bool = False) -> Iterator[str]:
    """Give the path of an empty temporary file or folder that becomes the target if the block succeeds.

    Its contents and its new name are on disk when this returns. A block that fails leaves nothing behind.

    Parameters
    ----------
    target : path
        The file to write or replace, or the folder to create, which must not exist.
    folder : bool, default=False
        Create a folder instead of a file.
    """
    place = os.path.realpath(check_path(target))  # a symbolic link stays a link
    start = _common_start(place)
    _reclaim(start)
    temporary, descriptor = _create(start, folder)
    try:
        yield temporary
        for parent, _, names in os.walk(temporary):
            for name in names:
                sync(os.path.join(parent, name))
        sync(temporary)
        os.replace(temporary, place)
        sync(os.path.dirname(place))
    except BaseException:  # including Ctrl-C
        _remove(temporary)
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _common_start(place: str) -> str:
    """Return the common prefix of all temporary names of this target."""
    parent, name = os.path.split(place)
    return os.path.join(parent, f".tacit-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}-")


def _create(start: str, folder: bool) -> tuple[str, int | None]:
    """Create a new temporary file or folder, and return the descriptor that holds its lock."""
    while True:
        temporary = f"{start}{uuid.uuid4().hex}.tmp"
        if folder:
            os.mkdir(temporary)
        else:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if fcntl is None:
            return temporary, None
        with suppress(FileNotFoundError):  # another process may have removed it before it was locked
            descriptor = os.open(temporary, os.O_RDONLY)
            with suppress(OSError):  # some network disks have no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.exists(temporary):
                return temporary, descriptor
            os.close(descriptor)


def _reclaim(start: str) -> None:
    """Remove temporary files of the same target left by killed processes, which hold no lock."""
    if fcntl is None:
        return
    parent, prefix = os.path.split(start)
    with suppress(OSError):
        for name in os.listdir(parent):
            if name.startswith(prefix) and name.endswith(".tmp"):
                _remove_if_abandoned(os.path.join(parent, name))


def _remove_if_abandoned(temporary: str) -> None:
    with suppress(OSError):  # in use, already gone, or owned by another user
        descriptor = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(temporary)
        finally:
            os.close(descriptor)


def _remove(temporary: str) -> None:
    if os.path.isdir(temporary):
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(temporary)
