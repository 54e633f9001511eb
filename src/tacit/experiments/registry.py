"""The experiments by name and what each needs.

An experiment is a module of this room with `run(request) -> Report`; it joins by one line here. Modules
are imported when they run, so that listing the experiments costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from tacit.core import check_choice
from tacit.experiments.report import Report
from tacit.experiments.request import Request

LINKED = "TACIT_DATA with linked/ (mdn_ja_en, wikispeedia, debian_ja_en, foldoc)"


@dataclass(frozen=True)
class Experiment:
    """An experiment that can be run again."""

    name: str
    summary: str
    needs: str
    module: str

    def run(self, request: Request) -> Report:
        """Measure what the request asks for."""
        report: Report = import_module(f"tacit.experiments.{self.module}").run(request)
        return report


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "links", "rank the documents that a document links to (HTR tables 2-3, SSI tables 1-4)", LINKED, "links"
        ),
        Experiment("keywords", "the same for queries of 5, 10 and 20 words (SSI tables 5-6)", LINKED, "keywords"),
    )
}


def get_experiment(name: str) -> Experiment:
    """The experiment of that name, or an error that lists the names."""
    return EXPERIMENTS[check_choice("experiment", name, EXPERIMENTS)]
