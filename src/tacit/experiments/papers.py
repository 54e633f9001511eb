"""Experiment `papers`: do the commands still give the numbers of `docs/papers.md` and its result pages?

Without `--check` the claims are listed with the command of each. With it, they are computed again and compared with the
printed numbers; a value agrees if it rounds to the printed one. The sample has rows of every paper that take at most a
minute, so a check takes about ten minutes; rows with longer training are checked by their own commands.

A claim is on a page of `docs/`, where a line names the system and has the printed number. Claims of one command are
consecutive.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from tacit.core import TacitError, UsageError, track
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


@dataclass(frozen=True)
class Command:
    """A run of an experiment."""

    experiment: str
    corpus: str | None = None
    words: int | None = 30_000
    seed: int = 0
    params: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Claim:
    """One printed number.

    Parameters
    ----------
    page : str
        File below `docs/`.
    run : Command
        The experiment and its corpus.
    system, metric : str
        Row and measure.
    value : float
        The printed number, rounded to `digits`.
    digits : int, default=3
        Digits after the decimal point.
    unit : float, default=1
        Factor of the measure; 100 for percent.
    setting : mapping, default={}
        Settings that identify the row among others of its system. If several rows match, the claim is their mean.
    """

    page: str
    run: Command
    system: str
    metric: str
    value: float
    digits: int = 3
    unit: float = 1.0
    setting: Mapping[str, Any] = field(default_factory=dict)

    @property
    def printed(self) -> str:
        """Return the number as printed on the page: without a zero before the point.

        >>> Claim("papers.md", Command("links"), "tfidf", "MAP", 0.409).printed
        '.409'
        """
        return f"{self.value:.{self.digits}f}".removeprefix("0")

    @property
    def command(self) -> str:
        """Return the command that computes the row."""
        corpus = f" --corpus {self.run.corpus}" if self.run.corpus else ""
        params = "".join(f" --set {name}={value}" for name, value in self.run.params)
        return f"tacit reproduce {self.run.experiment}{corpus} --systems {self.system}{params}"


LINKS, TRANSDUCTION, PREFERENCE = "results/links.md", "results/transduction.md", "results/preference.md"
MDN, FOLDOC = Command("links", "mdn_ja_en"), Command("links", "foldoc")
HTR_OVER_SSI, SQUARE = "results/htr-over-ssi.md", Command("htr-over-ssi", "foldoc")
TRAINED = Command("htr-over-ssi", "foldoc", params=(("max_epochs", 25),))
REUTERS = "results/reuters.md"
SEMI_AUC, CACM = "results/semi-auc.md", Command("semi-auc")
ALL, CORE = {"items": "all"}, {"items": "core", "least_links": 8}
LETOR_2 = Command("transduction", "OHSUMED-letor2")
LETOR_3 = Command("transduction", "OHSUMED-letor3-QueryLevelNorm")
TRANS_MQ2008 = Command("transduction", "MQ2008")
SCALED = {"scale": "zscore", "rounds": "fixed"}
RAW = {"scale": "none", "rounds": "chosen"}
MQ2008 = Command("preference", "MQ2008")

CLAIMS = (
    Claim(LINKS, MDN, "tfidf", "MAP", 0.409),
    Claim(LINKS, MDN, "tfidf", "rank_loss", 0.87, 2, 100),
    Claim(LINKS, FOLDOC, "tfidf", "MAP", 0.361),
    Claim(LINKS, FOLDOC, "tfidf", "rank_loss", 1.17, 2, 100),
    Claim(HTR_OVER_SSI, SQUARE, "tfidf", "MAP", 0.309, setting=ALL),
    Claim(HTR_OVER_SSI, SQUARE, "tfidf", "rank_loss", 1.21, 2, 100, ALL),
    Claim(HTR_OVER_SSI, SQUARE, "tfidf", "MAP", 0.417, setting=CORE),
    Claim(HTR_OVER_SSI, SQUARE, "tfidf", "rank_loss", 2.84, 2, 100, CORE),
    Claim(HTR_OVER_SSI, TRAINED, "ssi-uv", "MAP", 0.450, setting=ALL),
    Claim(HTR_OVER_SSI, TRAINED, "ssi-uv", "MAP", 0.525, setting=CORE),
    Claim(HTR_OVER_SSI, TRAINED, "htr-identity", "MAP", 0.474, setting=ALL),
    Claim(HTR_OVER_SSI, TRAINED, "htr-identity", "MAP", 0.545, setting=CORE),
    Claim(REUTERS, Command("reuters"), "tfidf", "MAP", 0.517),
    Claim(REUTERS, Command("reuters"), "lsi", "MAP", 0.588),
    Claim(REUTERS, Command("reuters"), "htr-reconstruction-alone", "MAP", 0.604),
    Claim("results/usps.md", Command("usps"), "raw", "error", 5.63, 2, 100, {"split": "standard"}),
    Claim(TRANSDUCTION, LETOR_2, "rankboost", "MAP", 0.4460, 4, 1, RAW),
    Claim(TRANSDUCTION, LETOR_2, "rankboost", "MAP", 0.4373, 4, 1, SCALED),
    Claim(TRANSDUCTION, LETOR_2, "rankboost", "nDCG-letor@10", 0.4153, 4, 1, SCALED),
    Claim(TRANSDUCTION, LETOR_2, "uniform", "MAP", 0.4435, 4, 1, SCALED),
    Claim(TRANSDUCTION, LETOR_2, "uniform", "nDCG-letor@10", 0.4232, 4, 1, SCALED),
    Claim(TRANSDUCTION, LETOR_3, "rankboost", "MAP", 0.4351, 4, 1, SCALED),
    Claim(TRANSDUCTION, LETOR_3, "uniform", "MAP", 0.4402, 4, 1, SCALED),
    Claim(TRANSDUCTION, TRANS_MQ2008, "rankboost", "MAP", 0.4664, 4, 1, SCALED),
    Claim(TRANSDUCTION, TRANS_MQ2008, "uniform", "MAP", 0.4756, 4, 1, SCALED),
    Claim(PREFERENCE, MQ2008, "linear", "nDCG-letor@10", 0.499, setting={"share": 0.05}),
    Claim(PREFERENCE, MQ2008, "linear", "nDCG-letor@10", 0.515, setting={"share": 1.0}),
    Claim(SEMI_AUC, CACM, "auc-logistic", "AUC", 85.6, 1, 100, {"vectors": "words"}),
    Claim(SEMI_AUC, CACM, "auc-semi", "AUC", 85.8, 1, 100, {"vectors": "words"}),
    Claim(SEMI_AUC, CACM, "auc-semi", "AP", 19.8, 1, 100, {"vectors": "words"}),
    Claim("results/spiral.md", Command("spiral"), "ssbt", "spearman", 1.0),
)
