"""Which pairs to judge to compare systems: a stratified sample of the union of their results.

For choosing, a pair matters as much as the runs disagree about it: the range of its discounts 1 / log2(rank + 1), with
0 below rank 10. That range is the most that its grade can change a difference of DCG@10. Pairs that all runs have at
the same rank, or below rank 10, are skipped. Four strata by this range get shares of the sample in proportion to its
sum, so the most disputed pairs are judged first. For measuring, the pool is every document in the first `depth` results
of any run. The strata are defined as in `sampling`, by the best rank of the pair in any run.

Within a stratum pairs are drawn at random, with the permanent random numbers of `sampling`: each pair has a known
probability, and a larger sample contains the smaller one.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Mapping

import numpy as np

from tacit.core import Collection, Run, TacitError, check_choice, check_number
from tacit.judge.fuse.legs import Legs
from tacit.judge.next import drawn_records
from tacit.judge.pool import Suggestion
from tacit.judge.sampling import CUTOFF, DEPTH, TOP_SHARE, draw_from_strata, strata
from tacit.judge.store import JudgmentStore

PURPOSES = ("choosing", "measuring")
N_STRATA = 4


def draw_across(
    runs: Mapping[str, Run],
    n: int,
    *,
    purpose: str = "choosing",
    judged: Container[tuple[str, str]] = (),
    depth: int = DEPTH,
    seed: int = 0,
) -> list[Suggestion]:
    """Draw pairs whose judgments help to choose between runs; n of them are not yet judged.

    Parameters
    ----------
    runs : mapping of str to Run
        Two or more runs by name.
    n : int
        Number of pairs to judge; all remaining pairs if there are fewer.
    purpose : {"choosing", "measuring"}, default="choosing"
        Choose between the runs, or measure each of them.
    judged : container of (query, document), default=()
        Pairs already judged.
    depth : int, default=50
        Number of results of each run to consider; for choosing only the first 10 count.
    seed : int, default=0
        Random seed.

    Returns
    -------
    list of Suggestion
        The whole sample, judged pairs included, the most disputed first; `rank` is the best rank.

    Examples
    --------
    >>> a, b = Run.from_dict({"q": {"x": 3.0, "y": 2.0, "z": 1.0}}), Run.from_dict({"q": {"x": 3.0, "z": 2.0}})
    >>> [(pair.document, pair.probability) for pair in draw_across({"a": a, "b": b}, 9)]
    [('y', 1.0), ('z', 1.0)]
    """
    check_number("n", n, low=1, whole=True)
    check_number("depth", depth, low=1, whole=True)
    check_choice("purpose", purpose, PURPOSES)
    legs = Legs.from_runs(runs)
    ranks = np.where(legs.ranks <= depth, legs.ranks, np.inf)  # NaN is not below the depth
    best, dispute = ranks.min(axis=1), disagreement(np.where(ranks <= CUTOFF, ranks, np.inf))
    rows = np.flatnonzero(np.isfinite(best) & ((dispute > 0) | (purpose == "measuring")))
    if not len(rows):
        raise TacitError("all runs have the same results in the same order, so there is nothing to decide")
    pairs = [(legs.query_ids[legs.query[row]], legs.doc_ids[legs.doc[row]]) for row in rows.tolist()]
    if purpose == "measuring":
        stratum, share = strata(best[rows], CUTOFF, TOP_SHARE)
    else:
        stratum, share = _dispute_strata(dispute[rows])
    chance = draw_from_strata(pairs, stratum, share, n, judged=judged, seed=seed)
    order = sorted(chance, key=lambda row: (-dispute[rows[row]], row))
    return [Suggestion(*pairs[row], int(best[rows[row]]), chance[row], purpose) for row in order]


def what_to_judge_across(
    runs: Mapping[str, Run],
    n: int,
    *,
    purpose: str = "choosing",
    store: JudgmentStore | None = None,
    judge: str | None = None,
    queries: Collection | None = None,
    depth: int = DEPTH,
    seed: int = 0,
) -> list[Suggestion]:
    """Return the pairs of such a sample that are not judged in a store; the store keeps their probabilities.

    Parameters
    ----------
    runs, n, purpose, depth, seed
        See `draw_across`.
    store : JudgmentStore or None, default=None
        Pairs judged in the store are skipped, and the sample is recorded in it.
    judge : str or None, default=None
        Skip only pairs that this judge has judged.
    queries : Collection or None, default=None
        Texts of the queries, for the store.
    """
    judged = set() if store is None else store.judged(judge)
    sample = draw_across(runs, n, purpose=purpose, judged=judged, depth=depth, seed=seed)
    if store is not None:
        if queries is not None:
            asked = {pair.query for pair in sample}
            store.add_queries(queries.take([row for row, name in enumerate(queries.ids) if name in asked]))
        store.record_draw(drawn_records(sample, "+".join(runs)))
    return [pair for pair in sample if (pair.query, pair.document) not in judged]


def disagreement(ranks: np.ndarray) -> np.ndarray:
    """Return the range of the discounts of each row; ranks (n_rows, n_runs), infinite where a run lacks the row.

    >>> disagreement(np.array([[1.0, 1.0], [1.0, np.inf], [3.0, np.inf]])).tolist()
    [0.0, 1.0, 0.5]
    """
    discounts = 1 / np.log2(ranks + 1)
    return np.asarray(discounts.max(axis=1) - discounts.min(axis=1))


def _dispute_strata(dispute: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the stratum of each pair by disagreement, the least first, and each stratum's share of the sample."""
    limits = dispute.max() / 2.0 ** np.arange(N_STRATA - 1, 0, -1)
    _, stratum = np.unique(np.digitize(dispute, limits), return_inverse=True)
    share = np.bincount(stratum, dispute)
    return stratum, share / share.sum()
