"""What to judge next for training.

`strata`: diverse queries first, each the farthest from the queries before it, and three documents of each, one from
each third of the logarithm of the rank. So the top is covered, and so are lower ranks. It suits long lists, where few
documents are relevant and random ones seldom are.

`gain`: of a few pairs drawn at random, the pair that most reduces the uncertainty of all scores. The ranker is assumed
to be linear in the quantiles of features within a list, with an effect of each list, as in `standing`:

    score = w . z,   w ~ N(0, t^2 I),   one judgment is a measurement of w . z with variance v = 5 + s^2 / m,

where 5 is the variance of one logistic judgment at even odds less one list, s^2 the variance of the list effects,
and m the number of judgments of the list. Let A be the posterior covariance of w, and M the covariance of z
over all pairs, weighted by 1 / log2(1 + rank) as in DCG. Judging z lowers the mean variance of scores by

    z' A M A z / (v + z' A z)         (V-optimal design).

Taking the best of a few random pairs, not of all pairs, keeps the sample close to random, because the best of all
are extreme rows. It suits short lists.

`random`: every unjudged pair is equally likely. All strategies draw a stated share this way, and for feature lists
the first 20 pairs, because with fewer labels a learned ranking can be worse than the original order.

Chaloner and Verdinelli, Bayesian experimental design: a review (1995).
"""

from __future__ import annotations

from collections.abc import Collection as Container

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError, check_choice, check_number, checked
from tacit.judge.pool import Pool, Suggestion

STRATEGIES = ("gain", "strata", "random")
RANDOM_SHARE = 0.2
PER_QUERY = 3
N_CANDIDATES = 5
N_RANDOM = 20  # first pairs of feature lists, drawn at random
LONG = 50  # number of documents from which a list is long
NOISE, LIST_VARIANCE, SCORE_SPREAD = 5.0, 2.25, 0.35


@checked
def choose_pairs(
    pool: Pool,
    n: int,
    *,
    judged: Container[tuple[str, str]] = (),
    strategy: str | None = None,
    random_share: float = RANDOM_SHARE,
    seed: int = 0,
) -> list[Suggestion]:
    """Choose n pairs of a pool to judge for training.

    Parameters
    ----------
    pool : Pool
        Candidate pairs.
    n : int
        Number of pairs; all remaining pairs if there are fewer.
    judged : container of (query, document), default=()
        Pairs already judged.
    strategy : {"gain", "strata", "random"} or None, default=None
        None: `gain` for feature lists of fewer than 50 documents (the median), else `strata`.
    random_share : float, default=0.2
        Share of the pairs that is drawn at random; for feature lists the first 20 pairs are random too.
    seed : int, default=0
        Random seed; after more judgments the same seed draws other pairs.
    """
    check_number("n", n, low=1, whole=True)
    check_number("random_share", random_share, low=0, high=1)
    strategy = check_choice("strategy", strategy or default_strategy(pool), STRATEGIES)
    if strategy == "gain" and pool.columns is None:
        raise TacitError("strategy 'gain' needs features of the pairs, want feature lists; or strategy 'strata'")
    known = pool.rows_of(judged)
    rng = np.random.default_rng([seed, len(known)])
    open_rows = np.ones(len(pool), bool)
    open_rows[known] = False
    n_random = 0 if pool.columns is None else N_RANDOM
    propose = {"gain": _Gain, "strata": _Strata, "random": _Random}[strategy](pool, known)
    found: list[Suggestion] = []
    while len(found) < n and open_rows.any():
        lucky = strategy == "random" or len(known) + len(found) < n_random or rng.random() < random_share
        row = _any_row(open_rows, rng) if lucky else propose.row(open_rows, rng)
        open_rows[row] = False
        propose.add(row)
        pair = pool.query_ids[pool.query[row]], pool.doc_ids[row]
        found.append(Suggestion(*pair, int(pool.rank[row]), None, "random" if lucky else strategy))
    return found


def default_strategy(pool: Pool) -> str:
    """Return the strategy that did best in simulations: `strata` for searchers and long lists, else `gain`."""
    lengths = np.bincount(pool.query, minlength=1)
    return "gain" if pool.columns is not None and np.median(lengths[lengths > 0]) < LONG else "strata"


def _any_row(open_rows: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(open_rows)))


class _Random:
    """Draws pairs without any model."""

    def __init__(self, pool: Pool, known: np.ndarray) -> None:
        self.pool = pool

    def row(self, open_rows: np.ndarray, rng: np.random.Generator) -> int:
        return _any_row(open_rows, rng)

    def add(self, row: int) -> None:
        """Note that a pair was chosen."""


class _Gain(_Random):
    """Posterior covariance of the weights of a linear ranker, given which rows are judged."""

    def __init__(self, pool: Pool, known: np.ndarray) -> None:
        assert pool.columns is not None
        self.pool, self.Z = pool, pool.columns
        self.n_judged = np.zeros(len(pool.query_ids))
        discount = 1 / np.log2(1 + pool.rank)
        self.target = (self.Z * discount[:, None]).T @ self.Z / discount.sum()
        variance = SCORE_SPREAD**2 / max(float(np.trace(self.target)), 1e-12)
        self.covariance = np.eye(self.Z.shape[1]) * variance
        for row in known.tolist():
            self.add(row)

    def row(self, open_rows: np.ndarray, rng: np.random.Generator) -> int:
        candidates = rng.choice(np.flatnonzero(open_rows), N_CANDIDATES)
        Z = self.Z[candidates]
        along = Z @ self.covariance
        noise = NOISE + LIST_VARIANCE / (1 + self.n_judged[self.pool.query[candidates]])
        gain = ((along @ self.target) * along).sum(axis=1) / (noise + (along * Z).sum(axis=1))
        return int(candidates[np.argmax(gain)])

    def add(self, row: int) -> None:
        query = self.pool.query[row]
        self.n_judged[query] += 1
        along = self.covariance @ self.Z[row]
        noise = NOISE + LIST_VARIANCE / self.n_judged[query]
        self.covariance -= np.outer(along, along) / (noise + self.Z[row] @ along)


class _Strata(_Random):
    """Prefers queries with the fewest judged documents, and among these the farthest from previous queries."""

    def __init__(self, pool: Pool, known: np.ndarray) -> None:
        self.pool = pool
        self.starts = np.searchsorted(pool.query, np.arange(len(pool.query_ids) + 1))
        self.n_judged = np.bincount(pool.query[known], minlength=len(pool.query_ids))
        self.vectors = _unit_rows(pool.vectors)
        self.nearness = np.full(len(pool.query_ids), -1.0)  # cosine with the nearest query that has judgments
        self.current = -1
        for query in np.flatnonzero(self.n_judged).tolist():
            self._visit(query)

    def row(self, open_rows: np.ndarray, rng: np.random.Generator) -> int:
        left = np.add.reduceat(np.append(open_rows, False), self.starts[:-1]) * (np.diff(self.starts) > 0)
        if self.current < 0 or self.n_judged[self.current] % PER_QUERY == 0 or not left[self.current]:
            rounds = np.where(left > 0, self.n_judged // PER_QUERY, np.iinfo(np.int64).max)
            first = np.flatnonzero(rounds == rounds.min())
            order = np.lexsort((rng.random(len(first)), self.nearness[first]))
            self.current = int(first[order[0]])
        size = int(self.starts[self.current + 1] - self.starts[self.current])
        third = self.n_judged[self.current] % PER_QUERY
        low, high = (np.exp(np.log(size + 1) * part / PER_QUERY) for part in (third, third + 1))
        here = self.starts[self.current] + np.arange(size)
        ranks = np.arange(1, size + 1)
        inside = here[(ranks >= np.floor(low)) & (ranks < max(np.floor(high), low + 1))]
        open_here = inside[open_rows[inside]]
        return int(rng.choice(open_here if len(open_here) else here[open_rows[here]]))

    def add(self, row: int) -> None:
        query = int(self.pool.query[row])
        if not self.n_judged[query]:
            self._visit(query)
        self.n_judged[query] += 1

    def _visit(self, query: int) -> None:
        if self.vectors is not None:
            row = self.vectors[[query]]
            near = self.vectors @ row.T
            near = near.toarray() if sp.issparse(near) else near
            self.nearness = np.maximum(self.nearness, near[:, 0])


def _unit_rows(vectors: np.ndarray | sp.csr_array | None) -> np.ndarray | sp.csr_array | None:
    """Return the vectors scaled to length 1."""
    if vectors is None:
        return None
    length = np.sqrt(np.asarray((vectors * vectors).sum(axis=1)).reshape(-1))
    scale = 1 / np.where(length > 0, length, 1)
    return sp.csr_array(sp.diags_array(scale) @ vectors) if sp.issparse(vectors) else vectors * scale[:, None]
