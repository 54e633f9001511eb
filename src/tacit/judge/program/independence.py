"""Refuse to measure a ranked system with a judge that is the system itself, or a part of it.

A program that ranks by its own grades looks perfect by these grades, and users would have to notice that themselves.
A run is assumed to be the judge's own if its name or tag is the judge's name or contains it (`bm25+gpt-4o`,
`rerank_gpt-4o`), or if its order, or the order of its first 10 documents, follows the judge's grades in all queries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from tacit.core import Judgments, Run, UsageError, checked
from tacit.metrics.rankings import Rankings, join_run

LEAST_NAME = 4  # characters of a name to be searched for inside other names
TOP = 10  # documents per query that a reranking program orders at least
LEAST_PAIRS = 20  # neighbouring pairs with different grades from which an order is no coincidence


@checked
def check_independent(judge: str, program: Judgments, runs: Mapping[str, Run]) -> None:
    """Raise a UsageError that names the run that the judge made or contributed to."""
    for name, run in runs.items():
        for tag in (name, run.name):
            if _is_part(judge, tag):
                raise UsageError(
                    f"judge {judge!r} is also the ranked system {tag!r} or a part of it; a system must not grade itself"
                )
        if follows_grades(program, run):
            raise UsageError(
                f"run {name!r} ranks every query by the grades of judge {judge!r}; a system must not grade itself"
            )


def judge_words(name: str) -> list[str]:
    """Return the words of a judge's name, without its kind of connection and the digest of its prompt.

    >>> judge_words("openai:GPT-4o@1f2e3d4c")
    ['gpt', '4o']
    """
    name = re.sub(r"\.(qrels|txt|tsv|run|gz|xz|bz2|zst)\b", "", name.rsplit("/", 1)[-1])
    return _words(re.sub(r"^(openai|command):|@[0-9a-f]+$", "", name))


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]+", text.lower())


def _is_part(judge: str, run: str) -> bool:
    wanted = judge_words(judge)
    found = judge_words(run)
    if wanted == found:
        return bool(wanted)
    if sum(map(len, wanted)) < LEAST_NAME:
        return False
    return any(found[at : at + len(wanted)] == wanted for at in range(len(found)))


def follows_grades(program: Judgments, run: Run) -> bool:
    """Return whether no document, or none of the first 10, is above another of the same query with a higher grade."""
    rankings, _ = join_run(program, run)
    known = ~np.isnan(rankings.grade)
    return _descends(rankings, known) or _descends(rankings, known & (rankings.place < TOP))


def _descends(rankings: Rankings, used: np.ndarray) -> bool:
    query, grade = rankings.query[used], rankings.grade[used]
    step = np.diff(grade)[query[1:] == query[:-1]]
    return bool((step <= 0).all()) and int((step < 0).sum()) >= LEAST_PAIRS
