"""Open a model folder: header, sizes and shapes always, checksums of the arrays if asked."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from tacit.core import StoreError
from tacit.store.arrays import ArraysFile, open_arrays
from tacit.store.files import os_errors, refusal, shown
from tacit.store.header import Header, read_header
from tacit.store.save import ARRAYS_FILE, MODEL_FILE, STAGE
from tacit.store.stored import Stored

# A save may put new files in place between our two looks; it would have to do so every time to fail us.
_ATTEMPTS = 5


def load_model(
    path: str | os.PathLike[str],
    *,
    kinds: Collection[str] | None = None,
    mmap: bool = False,
    verify: bool = True,
) -> Stored:
    """Read a model folder; one that is damaged, foreign or of another class raises StoreError.

    Parameters
    ----------
    path : path
        Model folder.
    kinds : collection of str, default=None
        Permitted classes; None for any.
    mmap : bool, default=False
        Map arrays instead of copying them; changes to them do not reach the file.
    verify : bool, default=True
        Check the checksums of all arrays; those of arrays up to 32 MiB, and names, dtypes, shapes and
        sizes, are always checked.

    Returns
    -------
    Stored

    Examples
    --------
    >>> load_model("no/such/model")
    Traceback (most recent call last):
    tacit.core.errors.StoreError: no/such/model: there is no such model folder
    """
    folder = Path(path)
    with os_errors(folder, "cannot be read"):
        header, arrays_file = open_model(folder, kinds)
        with arrays_file.file:
            arrays = arrays_file.map(verify=verify) if mmap else arrays_file.read(verify=verify)
    return Stored(header.kind, header.params, arrays)


def _check_folder(folder: Path) -> None:
    if not folder.exists():
        raise refusal(folder, "there is no such model folder")
    if not folder.is_dir():
        raise refusal(folder, f"is a file, want a folder with {MODEL_FILE} and {ARRAYS_FILE}")
    if not os.path.lexists(folder / MODEL_FILE):
        reason = "its first save was not finished" if (folder / STAGE).exists() else "so it is no model folder"
        raise refusal(folder, f"holds no {MODEL_FILE}, {reason}")


def open_model(folder: Path, kinds: Collection[str] | None = None) -> tuple[Header, ArraysFile]:
    """Header and open arrays of one and the same save."""
    _check_folder(folder)
    problem: StoreError | None = None
    for _ in range(_ATTEMPTS):
        header = read_header(folder / MODEL_FILE)
        _check_kind(folder, header.kind, kinds)
        try:
            return header, _open_matching(folder, header)
        except StoreError as error:
            problem = error
    assert problem is not None
    raise problem


def _open_matching(folder: Path, header: Header) -> ArraysFile:
    """The arrays in their place, or where a save was killed before it could put them there."""
    try:
        return open_arrays(folder / ARRAYS_FILE, header)
    except StoreError:
        try:
            return open_arrays(folder / STAGE / ARRAYS_FILE, header)
        except StoreError:
            pass
        raise  # what is wrong with the file in its place


def _check_kind(folder: Path, kind: str, kinds: Collection[str] | None) -> None:
    permitted = [kinds] if isinstance(kinds, str) else kinds
    if permitted is not None and kind not in permitted:
        raise refusal(folder, f"holds a model of class {shown(kind)}, want {' or '.join(sorted(permitted))}")
