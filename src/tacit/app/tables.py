"""Plain aligned tables for the terminal; never truncated, so they can be piped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO, *, left: int = 1) -> None:
    """Write aligned columns: the first `left` of them left-aligned, the others right-aligned; omits empty ones."""
    cells = [list(header), *map(list, rows)]
    keep = [column for column in range(len(header)) if any(row[column] for row in cells[1:])]
    widths = {column: max(len(row[column]) for row in cells) for column in keep}
    for row in cells:
        aligned = [f"{row[column]:{'<' if column < left else '>'}{widths[column]}}" for column in keep]
        out.write("  ".join(aligned).rstrip() + "\n")
