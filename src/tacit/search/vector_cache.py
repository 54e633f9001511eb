"""Cache of vectors made by an encoder, in the user's cache folder, by the hash of their text.

Each encoder has a folder with two files that only grow: `keys`, 16 bytes of BLAKE2 per text, and `vectors`, its float16
numbers. A write appends vectors, then keys, and syncs each. If the process is killed, the next writer truncates the
files after the last complete pair. So a second fit encodes only what changed, and after a kill it reuses the finished
passages. The cache may be deleted at any time. If the folder is not writable, nothing is cached.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tacit.core import cache_folder, cut, progress_bar
from tacit.retrieve.vectors import check_vectors
from tacit.search.encoders import Encoder
from tacit.store.files import locked

logger = logging.getLogger("tacit")
KEY_BYTES = 16
BATCH = 64  # texts that are encoded and cached at a time; a killed fit loses at most so many


class VectorCache:
    """Vectors of one encoder by text.

    Parameters
    ----------
    encoder : Encoder
        The encoder. Vectors of an encoder without a hash are not cached, because it cannot be recognised.
    folder : Path or None, default=None
        Folder for all encoders; None means `vectors` in the user's cache folder (`$TACIT_CACHE`).
    """

    def __init__(self, encoder: Encoder, folder: Path | None = None) -> None:
        base = folder or ((found := cache_folder()) and found / "vectors")
        self.encoder, self.dim = encoder, encoder.info.dim
        self.folder = base / encoder.hash if base and encoder.hash else None
        self._place: dict[bytes, int] = {}  # rows of the file
        self._read_keys()

    def _read_keys(self) -> None:
        if self.folder is None:
            return
        try:
            keys = (self.folder / "keys").read_bytes()
            n_vectors = (self.folder / "vectors").stat().st_size // (2 * self.dim)
        except OSError:
            return
        n_known = min(len(keys) // KEY_BYTES, n_vectors)
        self._place = {keys[KEY_BYTES * row : KEY_BYTES * (row + 1)]: row for row in range(n_known)}

    def _read_vectors(self, rows: list[int]) -> np.ndarray:
        """Return some vectors of the file, which may be larger than memory."""
        if not rows:
            return np.empty((0, self.dim), np.float16)
        assert self.folder is not None
        shape = max(rows) + 1, self.dim
        found: np.ndarray = np.memmap(self.folder / "vectors", np.float16, "r", shape=shape)[rows]
        return np.asarray(found)

    def look_up(self, texts: Sequence[str], kind: str) -> np.ndarray:
        """Return unit vectors of texts, float16 (n_texts, dim); unknown texts are encoded and cached.

        `kind` is "query" or "document".
        """
        keys = [_key(kind, text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._place}
        order = sorted(missing, key=lambda key: -len(missing[key]))  # texts of one length are encoded together
        known = [key for key in dict.fromkeys(keys) if key in self._place]
        made = [self._read_vectors([self._place[key] for key in known])]
        with progress_bar(f"encoding {kind} texts", sum(map(len, missing.values()))) as advance:  # characters
            for block in cut(len(order), BATCH):
                given = [missing[key] for key in order[block]]
                vectors = self.encoder.encode(given, kind)
                made.append(check_vectors("vectors", vectors, len(vectors), self.dim).astype(np.float16))
                self._keep(order[block], made[-1])
                advance(sum(map(len, given)))
        row_of = {key: row for row, key in enumerate([*known, *order])}
        return np.concatenate(made)[[row_of[key] for key in keys]]

    def _keep(self, keys: list[bytes], vectors: np.ndarray) -> None:
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with locked(self.folder, wait=10):
                self._append(keys, vectors)
        except OSError as error:
            logger.warning("vectors are not kept in %s: %s", self.folder, error)
            self.folder = None

    def _append(self, keys: list[bytes], vectors: np.ndarray) -> None:
        """Append after the last complete pair, which another process may have moved."""
        assert self.folder is not None
        paths = self.folder / "vectors", self.folder / "keys"
        widths = 2 * self.dim, KEY_BYTES
        sizes = [path.stat().st_size if path.exists() else 0 for path in paths]
        n_known = min(size // width for size, width in zip(sizes, widths, strict=True))
        for path, width, content in zip(paths, widths, (vectors.tobytes(), b"".join(keys)), strict=True):
            with path.open("r+b" if path.exists() else "w+b") as file:
                file.truncate(n_known * width)
                file.seek(n_known * width)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())


def _key(kind: str, text: str) -> bytes:
    return hashlib.blake2b(f"{kind}\0{text}".encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
