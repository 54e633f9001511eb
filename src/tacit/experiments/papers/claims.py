"""The sample of printed numbers that `tacit reproduce papers --check` computes again.

A claim is on a page of `docs/`, where a line names the system and has the printed number. Claims of one command are
consecutive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
