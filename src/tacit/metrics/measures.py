"""A measure is a name with few options, written as one string. `formulas` lists the measures and computes them.

    name ["-judged"] ["(rel=" level ")"] ["@" cutoff]        AP   P@10   nDCG-judged@5   AP-judged(rel=2)@100

name: a key of `formulas.KINDS`; case is ignored, and MAP, MRR, Precision and Recall are read as AP, RR, P and R.
-judged: unjudged documents are removed from the ranking before measuring.
rel: the lowest relevant grade, 1 by default. cutoff: the number of first documents to consider.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tacit.core import UsageError, check_kind, check_number, checked, shown
from tacit.metrics.formulas import KINDS

ALIASES = {"map": "AP", "mrr": "RR", "precision": "P", "recall": "R"}
NAMES = {name.lower(): name for name in KINDS} | ALIASES

# Measures, ours or an experiment's, for which less is better.
LOSSES = (*(name for name, kind in KINDS.items() if kind.is_loss), "error", "harmful")

PATTERN = re.compile(r"(?P<name>[^(@]*?)(?P<judged>-judged)?(\(rel=(?P<rel>[^)]*)\))?(@(?P<cutoff>.*))?", re.I | re.S)


@dataclass(frozen=True)
class Measure:
    """A measure with its options; `str()` gives the name that `parse_measure` reads.

    Parameters
    ----------
    name : str
        Name, such as "nDCG".
    cutoff : int, default=None
        Number of ranks to consider.
    rel : float, default=1
        Smallest grade of a relevant document.
    judged_only : bool, default=False
        Remove unjudged documents before measuring.

    Examples
    --------
    >>> str(Measure("AP", cutoff=100, rel=2, judged_only=True))
    'AP-judged(rel=2)@100'
    """

    name: str
    cutoff: int | None = None
    rel: float = 1
    judged_only: bool = False

    def __post_init__(self) -> None:
        if check_kind("measure", self.name, str, "the name of a measure") not in KINDS:
            raise UsageError(f"measure is {self.name!r}, want one of {', '.join(KINDS)}{_hint(self.name)}")
        check_number(f"rel of {self.name}", self.rel, low=0, open_low=True)
        check_kind(f"judged_only of {self.name}", self.judged_only, bool, "True or False")
        kind = KINDS[self.name]
        if self.cutoff is None and kind.cutoff == "needed":
            raise UsageError(f"measure {self.name} has no cutoff, want one as in {self.name}@10")
        if self.cutoff is not None and kind.cutoff == "none":
            raise UsageError(f"measure {self.name} has the cutoff {self.cutoff}, but it always covers the full list")
        if self.rel != 1 and not kind.rel:
            raise UsageError(f"measure {self.name} has rel={self.rel:g}, but it has no relevance level")
        if self.judged_only and not kind.judged_only:
            raise UsageError(f"measure {self.name}-judged is unknown: {self.name} uses judged documents only")
        if self.cutoff is not None:
            check_number(f"cutoff of {self.name}", self.cutoff, low=1, whole=True)

    def __str__(self) -> str:
        judged = "-judged" if self.judged_only else ""
        rel = "" if self.rel == 1 else f"(rel={self.rel:g})"
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}{judged}{rel}{cutoff}"


def parse_measure(text: str | Measure) -> Measure:
    """Read a measure from its name; a Measure is returned unchanged.

    >>> parse_measure("ndcg@10"), str(parse_measure("MAP-judged"))
    (Measure(name='nDCG', cutoff=10, rel=1, judged_only=False), 'AP-judged')
    >>> parse_measure("P@ten")
    Traceback (most recent call last):
    tacit.core.errors.UsageError: measure 'P@ten': the cutoff is 'ten', want a whole number >= 1, as in P@10
    """
    if isinstance(text, Measure):
        return text
    match = PATTERN.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise UsageError(f"measure is {shown(text)}, want a name such as AP, nDCG@10, P(rel=2)@5 or AP-judged")
    name = NAMES.get(match["name"].lower(), match["name"])
    return Measure(
        name=name,
        cutoff=None if match["cutoff"] is None else _read_cutoff(text, name, match["cutoff"]),
        rel=1 if match["rel"] is None else _read_level(text, match["rel"]),
        judged_only=match["judged"] is not None,
    )


@checked
def is_loss(metric: str) -> bool:
    """Return whether less is better, by the measure's name.

    >>> is_loss("rank_loss(rel=2)"), is_loss("AP")
    (True, False)
    """
    return re.split(r"[(@]", metric, maxsplit=1)[0] in LOSSES


def _read_cutoff(text: str, name: str, cutoff: str) -> int:
    # isdecimal alone would accept digits of other scripts, which print differently than they were typed.
    if cutoff.isascii() and cutoff.isdecimal() and 0 < len(cutoff) < 10 and int(cutoff) >= 1:
        return int(cutoff)
    raise UsageError(f"measure {text!r}: the cutoff is {cutoff!r}, want a whole number >= 1, as in {name}@10")


def _read_level(text: str, level: str) -> float:
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", level, re.ASCII) and float(level) > 0:
        return int(level) if level.isdecimal() else float(level)
    raise UsageError(f"measure {text!r}: rel is {level!r}, want a grade above 0, as in AP(rel=2)")


def _hint(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name.lower(), NAMES, n=1)
    return f"; did you mean {NAMES[near[0]]!r}?" if near else ""
