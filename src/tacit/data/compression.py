"""The four supported compressions: detected by the first bytes of input, chosen by the last suffix of output.

Each library's incremental decompressor is used chunk by chunk, because that is faster than its file class and lets all
four share one loop. A file may contain several streams in sequence, and must end where a stream ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any, NamedTuple

from tacit.core import MissingExtraError

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
# No UTF-8 or UTF-16 text begins with these bytes.
_FIRST_BYTES = {
    b"\x1f\x8b\x08": ".gz",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    **{b"BZh%d%s" % (level, block): ".bz2" for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")},
}
N_FIRST_BYTES = max(map(len, _FIRST_BYTES))
PIECE_BYTES = 1 << 20  # unpacked at a time
ZSTD_STEP = 1 << 10  # compressed bytes; a block of 128 KiB can be packed in 4, so this is at most 32 MiB
XZ_MEMORY = 1 << 30  # because a damaged header may request a dictionary of any size
ZSTD_WINDOW = 1 << 31  # needed for dumps packed with `zstd --long=31`


class DamagedError(Exception):
    """Compressed data is truncated or invalid; `read_lines` adds the place and makes it a `DataError`."""


class Codec(NamedTuple):
    """The opener of one kind of compressed data, and the exceptions of its library for damage."""

    name: str
    new: Callable[[], Any]
    errors: tuple[type[Exception], ...]


def find_compression(start: bytes) -> str:
    """Return the suffix of the compression of data with this start, or an empty string.

    >>> find_compression(b"\\x1f\\x8b\\x08\\0"), find_compression(b"{}")
    ('.gz', '')
    """
    return next((suffix for first, suffix in _FIRST_BYTES.items() if start.startswith(first)), "")


def decompress(chunks: Iterable[bytes], suffix: str) -> Iterator[bytes]:
    """Yield the plain bytes of compressed chunks, in pieces; zeros between or after streams are padding."""
    codec = _codec(suffix)
    decoder, n_streams = None, 0
    for chunk in chunks:
        while chunk := chunk.lstrip(b"\0") if decoder is None and n_streams else chunk:
            if decoder is None:
                decoder, n_streams = codec.new(), n_streams + 1
            try:
                yield from _pieces(decoder, chunk)
            except codec.errors:
                raise DamagedError(f"{codec.name} data is damaged") from None
            if not decoder.eof:
                break
            chunk, decoder = decoder.unused_data, None
    if decoder is not None or not n_streams:
        raise DamagedError(f"{codec.name} data is truncated")


def _pieces(decoder: Any, chunk: bytes) -> Iterator[bytes]:
    """Yield the unpacked chunk piece by piece, because a few kilobytes of bzip2 can be many gigabytes."""
    piece = decoder.decompress(chunk, PIECE_BYTES)
    while True:
        if piece:
            yield piece
        rest = getattr(decoder, "unconsumed_tail", b"")  # zlib returns unused input, the others keep it
        if decoder.eof or (not rest and getattr(decoder, "needs_input", True)):
            return
        piece = decoder.decompress(rest, PIECE_BYTES)


class _ZstdPieces:
    """A zstandard decompressor with the interface of the standard library: output in pieces, input kept."""

    def __init__(self, maker: Any) -> None:
        self._stream = maker.decompressobj()
        self.eof, self.unused_data, self.needs_input, self._rest = False, b"", True, b""

    def decompress(self, data: bytes, most: int) -> bytes:
        """Unpack a small part of the input, which limits the output by the largest zstd block size."""
        data = self._rest + data
        part, self._rest = data[:ZSTD_STEP], data[ZSTD_STEP:]
        plain: bytes = self._stream.decompress(part)
        self.eof, self.needs_input = self._stream.eof, not self._rest
        if self.eof:
            self.unused_data, self._rest, self.needs_input = self._stream.unused_data + self._rest, b"", False
        return plain


def compressor(raw: IO[bytes], suffix: str) -> AbstractContextManager[Any]:
    """Return a binary file that compresses into `raw`; closing it ends the stream and leaves `raw` open."""
    if suffix == ".gz":
        import gzip

        # No name and no time in the header, so that the same content gives the same bytes.
        return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
    if suffix == ".xz":
        import lzma

        return lzma.LZMAFile(raw, "wb")
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2File(raw, "wb")
    if suffix == ".zst":
        zstandard = _zstandard("writing .zst files")
        writer: AbstractContextManager[Any] = zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
        return writer
    return nullcontext(raw)


def _codec(suffix: str) -> Codec:
    # Late imports: a process reads few kinds of files, and zstandard is an extra.
    if suffix == ".gz":
        import zlib

        return Codec("gzip", lambda: zlib.decompressobj(wbits=31), (zlib.error, MemoryError))
    if suffix == ".xz":
        import lzma

        def new() -> lzma.LZMADecompressor:
            return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)

        return Codec("xz", new, (lzma.LZMAError, MemoryError))
    if suffix == ".bz2":
        import bz2

        return Codec("bzip2", bz2.BZ2Decompressor, (OSError, ValueError, MemoryError))
    zstandard = _zstandard("reading .zst files")
    maker = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    return Codec("zstd", lambda: _ZstdPieces(maker), (zstandard.ZstdError, MemoryError))


def _zstandard(what: str) -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError(what, "zstandard", "zstd") from None
    return zstandard
