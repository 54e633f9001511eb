"""Check every byte of a model folder, which opening it does not do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from tacit.store.files import os_errors, shown
from tacit.store.load import open_model


class CheckedFile(NamedTuple):
    """A file of a model: its name, its size, and what is wrong with it, an empty string if nothing is."""

    name: str
    n_bytes: int
    problem: str


def verify_model(path: str | os.PathLike[str]) -> list[CheckedFile]:
    """Compare the contents of a model folder with its checksums.

    Parameters
    ----------
    path : path
        Model folder. One that cannot be opened at all raises StoreError.

    Returns
    -------
    list of CheckedFile
        `model.json` and the arrays.
    """
    folder = Path(path)
    with os_errors(folder, "cannot be read"):
        header, arrays = open_model(folder)  # reads and checks all of model.json
        with arrays.file:
            damaged = arrays.damaged()
            sizes = [os.stat(folder / "model.json").st_size, os.fstat(arrays.file.fileno()).st_size]
    problem = ""
    if damaged:
        others = f" and {len(damaged) - 1} others" if len(damaged) > 1 else ""
        problem = f"is damaged: array {shown(damaged[0])}{others} of {len(header.arrays)} without the right checksum"
    return [CheckedFile("model.json", sizes[0], ""), CheckedFile("arrays.safetensors", sizes[1], problem)]
