"""Which systems run under which settings: the cells of an experiment on a linked corpus.

A full run is a star: all splits and seeds at the usual parameters, and around the first of them one parameter
changed at a time: dimension, gamma, the number of frequent words, the share of the training links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.experiments.links.splits import SPLITS
from tacit.experiments.links.task import CORPORA
from tacit.experiments.request import Request

MAX_TEST_QUERIES = 1000
SETTINGS = ("split", "words", "seed", "k", "dim", "gamma", "share", "frequent")
PARAMETERS = {"gamma": "gamma", "frequent": "n_words"}  # setting of a cell -> parameter of the system
DIMS, GAMMAS, SHARES = (100, 200, 500), (0.0, 0.1, 0.3, 3.0), (0.01, 0.03, 0.1, 0.3)
FREQUENT = (5000, 2000, 10_000)  # the usual one first: it is the one that tests compare
LEARN_VECTORS = ("lsi", "ssi-u", "htr")
HELD_BY_GAMMA = ("htr", "htr-identity", "htr-residual")
FOR_FEW_LINKS = ("ssi-uv", "htr-residual")

Cell = dict[str, Any]


@dataclass(frozen=True)
class LinkOptions:
    """What an experiment on linked corpora can be asked for."""

    data: Path
    corpus: str
    split: str
    words: int | None
    systems: Sequence[str]
    seed: int = 0
    quick: bool = False
    full: bool = False
    cells: Path | None = None
    threads: int | None = None

    @property
    def n_queries(self) -> int:
        """How many test queries are asked at most."""
        return 200 if self.quick else MAX_TEST_QUERIES

    @property
    def seeds(self) -> tuple[int, ...]:
        """Three seeds in a full run."""
        return (self.seed, self.seed + 1, self.seed + 2) if self.full else (self.seed,)

    def cell(self, experiment: str, system: str, seed: int, **setting: Any) -> Cell:
        """One system under one setting."""
        words = "all" if self.words is None else self.words
        where = {"experiment": experiment, "corpus": self.corpus, "words": words, "n_queries": self.n_queries}
        return where | {"seed": seed, "system": system, "dim": self.dim(system)} | setting

    def dim(self, system: str) -> int | None:
        """The usual width of a system's vectors."""
        if not system.startswith(LEARN_VECTORS):
            return None
        return 50 if self.quick else 200 if system.startswith("lsi") else 100


def link_options(request: Request, systems: Sequence[str]) -> LinkOptions:
    """A request as experiments on linked corpora read it."""
    return LinkOptions(
        data=request.data_folder,
        corpus=request.corpus or CORPORA[0],
        split=request.split or "queries",
        words=None if request.words == "all" else int(request.words or 30_000),
        systems=request.systems or systems,
        seed=request.seed,
        quick=request.quick,
        full=request.full,
        cells=request.cells,
        threads=request.threads,
    )


def plan_links(options: LinkOptions) -> list[Cell]:
    """The cells of `links`, the main table first."""
    splits = SPLITS if options.full else (options.split,)
    main = [
        options.cell("links", system, seed, split=split) | frequent
        for split in splits
        for seed in options.seeds
        for system in options.systems
        for frequent in _numbers_of_words(system, options)
    ]
    return main + ([*_ablations(options)] if options.full else [])


def _numbers_of_words(system: str, options: LinkOptions) -> list[dict[str, int]]:
    """How many words get vectors of their own, where a system leaves that open and all words are there."""
    if options.words is not None or not system.startswith(("ssi-uv-n", "cfh")) or system == "ssi-uv-noi":
        return [{}]
    numbers = FREQUENT[:1] if options.quick else FREQUENT
    if options.corpus == "wikispeedia" and not options.quick:
        numbers = (*numbers, 30_000)
    return [{"frequent": n} for n in numbers]


def _ablations(options: LinkOptions) -> Iterator[Cell]:
    for system in options.systems:
        changed: list[dict[str, Any]] = []
        if system.startswith(LEARN_VECTORS):
            changed += [{"dim": dim} for dim in DIMS if dim != options.dim(system)]
        if system in HELD_BY_GAMMA:
            changed += [{"gamma": gamma} for gamma in GAMMAS]
        if system in FOR_FEW_LINKS:
            changed += [{"share": share} for share in SHARES]
        for change in changed:
            yield options.cell("links", system, options.seed, split=options.split, **change)
