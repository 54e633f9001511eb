"""Experiment `links`: given a document, rank all others so that those it links to come first.

The supervised tables of HTR (2 and 3) and SSI (1 to 4) on our corpora. Every system sees the same
split, the same words and the same candidates; choices are made on validation links only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from tacit.core import UsageError, track
from tacit.experiments.cells import CellCache
from tacit.experiments.figures import link_figures
from tacit.experiments.link_splits import SPLITS, split_links
from tacit.experiments.link_task import CORPORA, LinkedCorpus, LinkTask, read_linked_corpus
from tacit.experiments.report import Report, Row
from tacit.experiments.request import Request
from tacit.retrieve import get_system

SYSTEMS = (
    "tfidf", "bm25", "qe", "lsi", "lsi+tfidf",
    "ssi-d", "ssi-uu", "ssi-uv-noi", "ssi-uv", "ssi-uv-d",
    "htr-gamma0", "htr", "htr-identity", "htr-residual",
)  # fmt: skip
MAX_TEST_QUERIES = 1000
SETTINGS = ("split", "words", "seed", "k", "dim")
FULL_DIMS = (100, 200, 500)

Cell = dict[str, Any]
TaskOf = Callable[[Cell], LinkTask]


@dataclass(frozen=True)
class LinkOptions:
    """What an experiment on linked corpora can be asked for."""

    data: Path
    corpus: str = "mdn_ja_en"
    split: str = "queries"
    words: int | None = 30_000
    systems: Sequence[str] = SYSTEMS
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


def run(request: Request) -> Report:
    """Measure the systems; `full` adds all splits, three seeds and the dimensions."""
    options = link_options(request, SYSTEMS)
    corpus = read_linked_corpus(options.data, options.corpus, options.words)

    @lru_cache(maxsize=1)  # cells of one split come one after the other
    def task(split: str, seed: int) -> LinkTask:
        parts = split_links(corpus.links, split, seed)
        rows = parts.test_queries(options.n_queries, seed)
        return LinkTask(corpus.features, corpus.features, parts, rows, options.threads)

    splits = SPLITS if options.full else (options.split,)
    cells = [cell for split in splits for cell in cells_of("links", options, split=split)]
    return run_cells("links", options, corpus, cells, lambda cell: task(cell["split"], cell["seed"]))


def cells_of(experiment: str, options: LinkOptions, **setting: Any) -> Iterator[Cell]:
    """One cell for each seed, system and dimension, under a setting."""
    for seed in options.seeds:
        for system in options.systems:
            for dim in _dims(system, options):
                yield {
                    "experiment": experiment,
                    "corpus": options.corpus,
                    "words": "all" if options.words is None else options.words,
                    "n_queries": options.n_queries,
                    "seed": seed,
                    "system": system,
                    "dim": dim,
                    **setting,
                }


def _dims(system: str, options: LinkOptions) -> tuple[int | None, ...]:
    if not system.startswith(("lsi", "ssi-u", "htr")):
        return (None,)
    if options.full:
        return FULL_DIMS
    return (50,) if options.quick else (200,) if system.startswith("lsi") else (100,)


def run_cells(
    experiment: str, options: LinkOptions, corpus: LinkedCorpus, cells: Sequence[Cell], task_of: TaskOf
) -> Report:
    """Measure cell by cell; what cannot run under a setting is named in the notes."""
    for cell in cells:
        get_system(cell["system"])  # a wrong name is told before hours of work
    cache = CellCache(options.cells if options.full else None)
    rows, notes = [], _notes(corpus, options)
    for cell in track(cells, f"{experiment} on {options.corpus}"):
        try:
            rows.append(cache.row(cell, partial(_measure_cell, cell, task_of)))
        except UsageError as reason:
            notes.append(f"{cell['system']} cannot run on the split {cell['split']}: {reason}")
    report = Report(experiment, options.corpus, options.seed, rows, notes)
    return replace(report, figures=link_figures(report))


def _measure_cell(cell: Cell, task_of: TaskOf) -> Row:
    """Fit and measure one system under one setting."""
    task, system = task_of(cell), get_system(cell["system"])
    start = time.perf_counter()
    ranker = task.fit(system, cell["dim"], cell["seed"])
    values = task.measure(ranker, system)
    setting = {name: cell[name] for name in SETTINGS if cell.get(name) is not None}
    return Row(cell["system"], values, time.perf_counter() - start, setting, ranker.chosen())


def _notes(corpus: LinkedCorpus, options: LinkOptions) -> list[str]:
    return [
        corpus.summary,
        f"at most {options.n_queries} test queries, every other document but known links a candidate",
        "seconds: choosing, fitting and ranking all test queries; reading and counting words apart",
    ]
