"""The experiments by name, what each needs, and how the command line's options reach it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tacit.core import UsageError, check_choice
from tacit.experiments import keywords, links
from tacit.experiments.figures import write_link_figures
from tacit.experiments.link_task import CORPORA
from tacit.experiments.links import LinkOptions
from tacit.experiments.report import Report


@dataclass(frozen=True)
class Request:
    """What a user asked of an experiment; None and () mean its own default."""

    data: Path | None = None
    corpus: str | None = None
    split: str | None = None
    words: int | str | None = None
    systems: tuple[str, ...] = ()
    seed: int = 0
    quick: bool = False
    full: bool = False
    cells: Path | None = None
    threads: int | None = None


@dataclass(frozen=True)
class Experiment:
    """An experiment that can be run again."""

    name: str
    summary: str
    needs: str
    run: Callable[[Request], Report]
    draw: Callable[[Report, Path], list[Path]]


def _link_options(request: Request, systems: tuple[str, ...]) -> LinkOptions:
    if request.data is None:
        raise UsageError("this experiment needs the real collections: give --data or set TACIT_DATA")
    return LinkOptions(
        data=request.data,
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


NEEDS_LINKED = f"TACIT_DATA with linked/ ({', '.join(CORPORA)})"

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "links",
            "rank the documents that a document links to (HTR tables 2-3, SSI tables 1-4)",
            NEEDS_LINKED,
            lambda request: links.run(_link_options(request, links.SYSTEMS)),
            write_link_figures,
        ),
        Experiment(
            "keywords",
            "the same for queries of 5, 10 and 20 words (SSI tables 5-6)",
            NEEDS_LINKED,
            lambda request: keywords.run(_link_options(request, keywords.SYSTEMS)),
            write_link_figures,
        ),
    )
}


def get_experiment(name: str) -> Experiment:
    """The experiment of that name, or an error that lists the names."""
    return EXPERIMENTS[check_choice("experiment", name, EXPERIMENTS)]
