"""Words of Japanese texts in the user's cache folder, by a hash of their source.

One file per chunk of texts: a SHA-256 of the rest, then the words of each text, compressed. Its name is a hash of the
texts, the splitting method and the versions of Sudachi, so a file is never out of date. If a file is missing or
damaged, the chunk is split again. If the folder is not writable, nothing is cached.
"""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

FEWEST_KEPT = 1 << 15  # characters; splitting a query or a page is faster than finding a file
_FORMAT = 1
_END_OF_TEXT = b"\xff"  # never occurs in UTF-8


def read_chunk(folder: Path | None, key: str, texts: Sequence[str]) -> list[bytes] | None:
    """Return the cached words of these texts, or None."""
    if folder is None or not _is_worth_it(texts):
        return None
    try:
        stored = _file_of(folder, key, texts).read_bytes()
        checksum, packed = stored[:32], stored[32:]
        if hashlib.sha256(packed).digest() != checksum:
            return None
        found = zlib.decompress(packed).split(_END_OF_TEXT)[:-1]
    except (OSError, zlib.error):
        return None
    return found if len(found) == len(texts) else None


def write_chunk(folder: Path | None, key: str, texts: Sequence[str], words: Sequence[bytes]) -> None:
    """Cache the words of these texts, if possible."""
    if folder is None or not _is_worth_it(texts):
        return
    path = _file_of(folder, key, texts)
    draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
    packed = zlib.compress(b"".join(one + _END_OF_TEXT for one in words), 1)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(hashlib.sha256(packed).digest() + packed)
        os.replace(draft, path)
    with suppress(OSError):
        draft.unlink(missing_ok=True)


def _is_worth_it(texts: Sequence[str]) -> bool:
    return sum(map(len, texts)) >= FEWEST_KEPT


def _file_of(folder: Path, key: str, texts: Sequence[str]) -> Path:
    digest = hashlib.sha256(f"{_FORMAT} {key}".encode())
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d " % len(encoded))
        digest.update(encoded)
    return folder / "japanese" / f"{digest.hexdigest()}.words"
