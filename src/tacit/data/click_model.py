"""Estimates of relevance from clicks on shown documents, given their positions.

Clicks depend on the position of a document as well as on its relevance. The model compares the clicks of a document
with the clicks of a typical document at the same positions (clicks over expected clicks: Zhang and Jones 2007):

    C_d        clicks on d                      E_d = sum over showings of d of p(position)
    p(r, g)    c r^-s m_r m_rg                  r is the rank, g the distance to the last click above, or none

c and s are fitted to the log; s is at least MIN_SLOPE. The factors m are observed over expected clicks at a rank (m_r)
and at a rank and distance (m_rg), shrunk to 1. The distance distinguishes users who stop after a click from users who
continue (as in the user browsing model: Dupret and Piwowarski 2008). A query counts as at most SESSIONS_PER_QUERY
sessions in c, s and m, so that one frequent query does not define its own norm.

Half of the decay of clicks by rank is attributed to relevance, the other half to attention. So before any click the
relevance of a document shown at rank r is r^(-s/2), and

    C_d ~ Poisson(E_d u_d),   u_d ~ Gamma(k, k),   relevance of d = r^(-s/2) u_d

The posterior of u_d is Gamma(C_d + k, E_d + k). k is the number of expected clicks at which clicks count as much as the
shown ranking. It maximises the likelihood with a log-normal prior around PRIOR_CLICKS. So documents without clicks keep
their position, a few sessions have little effect, and in a log of random clicks all documents are equal.

Counts without positions have no p: every document of a query has the same expected clicks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because it takes as long as NumPy

from tacit.core import Lists
from tacit.data.preferences import Preferences

if TYPE_CHECKING:
    from tacit.data.clicks import Session

MIN_SLOPE, MAX_SLOPE = 0.5, 3.0
SLOPES = np.linspace(MIN_SLOPE, MAX_SLOPE, 51)
MAX_DISTANCE = 10  # between two clicks; larger distances count as one
SESSIONS_PER_QUERY = 5.0
SHRINKAGE = 5.0  # expected clicks at which a factor m is half its observed value
PRIOR_CLICKS = 8.0  # of k
STRENGTHS = 2.0 ** np.arange(-1.0, 11.0, 0.25)
MIN_CONFIDENCE = 0.01  # minimum of the preferences kept


@dataclass(frozen=True)
class ClickEstimates:
    """Estimated relevance of the shown documents of each query.

    Parameters
    ----------
    queries, docs : list of str
        Query and document of each estimate.
    clicks : ndarray of shape (n,), float64
        Number of clicks.
    expected : ndarray of shape (n,), float64
        Clicks of a typical document at the same positions.
    log_prior : ndarray of shape (n,), float64
        Logarithm of the relevance before any click, by the shown rank.
    strength : float
        k of the prior.
    slope : float
        s: clicks fall with the rank r as r^-s.
    name : str
        Source, for messages.
    """

    queries: list[str]
    docs: list[str]
    clicks: np.ndarray
    expected: np.ndarray
    log_prior: np.ndarray
    strength: float
    slope: float
    name: str = "clicks"

    @property
    def relevance(self) -> np.ndarray:
        """Return the posterior mean of the relevance, (n,); the documents of a query are ordered by it."""
        values: np.ndarray = np.exp(self.log_prior) * (self.clicks + self.strength) / (self.expected + self.strength)
        return values

    def within(self, queries: Iterable[str]) -> ClickEstimates:
        """Return the estimates of these queries."""
        known = set(queries)
        kept = np.array([query in known for query in self.queries], bool)
        return replace(
            self,
            queries=[self.queries[row] for row in np.flatnonzero(kept)],
            docs=[self.docs[row] for row in np.flatnonzero(kept)],
            clicks=self.clicks[kept],
            expected=self.expected[kept],
            log_prior=self.log_prior[kept],
        )

    def __len__(self) -> int:
        return len(self.queries)

    def preferences(self, lists: Lists | None = None) -> Preferences:
        """Return every two documents of a query, the more relevant first, weighted by confidence.

        The weight is 2 P - 1, where P is the probability that the first is more relevant (normal approximation of the
        posteriors' logarithms). With `lists`, each query gets as many documents that were not shown as documents that
        were, from the rows of its list; their rank is assumed in the middle below the shown ones.
        """
        shape, rate = self.clicks + self.strength, self.expected + self.strength
        centre = self.log_prior + scipy.special.digamma(shape) - np.log(rate)
        variance = scipy.special.polygamma(1, shape)
        below = {} if lists is None else {query: number for number, query in enumerate(lists.query_ids)}
        names = [] if lists is None else lists.document_names()
        statements: list[tuple[str, str, str, float]] = []
        for query, rows in self._rows_by_query().items():
            docs = [self.docs[row] for row in rows]
            values = np.column_stack([centre[rows], variance[rows]])
            if lists is not None and query in below:
                others = _spread(sorted(set(names[lists.rows(below[query])]) - set(docs)), len(docs))
                n_ranks = int(np.diff(lists.starts)[below[query]])
                values = np.vstack([values, np.tile(self._unshown(len(docs), n_ranks), (len(others), 1))])
                docs += others
            statements += [(query, *pair) for pair in _ordered(docs, values, len(rows))]
        columns = list(zip(*statements, strict=True)) or [(), (), (), ()]
        return Preferences(list(columns[0]), list(columns[1]), list(columns[2]), np.array(columns[3], np.float64))

    def _unshown(self, n_shown: int, n_ranks: int) -> tuple[float, float]:
        """Return centre and variance of the log relevance of documents below the shown ones."""
        rank = (n_shown + 1 + max(n_ranks, n_shown + 1)) / 2
        centre = -0.5 * self.slope * np.log(rank) + scipy.special.digamma(self.strength) - np.log(self.strength)
        return float(centre), float(scipy.special.polygamma(1, self.strength))

    def rows(self, lists: Lists, *, skip_unknown: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return preferences between rows of lists and their weights, as `Preferences.rows` does."""
        return self.preferences(lists).rows(lists, skip_unknown=skip_unknown)

    def _rows_by_query(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, query in enumerate(self.queries):
            rows.setdefault(query, []).append(row)
        return rows


def _spread(names: list[str], n: int) -> list[str]:
    """Return at most n of the names, evenly spaced."""
    return [names[i] for i in np.unique(np.linspace(0, len(names) - 1, n).round().astype(int))] if names else []


def _ordered(docs: list[str], values: np.ndarray, n_shown: int) -> list[tuple[str, str, float]]:
    """Return (better, worse, confidence) of every two documents of which at least one was shown."""
    first, second = np.triu_indices(len(docs), 1)
    kept = first < n_shown
    first, second = first[kept], second[kept]
    z = (values[first, 0] - values[second, 0]) / np.sqrt(values[first, 1] + values[second, 1])
    confidence = 2 * scipy.special.ndtr(np.abs(z)) - 1
    return [
        (docs[a], docs[b], c) if ahead else (docs[b], docs[a], c)
        for a, b, ahead, c in zip(first.tolist(), second.tolist(), (z > 0).tolist(), confidence.tolist(), strict=True)
        if c >= MIN_CONFIDENCE
    ]


@dataclass(frozen=True)
class _Views:
    """Every showing of a document: its (query, document) pair, query, position, clicks, and frequency."""

    pair: np.ndarray
    query: np.ndarray
    rank: np.ndarray
    distance: np.ndarray  # 0: no click above
    clicks: np.ndarray
    times: np.ndarray
    names: list[tuple[str, str]]

    @classmethod
    def of(cls, sessions: Iterable[Session]) -> _Views:
        pair_of, query_of = dict[tuple[str, str], int](), dict[str, int]()
        columns: list[tuple[int, int, int, int, float, float]] = []
        for session in sessions:
            query, last = query_of.setdefault(session.query, len(query_of)), 0
            for rank, doc in enumerate(session.shown, start=1):
                pair = pair_of.setdefault((session.query, doc), len(pair_of))
                clicked = doc in session.clicked
                distance = min(rank - last, MAX_DISTANCE) if last else 0
                columns.append((pair, query, rank, distance, session.times * clicked, session.times))
                last = rank if clicked else last
        table = np.array(columns, np.float64).reshape(-1, 6)
        pair, query, rank, distance = table[:, :4].T.astype(np.int64)
        return cls(pair, query, rank, distance, table[:, 4], table[:, 5], list(pair_of))


def estimate_clicks(sessions: Iterable[Session], name: str = "clicks") -> ClickEstimates:
    """Estimate the relevance of the documents in sessions.

    Parameters
    ----------
    sessions : iterable of Session
        Documents shown, in order, and clicked.
    name : str, default="clicks"
        Source, for messages.

    Returns
    -------
    ClickEstimates

    Examples
    --------
    >>> from tacit.data.clicks import Session
    >>> shown = ("a", "b", "c")
    >>> for times in (1.0, 100.0):
    ...     found = estimate_clicks([Session("q", shown, frozenset("c"), times, 1)])
    ...     [found.docs[row] for row in np.argsort(-found.relevance)]
    ['a', 'c', 'b']
    ['c', 'b', 'a']
    """
    views = _Views.of(sessions)
    chance, slope = _position_effects(views)
    clicks, expected, times, log_rank = (
        np.bincount(views.pair, weights, len(views.names))
        for weights in (views.clicks, views.times * chance, views.times, views.times * np.log(views.rank))
    )
    return _posterior(views.names, clicks, expected, -0.5 * slope * log_rank / times, slope, name)


def estimate_counts(counts: dict[tuple[str, str], float], name: str = "clicks") -> ClickEstimates:
    """Estimate relevance from clicks without positions; all documents of a query have equal expected clicks."""
    clicks = np.array(list(counts.values()))
    _, query = np.unique([query for query, _ in counts], return_inverse=True)
    mean = np.bincount(query, clicks) / (np.bincount(query) + 1)  # plus one document without clicks
    return _posterior(list(counts), clicks, mean[query], np.zeros(len(clicks)), MIN_SLOPE, name)


def _posterior(
    names: list[tuple[str, str]],
    clicks: np.ndarray,
    expected: np.ndarray,
    log_prior: np.ndarray,
    slope: float,
    name: str,
) -> ClickEstimates:
    queries, docs = [query for query, _ in names], [doc for _, doc in names]
    return ClickEstimates(queries, docs, clicks, expected, log_prior, _strength(clicks, expected), slope, name)


def _position_effects(views: _Views) -> tuple[np.ndarray, float]:
    """Return the probability of a click on a typical document at each view's position, and the slope s."""
    sessions = np.bincount(views.query, views.times * (views.rank == 1))
    weight = np.minimum(1.0, SESSIONS_PER_QUERY / np.maximum(sessions, 1.0))[views.query]
    shown, clicked = weight * views.times, weight * views.clicks
    chance, slope = _power_law(views.rank, shown, clicked)
    for context in (views.rank, views.rank * (MAX_DISTANCE + 1) + views.distance):
        _, code = np.unique(context, return_inverse=True)
        observed, expected = (np.bincount(code, values) for values in (clicked, shown * chance))
        chance = np.minimum(chance * ((observed + SHRINKAGE) / (expected + SHRINKAGE))[code], 1.0)
    return chance, slope


def _power_law(rank: np.ndarray, shown: np.ndarray, clicked: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit c r^-s by maximum likelihood of Poisson counts over a grid of s."""
    ranks, code = np.unique(rank, return_inverse=True)
    n_shown, n_clicked = np.bincount(code, shown), np.bincount(code, clicked)
    shapes = ranks[:, None] ** -SLOPES
    likelihood = n_clicked @ np.log(shapes) - n_clicked.sum() * np.log(n_shown @ shapes)
    best = int(np.argmax(likelihood))
    level = n_clicked.sum() / (n_shown @ shapes[:, best])
    return np.minimum(level * shapes[code, best], 1.0), float(SLOPES[best])


def _strength(clicks: np.ndarray, expected: np.ndarray) -> float:
    """Fit k by the negative binomial likelihood of the clicks and a log-normal prior."""
    k, mean = STRENGTHS[:, None], np.maximum(expected, 1e-12)
    log_likelihood = (
        scipy.special.gammaln(clicks + k)
        - scipy.special.gammaln(k)
        + k * np.log(k / (k + mean))
        + clicks * np.log(mean / (k + mean))
    ).sum(axis=1)
    prior = -0.5 * np.log(STRENGTHS / PRIOR_CLICKS) ** 2
    return float(STRENGTHS[np.argmax(log_likelihood + prior)])
