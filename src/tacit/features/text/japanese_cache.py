"""Words of Japanese texts kept in the user's cache folder, by a hash of what they were made from.

One file for a chunk of texts: a SHA-256 of the rest, then the words of each text, compressed. Its name is a
hash of the texts, of how they were cut and of the versions of Sudachi, so nothing in it is ever out of date.
Whatever is wrong with a file means only that the chunk is cut again; a folder that cannot be written means
that it is not kept.
"""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

FEWEST_KEPT = 1 << 15  # characters; a question or a page is cut sooner than a file is found
_FORMAT = 1
_END_OF_TEXT = b"\xff"  # stands in no UTF-8


def read_chunk(folder: Path | None, key: str, texts: Sequence[str]) -> list[bytes] | None:
    """The words that were kept of these texts, or None."""
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
    """Keep the words of these texts, if that can be done."""
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
