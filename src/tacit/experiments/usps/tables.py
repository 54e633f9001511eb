"""Tables of `usps` over all seeds: mean errors by dimension, and tests between systems.

On the standard split every seed has the same test digits, so errors of a digit are averaged over seeds before the test.
Test digits of random splits are pooled; a digit in two of them counts twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.experiments.report import Row, Section
from tacit.metrics import compare_systems


def tables_over_seeds(rows: Sequence[Row], dim: int) -> list[Section]:
    """Tables for several seeds, none for one; tests are at the given dimension."""
    if len({row.setting["seed"] for row in rows}) < 2:
        return []
    sections = []
    for split in dict.fromkeys(row.setting["split"] for row in rows):
        some = [row for row in rows if row.setting["split"] == split]
        dims = sorted({row.setting["dim"] for row in some if "dim" in row.setting}, reverse=True)
        lines = [
            [system, *(_mean(_joined(some, system, d, split)) for d in dims)]
            for system in dict.fromkeys(row.system for row in some)
        ]
        sections.append(Section(f"error %, {split} split, all seeds", ["system", *map(str, dims)], lines))
        values = {system: _joined(some, system, dim, split) for system in dict.fromkeys(row.system for row in some)}
        tests = compare_systems(values, "error")
        found = [[t.better, t.worse, f"{100 * abs(t.difference):.2f}", f"{t.p:.2g}"] for t in tests]
        title = f"tests, {split} split, {dim} numbers, all seeds, Holm-corrected"
        sections.append(Section(title, ["better", "worse", "by %", "p"], found))
    return sections


def _joined(rows: Sequence[Row], system: str, dim: int, split: str) -> np.ndarray:
    """Errors of a system in all seeds; a system without a dimension is the same for all."""
    errors = [row.values["error"] for row in rows if row.system == system and row.setting.get("dim", dim) == dim]
    return np.mean(errors, axis=0) if split == "standard" else np.concatenate(errors)


def _mean(errors: np.ndarray) -> str:
    return f"{100 * errors.mean():.2f}"
