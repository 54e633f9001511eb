"""Experiment `papers`: do the commands still give the numbers of `docs/papers.md` and its result pages?

Without `--check` the claims are listed with the command of each. With it, they are computed again and compared with the
printed numbers; a value agrees if it rounds to the printed one. The sample has rows of every paper that take at most a
minute, so a check takes about ten minutes; rows with longer training are checked by their own commands.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from tacit.core import TacitError, UsageError, track
from tacit.experiments.papers.claims import CLAIMS, Claim
from tacit.experiments.registry import get_experiment
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request

# Options that each claim's command sets itself.
OF_THE_CLAIMS = ("corpus", "split", "words", "labels", "systems", "seed", "quick", "full", "encoder")


@dataclass(frozen=True)
class Checked:
    """A claim, the computed value, and the time of its run; NaN if nothing was computed."""

    claim: Claim
    found: float
    seconds: float

    @property
    def agrees(self) -> bool:
        """Return whether the value rounds to the printed one."""
        return bool(round(self.found, self.claim.digits) == self.claim.value)


def run(request: Request) -> Report:
    """List the claims; with `check`, compute them and compare."""
    request.check_params({claim.system: None for claim in CLAIMS})
    usual = Request()
    for name in OF_THE_CLAIMS:
        if getattr(request, name) != getattr(usual, name):
            raise UsageError(f"papers checks numbers by the commands that made them: give it no --{name}")
    checked = list(check(CLAIMS, request)) if request.check else [Checked(claim, np.nan, 0.0) for claim in CLAIMS]
    rows = [_row(number, one, request.check) for number, one in enumerate(checked, 1)]
    wrong = [one for one in checked if request.check and not one.agrees]
    notes = [f"{len(checked)} claims, each computed by its command"]
    notes += [f"{len(checked) - len(wrong)} of {len(checked)} agree"] if request.check else ["--check computes them"]
    return Report("papers", "all", request.seed, rows, notes, [_table(checked, request.check)])


def check(claims: Sequence[Claim], request: Request) -> Iterable[Checked]:
    """Compute claims, grouped by command."""
    groups = [(command, list(group)) for command, group in groupby(claims, key=lambda claim: claim.run)]
    for wanted, group in track(groups, "papers", len(groups)):
        systems = tuple(dict.fromkeys(claim.system for claim in group))
        changed: dict[str, Any] = {"corpus": wanted.corpus, "systems": systems, "words": wanted.words}
        changed |= {"seed": wanted.seed, "params": dict(wanted.params)}
        start = time.perf_counter()
        report = get_experiment(wanted.experiment).run(replace(request, check=False, cells=None, **changed))
        seconds = time.perf_counter() - start
        for claim in group:
            yield Checked(claim, value_of(claim, report.rows), seconds)


def value_of(claim: Claim, rows: Iterable[Row]) -> float:
    """Return the mean of the claim's metric in the rows that match."""
    found = [row.metrics[claim.metric] for row in rows if _matches(claim, row)]
    if not found:
        raise TacitError(f"{claim.command} has no row of {claim.system} with {dict(claim.setting)} and {claim.metric}")
    return claim.unit * float(np.mean(found))


def _matches(claim: Claim, row: Row) -> bool:
    same = all(str(row.setting.get(name)) == str(value) for name, value in claim.setting.items())
    return row.system == claim.system and same and claim.metric in row.values


def _row(number: int, one: Checked, is_checked: bool) -> Row:
    """Return the row of a claim; its number keeps it from being tested against others."""
    claim = one.claim
    setting: dict[str, Any] = {"claim": number, "experiment": claim.run.experiment, "corpus": claim.run.corpus}
    setting |= {"page": claim.page, "metric": claim.metric, **claim.setting}
    values = {"printed": np.array([claim.value])}
    if is_checked:
        values["found"] = np.array([one.found])
        setting["agrees"] = "yes" if one.agrees else "no"
    return Row(claim.system, values, one.seconds, setting)


def _table(checked: Sequence[Checked], is_checked: bool) -> Section:
    header = ["page", "system", "setting", "metric", "printed", *(["found", "agrees"] if is_checked else []), "command"]
    lines = []
    for one in checked:
        claim = one.claim
        setting = ", ".join(f"{name} {value}" for name, value in claim.setting.items())
        found = [f"{one.found:.5g}", "yes" if one.agrees else "no"] if is_checked else []
        shown = f"{claim.value:.{claim.digits}f}"
        lines.append([claim.page, claim.system, setting, claim.metric, shown, *found, claim.command])
    return Section("Numbers of the pages", header, lines)
