"""A model folder: written so that a kill at any moment leaves the old model or the new one; opened; checked.

A save works in `.saving` inside the folder, and every step is one rename:

1. `.saving/model.json` is written and synced.
2. `.saving/arrays.part` is written, synced, and renamed `.saving/arrays.safetensors`: it is complete.
3. `.saving/model.json` is renamed over `model.json`. From this moment the new model is valid.
4. `.saving/arrays.safetensors` is renamed over `arrays.safetensors`, and `.saving` is removed.

After a kill between 3 and 4, `model.json` refers (by `arrays_id`) to arrays that are still in `.saving`: readers look
there too, and the next save does step 4 first. Before 3 the old pair is unchanged, and the next save deletes
`.saving`.

Opening always checks header, sizes and shapes, and checksums of the arrays on request; `verify_model` checks every
byte.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tacit.core import StoreError, check_path
from tacit.core.folders import sync
from tacit.store.arrays import ArraysFile, describe_array, open_arrays, read_arrays_id, write_arrays
from tacit.store.files import WAIT_SECONDS, changing_model, os_errors, refusal, shown, write_synced
from tacit.store.header import Header, encode_header, read_fields, read_header
from tacit.store.stored import Stored, check_stored

MODEL_FILE = "model.json"
ARRAYS_FILE = "arrays.safetensors"
STAGE = ".saving"
_UNFINISHED = "arrays.part"
# A save may replace files between two reads; this many retries in a row will not all fail for that reason.
_ATTEMPTS = 5


def save_model(path: str | os.PathLike[str], stored: Stored, *, wait: float = WAIT_SECONDS) -> None:
    """Write a model into a folder; replace an older one.

    Values that cannot be stored raise TacitError; a path that cannot be written raises StoreError.

    Parameters
    ----------
    path : path
        Folder; other files in it are not changed.
    stored : Stored
        Model; the same model gives the same bytes.
    wait : float, default=120
        Seconds to wait for another process that is changing the folder.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from tacit.store import load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(folder, Stored("LsiRanker", {"dim": 2}, {"items": np.eye(2)}))
    ...     sorted(os.listdir(folder)), load_model(folder).params
    (['arrays.safetensors', 'model.json'], {'dim': 2})
    """
    stored = check_stored(stored)
    entries = {name: describe_array(array) for name, array in stored.arrays.items()}
    header = Header(stored.kind, stored.params, entries)
    text = encode_header(header)  # refuses too large headers before anything is written
    folder = Path(check_path(path))
    with os_errors(folder, "cannot be written"):
        is_new = not _check_place(folder)
        with changing_model(folder, new=True, wait=wait):
            try:
                _check_ours(folder)
                _replace(folder, stored, header.arrays_id, text)
            finally:
                if is_new:
                    _settle(folder)


def check_destination(path: str | os.PathLike[str]) -> None:
    """Raise StoreError unless a model can be saved to a path; call it before a long training.

    Parameters
    ----------
    path : path
        A path that does not exist, an empty folder, or a folder with a tacit model.

    Examples
    --------
    >>> check_destination(__file__)
    Traceback (most recent call last):
    tacit.core.errors.StoreError: folder.py: is a file, want a folder to save a model in
    """
    folder = Path(check_path(path))
    with os_errors(folder, "cannot be written"):
        if _check_place(folder):
            _check_ours(folder)


def _check_place(folder: Path) -> bool:
    """Return whether the folder exists; if not, raise unless it can be created."""
    if "\0" in str(folder):
        raise refusal(folder, "is not a valid path: it contains a zero byte")
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists() or place.is_symlink())
    if not existing.exists():
        raise refusal(existing, "cannot be written: it is a link to a place that does not exist")
    if not existing.is_dir():
        raise refusal(existing, "is a file, want a folder to save a model in")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise refusal(existing, "cannot be written: no permission")
    return existing is folder


def _check_ours(folder: Path) -> None:
    """Check that it is a model folder or an empty one, except for remains of a killed save."""
    names = set(os.listdir(folder))
    if MODEL_FILE in names:
        try:
            read_fields(folder / MODEL_FILE)
        except StoreError as error:
            raise StoreError(f"{error}; nothing was saved over it, so move it away or choose another folder") from error
    elif names - {STAGE}:
        other = min(names - {STAGE})
        raise refusal(folder, f"contains {other!r} and no tacit model, want a new or empty folder")
    stage = folder / STAGE
    if stage.is_symlink() or (STAGE in names and not stage.is_dir()):
        raise refusal(stage, "was not created by a save")


def _replace(folder: Path, stored: Stored, arrays_id: str, text: bytes) -> None:
    """Run all four steps. The same cleanup ends a save that succeeded, failed or was killed."""
    _tidy(folder)
    try:
        _stage(folder, stored, arrays_id, text)
        _commit(folder)
    finally:
        _tidy(folder)


def _stage(folder: Path, stored: Stored, arrays_id: str, text: bytes) -> None:
    """Run steps 1 and 2: everything is on disk, but not yet valid."""
    stage = folder / STAGE
    stage.mkdir()
    write_synced(stage / MODEL_FILE, text)
    write_arrays(stage / _UNFINISHED, stored.arrays, arrays_id)
    _share_mode(folder, stage)
    sync(stage / _UNFINISHED)
    os.replace(stage / _UNFINISHED, stage / ARRAYS_FILE)
    sync(stage)
    sync(folder)


def _share_mode(folder: Path, stage: Path) -> None:
    """Use the permissions of the replaced model, else the usual ones."""
    old = folder / MODEL_FILE
    mode = (old if old.exists() else stage / MODEL_FILE).stat().st_mode & 0o777
    for name in (MODEL_FILE, _UNFINISHED):
        os.chmod(stage / name, mode)


def _commit(folder: Path) -> None:
    """Run step 3. The sync prevents that after a power cut step 4 is done without it."""
    os.replace(folder / STAGE / MODEL_FILE, folder / MODEL_FILE)
    sync(folder)


def _settle(folder: Path) -> None:
    """End a first save: make the new folder's name durable, or remove the folder if it is empty."""
    with suppress(OSError):
        if not os.listdir(folder):
            folder.rmdir()
        sync(folder.absolute().parent)


def _tidy(folder: Path) -> None:
    """Run step 4, of this save or of a killed one, and delete files that never became valid."""
    stage = folder / STAGE
    if not stage.exists():
        return
    staged_id = read_arrays_id(stage / ARRAYS_FILE)
    if staged_id is not None and staged_id == _committed_id(folder):
        os.replace(stage / ARRAYS_FILE, folder / ARRAYS_FILE)
        sync(folder)
    shutil.rmtree(stage)


def _committed_id(folder: Path) -> object:
    try:
        return read_fields(folder / MODEL_FILE).get("arrays_id")
    except StoreError:
        return None


def load_model(
    path: str | os.PathLike[str], *, kinds: Collection[str] | None = None, mmap: bool = False, verify: bool = True
) -> Stored:
    """Read a model folder; one that is damaged, foreign or of another class raises StoreError.

    Parameters
    ----------
    path : path
        Model folder.
    kinds : collection of str, default=None
        Permitted classes; None for any.
    mmap : bool, default=False
        Memory-map arrays instead of copying them; changes to them are not written to the file.
    verify : bool, default=True
        Check the checksums of all arrays; checksums of arrays up to 32 MiB, and names, dtypes, shapes and sizes, are
        always checked.

    Returns
    -------
    Stored

    Examples
    --------
    >>> load_model("no/such/model")
    Traceback (most recent call last):
    tacit.core.errors.StoreError: no/such/model: there is no such model folder
    """
    folder = Path(check_path(path))
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
        raise refusal(folder, f"has no {MODEL_FILE}, {reason}")


def open_model(folder: Path, kinds: Collection[str] | None = None) -> tuple[Header, ArraysFile]:
    """Return header and open arrays of the same save."""
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
    """Return the arrays, or the arrays of a killed save that could not move them into place."""
    try:
        return open_arrays(folder / ARRAYS_FILE, header)
    except StoreError:
        try:
            return open_arrays(folder / STAGE / ARRAYS_FILE, header)
        except StoreError:
            pass
        raise  # report the problem of the regular file


def _check_kind(folder: Path, kind: str, kinds: Collection[str] | None) -> None:
    permitted = [kinds] if isinstance(kinds, str) else kinds
    if permitted is not None and kind not in permitted:
        raise refusal(folder, f"contains a model of class {shown(kind)}, want {' or '.join(sorted(permitted))}")


class CheckedFile(NamedTuple):
    """A file of a model: its name, its size, and its problem, an empty string if there is no problem."""

    name: str
    n_bytes: int
    problem: str


def verify_model(path: str | os.PathLike[str]) -> list[CheckedFile]:
    """Compare the contents of a model folder with its checksums.

    Parameters
    ----------
    path : path
        Model folder. A folder that cannot be opened raises StoreError.

    Returns
    -------
    list of CheckedFile
        `model.json` and the arrays.
    """
    folder = Path(check_path(path))
    with os_errors(folder, "cannot be read"):
        header, arrays = open_model(folder)  # reads and checks all of model.json
        with arrays.file:
            damaged = arrays.damaged()
            sizes = [os.stat(folder / "model.json").st_size, os.fstat(arrays.file.fileno()).st_size]
    problem = ""
    if damaged:
        others = f" and {len(damaged) - 1} others" if len(damaged) > 1 else ""
        problem = f"is damaged: array {shown(damaged[0])}{others} of {len(header.arrays)} with a wrong checksum"
    return [CheckedFile("model.json", sizes[0], ""), CheckedFile("arrays.safetensors", sizes[1], problem)]
