"""Which pairs people should judge next to calibrate a program judge.

The strata are the grades of the program. Each gets the same number of pairs, because otherwise the reliability of a
rare grade is hardly known. Within a grade, pairs are drawn at random with a known probability. As in `sampling`, every
pair has its own random number, so a larger sample contains the smaller one.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Mapping

import numpy as np

from tacit.core import Judgments, TacitError, check_number
from tacit.judge.pool import Suggestion
from tacit.judge.sampling import draw_from_strata


def draw_calibration(
    program: Judgments,
    n: int,
    *,
    judged: Container[tuple[str, str]] = (),
    ranks: Mapping[tuple[str, str], int] | None = None,
    seed: int = 0,
) -> list[Suggestion]:
    """Draw pairs that a program judged, evenly over its grades; n of them are not yet judged by people.

    Parameters
    ----------
    program : Judgments
        The program's grades.
    n : int
        Number of pairs to judge; all remaining pairs if there are fewer.
    judged : container of (query, document), default=()
        Pairs judged by people.
    ranks : mapping of (query, document) to int, default=None
        Rank of pairs in the results.
    seed : int, default=0
        Random seed.

    Returns
    -------
    list of Suggestion
        The whole sample, judged pairs included, with the probabilities of the whole sample; rank 0 is unknown.

    Examples
    --------
    >>> program = Judgments.from_dict({"q": {"a": 0, "b": 0, "c": 0, "d": 3}})
    >>> sorted((s.probability, s.why) for s in draw_calibration(program, 2))
    [(0.3333333333333333, 'grade 0'), (1.0, 'grade 3')]
    """
    check_number("n", n, low=1, whole=True)
    if not len(program):
        raise TacitError("the program judged no pair, so there is nothing to calibrate")
    levels, stratum = np.unique(program.grade, return_inverse=True)
    pairs = [
        (program.query_ids[q], program.doc_ids[d])
        for q, d in zip(program.query.tolist(), program.doc.tolist(), strict=True)
    ]
    share = np.full(len(levels), 1 / len(levels))
    chance = draw_from_strata(pairs, stratum, share, n, judged=judged, seed=seed)
    known = ranks or {}
    return [
        Suggestion(*pairs[row], known.get(pairs[row], 0), chance[row], f"grade {program.grade[row]:g}")
        for row in chance
    ]
