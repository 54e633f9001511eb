"""The four compressions that files may have: input is told by its first bytes, output by the last suffix of the name.

Decompression is by chunk with each library's own incremental object, which is faster than the file
classes around them and lets all four share one loop: a file may hold several streams, one after the
other, and must end where a stream ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any, NamedTuple

from tacit.core import MissingExtraError

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
# No UTF-8 and no UTF-16 text begins with these bytes.
_FIRST_BYTES = {
    b"\x1f\x8b\x08": ".gz",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    **{b"BZh%d%s" % (level, block): ".bz2" for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")},
}
N_FIRST_BYTES = max(map(len, _FIRST_BYTES))
PIECE_BYTES = 1 << 20  # that are unpacked at once
ZSTD_STEP = 1 << 10  # of packed bytes; a block of 128 KiB can be packed in 4, so this is at most 32 MiB
XZ_MEMORY = 1 << 30  # a damaged header may ask for a dictionary of any size
ZSTD_WINDOW = 1 << 31  # dumps packed with `zstd --long=31` need the whole of it


class DamagedError(Exception):
    """Compressed data ends early or makes no sense; `read_lines` adds the place and makes it a `DataError`."""


class Codec(NamedTuple):
    """How one kind of compressed data is opened, and what its library raises when it is damaged."""

    name: str
    new: Callable[[], Any]
    errors: tuple[type[Exception], ...]


def find_compression(start: bytes) -> str:
    """The suffix of the compression that data with this start has, or an empty string.

    >>> find_compression(b"\\x1f\\x8b\\x08\\0"), find_compression(b"{}")
    ('.gz', '')
    """
    return next((suffix for first, suffix in _FIRST_BYTES.items() if start.startswith(first)), "")


def decompress(chunks: Iterable[bytes], suffix: str) -> Iterator[bytes]:
    """The plain bytes of compressed chunks, in pieces; zeros between or after streams are padding."""
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
        raise DamagedError(f"{codec.name} data is cut short")


def _pieces(decoder: Any, chunk: bytes) -> Iterator[bytes]:
    """What a chunk unpacks to, piece by piece: a few kilobytes of bzip2 can be many gigabytes."""
    piece = decoder.decompress(chunk, PIECE_BYTES)
    while True:
        if piece:
            yield piece
        rest = getattr(decoder, "unconsumed_tail", b"")  # zlib hands back what it did not take, the others keep it
        if decoder.eof or (not rest and getattr(decoder, "needs_input", True)):
            return
        piece = decoder.decompress(rest, PIECE_BYTES)


class _ZstdPieces:
    """The object of zstandard in the form of those of the standard library: output in pieces, input kept."""

    def __init__(self, maker: Any) -> None:
        self._stream = maker.decompressobj()
        self.eof, self.unused_data, self.needs_input, self._rest = False, b"", True, b""

    def decompress(self, data: bytes, most: int) -> bytes:
        """Unpack a small part of the input, which bounds the output by the largest block of zstd."""
        data = self._rest + data
        part, self._rest = data[:ZSTD_STEP], data[ZSTD_STEP:]
        plain: bytes = self._stream.decompress(part)
        self.eof, self.needs_input = self._stream.eof, not self._rest
        if self.eof:
            self.unused_data, self._rest, self.needs_input = self._stream.unused_data + self._rest, b"", False
        return plain


def compressor(raw: IO[bytes], suffix: str) -> AbstractContextManager[Any]:
    """A binary file that compresses into `raw`; closing it ends the stream and leaves `raw` open."""
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
    # Late imports: a run meets one kind of file at most, and zstandard is an extra.
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
