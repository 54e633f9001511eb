"""What a user may ask of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.core import UsageError


@dataclass(frozen=True)
class Request:
    """The options of `tacit reproduce`; None and () mean the experiment's own default."""

    data: Path | None = None
    corpus: str | None = None
    split: str | None = None
    words: int | str | None = None
    labels: str | None = None
    systems: tuple[str, ...] = ()
    seed: int = 0
    quick: bool = False
    full: bool = False
    cells: Path | None = None
    threads: int | None = None

    @property
    def data_folder(self) -> Path:
        """The folder of the real collections."""
        if self.data is None:
            raise UsageError("this experiment needs the real collections: give --data or set TACIT_DATA")
        return self.data

    @property
    def seeds(self) -> tuple[int, ...]:
        """Three seeds in a full run, else one."""
        return (self.seed, self.seed + 1, self.seed + 2) if self.full else (self.seed,)
