"""Which pairs to judge to measure a run, or to calibrate a program judge: stratified sampling with known probabilities.

The pool is the first `depth` documents of every query. Its pairs are divided into strata by rank: two halves of the
first k, ranks up to 3 k, and the rest. The first k get `top_share` of the sample, split over their strata in proportion
to the sum of the discounts 1 / log2(rank + 1) of a stratum's pairs. The other strata share the rest likewise. Within a
stratum pairs are drawn at random without replacement: each of its N_h pairs is drawn with probability n_h / N_h.

Every pair has its own random number, a digest of seed, query and document, and the pairs with the smallest numbers of a
stratum are drawn. So a larger sample contains the smaller one, and the next sample of the same pool needs only new
judgments.

To calibrate a program, the strata are its grades. Each gets the same number of pairs, because otherwise the reliability
of a rare grade is hardly known.

Ohlsson, Coordination of samples using permanent random numbers (1995).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence

import numpy as np

from tacit.core import Judgments, Run, TacitError, check_number, checked
from tacit.judge.pool import Pool, Suggestion

DEPTH, CUTOFF, TOP_SHARE = 50, 10, 0.75


@checked
def draw_sample(
    run: Run,
    n: int,
    *,
    judged: Container[tuple[str, str]] = (),
    depth: int = DEPTH,
    k: int = CUTOFF,
    top_share: float = TOP_SHARE,
    seed: int = 0,
) -> list[Suggestion]:
    """Draw a stratified sample of a run's pairs with n pairs that are not yet judged.

    Parameters
    ----------
    run : Run
        The run to measure.
    n : int
        Number of pairs to judge; all remaining pairs if there are fewer.
    judged : container of (query, document), default=()
        Pairs already judged.
    depth : int, default=50
        Depth of the pool.
    k : int, default=10
        Cutoff of the most important measures, such as P@10.
    top_share : float, default=0.75
        Share of the sample for the first k documents, if the pool is deeper.
    seed : int, default=0
        Random seed.

    Returns
    -------
    list of Suggestion
        The whole sample, judged pairs included, by query and rank. The probabilities are for the whole sample.

    Examples
    --------
    >>> run = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    >>> [(draw.document, draw.probability) for draw in draw_sample(run, 2, k=2)]
    [('a', 1.0), ('b', 1.0)]
    """
    check_number("n", n, low=1, whole=True)
    check_number("depth", depth, low=1, whole=True)
    check_number("k", k, low=1, high=1_000_000, whole=True)
    check_number("top_share", top_share, low=0, high=1)
    pool = Pool.from_run(run, depth)
    pairs = [(pool.query_ids[q], doc) for q, doc in zip(pool.query.tolist(), pool.doc_ids, strict=True)]
    stratum, share = strata(pool.rank, k, top_share)
    chance = draw_from_strata(pairs, stratum, share, n, judged=judged, seed=seed)
    return [Suggestion(*pairs[row], int(pool.rank[row]), chance[row], "measuring") for row in sorted(chance)]


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
    grades, known = program.grade, ranks or {}
    return [Suggestion(*pairs[row], known.get(pairs[row], 0), p, f"grade {grades[row]:g}") for row, p in chance.items()]


def strata(rank: np.ndarray, k: int, top_share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the stratum of each pair, and each stratum's share of the sample; no stratum is empty."""
    _, stratum = np.unique(np.digitize(rank, [k // 2 + 1, k + 1, 3 * k + 1]), return_inverse=True)
    share = np.bincount(stratum, 1 / np.log2(rank + 1))
    top = np.array([rank[stratum == h].max() <= k for h in range(len(share))])
    for part, wanted in ((top, top_share), (~top, 1 - top_share)):
        if top.any() and not top.all():
            share[part] *= wanted / share[part].sum()
    return stratum, share / share.sum()


def draw_from_strata(
    pairs: Sequence[tuple[str, str]],
    stratum: np.ndarray,
    share: np.ndarray,
    n: int,
    *,
    judged: Container[tuple[str, str]],
    seed: int,
) -> dict[int, float]:
    """Draw pairs until n of them are not judged; return the drawn rows, stratum by stratum, with their probabilities.

    Parameters
    ----------
    pairs : sequence of (query, document)
        The pool.
    stratum : ndarray of shape (n_pairs,), int
        Stratum of each pair; no stratum is empty.
    share : ndarray of shape (n_strata,)
        Share of each stratum in the sample.
    n, judged, seed
        As in `draw_sample`.
    """
    number = np.array([random_number(seed, *pair) for pair in pairs])
    members = [np.flatnonzero(stratum == h) for h in range(len(share))]
    members = [rows[np.argsort(number[rows], kind="stable")] for rows in members]
    sizes = allocate(members, share, n, np.array([pair in judged for pair in pairs]))
    return {
        row: size / len(rows)
        for rows, size in zip(members, sizes, strict=True)
        for row in np.sort(rows[:size]).tolist()
    }


def allocate(members: list[np.ndarray], share: np.ndarray, n: int, judged: np.ndarray) -> list[int]:
    """Return the pairs per stratum: add one at a time to the stratum most below its share, until n are not judged."""
    sizes, limits = np.zeros(len(share)), np.array([len(rows) for rows in members])
    while n > 0 and (sizes < limits).any():
        need = np.where(sizes < limits, np.maximum(share, 1e-12) / (sizes + 0.5), -1)
        h = int(np.argmax(need))
        n -= not judged[members[h][int(sizes[h])]]
        sizes[h] += 1
    return [int(size) for size in sizes]


def random_number(seed: int, query: str, document: str) -> float:
    """Return the permanent random number of a pair, from 0 to 1."""
    digest = hashlib.blake2b(f"{seed}\0{query}\0{document}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
