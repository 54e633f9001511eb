"""Cache of results, cell by cell, so that an interrupted run can be resumed.

A cell is one system under one setting. Its file is JSON, named by a hash of everything that the result depends on,
including the version of tacit. A damaged file is ignored, and the cell is computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tacit import __version__
from tacit.experiments.report import Row
from tacit.experiments.request import Request


class CellCache:
    """Rows on disk; a quick run stores none, because its cells are smaller."""

    def __init__(self, request: Request) -> None:
        self.folder = None if request.quick else request.cells
        self.params: dict[str, Any] = {"params": dict(request.params)} if request.params else {}
        self.params |= {} if request.full else {"run": "default"}

    def row(self, key: dict[str, Any], compute: Callable[[], Row]) -> Row:
        """Return the stored row of a cell; if there is none, compute and store it."""
        if self.folder is None:
            return compute()
        key = key | self.params
        name = hashlib.sha256(json.dumps([__version__, key], sort_keys=True).encode()).hexdigest()[:24]
        path = self.folder / f"{name}.json"
        stored = _read(path)
        if stored is not None:
            return stored
        row = compute()
        _write(path, row, key)
        return row


def _read(path: Path) -> Row | None:
    try:
        cell = json.loads(path.read_text("utf-8"))
        values = {name: np.array(numbers, np.float64) for name, numbers in cell["values"].items()}
        return Row(cell["system"], values, cell["seconds"], cell["setting"], cell["chosen"], cell["epochs"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(path: Path, row: Row, key: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cell = {
        "key": key,
        "system": row.system,
        "setting": dict(row.setting),
        "chosen": dict(row.chosen),
        "epochs": [dict(epoch) for epoch in row.epochs],
        "seconds": row.seconds,
        "values": {name: values.tolist() for name, values in row.values.items()},
    }
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(cell), "utf-8")
    os.replace(draft, path)
