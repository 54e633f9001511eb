"""The options of an experiment, and parameters of methods set by the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tacit.core import Estimator, UsageError, check_choice

E = TypeVar("E", bound=Estimator)


@dataclass(frozen=True)
class Request:
    """The options of `tacit reproduce`.

    Parameters
    ----------
    data : Path, default=None
        Folder of the real collections.
    corpus : str, default=None
        Name of the corpus; None means the experiment's default.
    split : str, default=None
        Name of the split; None means the experiment's default.
    words : int, default=30000
        Size of the dictionary; None keeps all words.
    labels : {"random", "top"}, default=None
        Which labels are kept; None means "random".
    systems : tuple of str, default=()
        Systems to measure; () means the experiment's default.
    seed : int, default=0
        Random seed.
    n_seeds : int, default=None
        Number of seeds, starting at `seed`; None means three in a full run, else one.
    quick : bool, default=False
        Fewer queries and smaller models, to end within a minute.
    full : bool, default=False
        All seeds, splits and ablations.
    cells : Path, default=None
        Folder in which a run stores finished cells, to resume from them; None: not stored.
    threads : int, default=None
        Number of threads; None means all cores. Results do not depend on it.
    params : mapping of str to object, default={}
        Parameters for every system that has them (`--set NAME=VALUE`).
    as_printed : bool, default=False
        Also rows of systems trained by the recipe of their paper.
    check : bool, default=False
        Compute printed numbers again and compare; for `papers` only.
    encoder : str or None, default=None
        Name or folder of a pretrained encoder, for experiments that have rows with one.
    """

    data: Path | None = None
    corpus: str | None = None
    split: str | None = None
    words: int | None = 30_000
    labels: str | None = None
    systems: tuple[str, ...] = ()
    seed: int = 0
    n_seeds: int | None = None
    quick: bool = False
    full: bool = False
    cells: Path | None = None
    threads: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    as_printed: bool = False
    check: bool = False
    encoder: str | None = None

    @property
    def data_folder(self) -> Path:
        """Return the folder of the real collections."""
        if self.data is None:
            raise UsageError("this experiment needs the real collections: give --data or set TACIT_DATA")
        return self.data

    @property
    def seeds(self) -> tuple[int, ...]:
        """Return the seeds of the run: the requested number, else three in a full run and one in others."""
        return tuple(range(self.seed, self.seed + (self.n_seeds or (3 if self.full else 1))))

    @property
    def n_queries(self) -> int:
        """Return the maximum number of test queries, for corpora with thousands."""
        return 200 if self.quick else 1000

    @property
    def words_label(self) -> int | str:
        """Return the size of the dictionary as shown in rows of a report."""
        return "all" if self.words is None else self.words

    def corpus_of(self, known: Sequence[str], *, own: bool = False) -> str:
        """Return the corpus: one of the known names, by default the first; with `own`, or an existing path."""
        if own and self.corpus and self.corpus not in known and Path(self.corpus).exists():
            return self.corpus
        return check_choice("corpus", self.corpus or known[0], known)

    def corpus_folder(self, kind: str, known: Sequence[str]) -> Path:
        """Return the folder of a known corpus among the real collections of a kind, or the given path."""
        name = self.corpus_of(known, own=True)
        return self.data_folder / kind / name if name in known else Path(name)

    def systems_of(
        self, default: Sequence[str], known: Iterable[str] | None = None, printed: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the systems to measure; with `known`, raise for other names.

        With `as_printed`, also the `printed` forms of these systems, which have "-printed" in their names.
        """
        names = self.systems or tuple(default)
        if self.as_printed and printed:
            forms = [name for name in printed if not self.systems or name.partition("-printed")[0] in names]
            names = tuple(dict.fromkeys([*names, *forms]))
            if not set(names) & set(printed):
                raise UsageError(
                    f"no printed form of {', '.join(names)}; want one of {', '.join(printed)} in --systems"
                )
        return names if known is None else tuple(check_choice("system", name, list(known)) for name in names)

    def check_params(self, estimators: Mapping[str, Estimator | None]) -> None:
        """Raise UsageError if none of the systems has a parameter to set; None: a system without parameters."""
        known = {name for estimator in estimators.values() if estimator for name in estimator._get_param_names()}
        for name in self.params:
            if name.partition("__")[0] not in known:
                systems = ", ".join(estimators)
                raise UsageError(f"no system of this run has a parameter {name!r}; the systems are {systems}")

    def shown(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row's setting, with the user's values instead."""
        return {name: self.params.get(name, value) for name, value in setting.items()}


def with_params(estimator: E, params: Mapping[str, Any]) -> E:
    """Set the parameters that the estimator has, and ignore the others.

    >>> from tacit.retrieve import LsiRanker
    >>> with_params(LsiRanker(), {"dim": 50, "gamma": 0.1})
    LsiRanker(dim=50)
    """
    known = estimator._get_param_names()
    return estimator.set_params(**{name: value for name, value in params.items() if name.partition("__")[0] in known})
