"""Queries that were asked before: what clicks have taught about their answers.

A query is known if the log has one of the same words. Before any click, an item that the blend ranks at r is taken to
have the relevance r^(-s/2), as the click model takes it of the shown ranking (see `data.click_model`). Then

    C ~ Poisson(e u),   u ~ Gamma(k, k),   e = E r^(-s/2) / (relevance by the shown rank)

C is the number of clicks on the item and E the number that a typical item at the same positions gets, so that e is the
number that an item of this relevance gets. The item is moved to the rank of its posterior relevance,

    rho = r (u')^(-2/s),   u' = (C + k) / (e + k)

by adding the difference of the blend's own scores at rho and at r to its score: with few clicks it stays where it is,
with many its place is that of the clicks, whatever the blend said. Items that were not shown keep their scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Shown, cut, track
from tacit.retrieve.blend.vectors import split_vectors
from tacit.retrieve.factors import Words

if TYPE_CHECKING:
    from tacit.retrieve.blend.scoring import BlendScores

DEPTH = 100  # ranks of the blend that are told apart; items below can only rise
STEEP = 10  # ranks whose scores tell how scores go on above the first
FLATTEST = 1e-3  # of the best score: how much scores fall over these ranks at least
LEAST = 1e-6  # a smaller change of a score, as part of the best one, is none
BLOCK = 256  # queries that are ranked at a time


class Known(NamedTuple):
    """Known queries, and what clicks add to the scores of items.

    Attributes
    ----------
    queries : csr_array of shape (n_known, n_features), float32
        Counts of words.
    gains : csr_array of shape (n_items, n_known), float32
        What is added.
    """

    queries: sp.csr_array
    gains: sp.csr_array


class Evidence(NamedTuple):
    """Items that were shown for one query, each once: its row, clicks, expected clicks, log of the prior by rank."""

    items: np.ndarray
    clicks: np.ndarray
    expected: np.ndarray
    log_prior: np.ndarray


def keys_of(queries: sp.csr_array) -> list[bytes]:
    """The words of each query and their counts, as one value that can be compared; empty for a query without words."""
    rows = queries.copy()
    rows.sum_duplicates()
    words, counts, borders = rows.indices.astype(np.int64), rows.data.astype(np.float32), rows.indptr.tolist()
    return [words[start:stop].tobytes() + counts[start:stop].tobytes() for start, stop in pairwise(borders)]


def place_among(known: dict[bytes, int], query: sp.csr_array) -> Words:
    """The place of one query among the known ones, with value 1; empty if it is not known."""
    place = known.get(keys_of(query)[0])
    found = np.array([] if place is None else [place], np.int32)
    return Words(found, np.ones(len(found), np.float32))


def learn_known(blend: BlendScores, queries: sp.csr_array, shown: Shown) -> Known:
    """What clicks add to the scores of a blend that has all but that; queries may have vectors beside their words."""
    words, _ = split_vectors(queries, blend.n_features_)
    keys, views = keys_of(words), dict[bytes, list[int]]()
    for view, query in enumerate(shown.queries.tolist()):
        if keys[query]:
            views.setdefault(keys[query], []).append(view)
    asked = [shown.queries[found[0]] for found in views.values()]
    rows, evidence = sp.csr_array(queries[asked]), [_evidence(shown, found) for found in views.values()]
    found = list[tuple[np.ndarray, np.ndarray]]()
    for block in track(cut(len(asked), BLOCK), "clicked queries"):
        best = blend.rank(rows[block], DEPTH, threads=blend.threads)
        for row, items, scores in zip(range(block.start, block.stop), best.items, best.scores, strict=True):
            found.append(_gains(blend, rows[[row]], items[items >= 0], scores[items >= 0], evidence[row], shown))
    changed = [row for row, (items, _) in enumerate(found) if len(items)]
    gains = _columns([found[row] for row in changed], blend.n_items_)
    return Known(sp.csr_array(words[asked][changed]).astype(np.float32), gains)


def _evidence(shown: Shown, views: Sequence[int]) -> Evidence:
    """What was shown for queries of the same words, added up item by item."""
    items, place = np.unique(shown.items[views], return_inverse=True)
    clicks, expected, log_prior = shown.clicks[views], shown.expected[views], shown.log_prior[views]
    sums = [np.bincount(place, values) for values in (clicks, expected, expected * log_prior)]
    return Evidence(items, sums[0], sums[1], sums[2] / np.maximum(sums[1], 1e-300))


def _gains(
    blend: BlendScores, query: sp.csr_array, best: np.ndarray, scores: np.ndarray, evidence: Evidence, shown: Shown
) -> tuple[np.ndarray, np.ndarray]:
    """Items whose scores change, rising, and by how much; `best` and `scores` are the answers of the blend."""
    if not len(best):
        return np.empty(0, np.int64), np.empty(0, np.float32)
    rank_of = dict(zip(best.tolist(), range(1, len(best) + 1), strict=True))
    ranks = np.array([rank_of.get(item, len(best)) for item in evidence.items.tolist()], np.float64)
    before = np.array(scores[ranks.astype(np.int64) - 1], np.float64)
    below = np.array([item not in rank_of for item in evidence.items.tolist()])
    before[below] = blend.scores_at(query, evidence.items[below])
    log_ranks, half = np.log(ranks), shown.slope / 2
    expected = evidence.expected * np.exp(-half * log_ranks - evidence.log_prior)
    rise = np.log((evidence.clicks + shown.strength) / (expected + shown.strength))
    gains = _scores_at_ranks(scores.astype(np.float64), log_ranks - rise / half) - before
    gains[below & (rise <= 0)] = 0
    changed = np.abs(gains) > LEAST * abs(float(scores[0]))
    return evidence.items[changed], gains[changed].astype(np.float32)


def _scores_at_ranks(scores: np.ndarray, log_ranks: np.ndarray) -> np.ndarray:
    """Falling scores of ranks 1, 2, … read at other ranks: linear in the logarithm, and on above the first."""
    known = np.log(np.arange(1, len(scores) + 1))
    last = min(STEEP, len(scores)) - 1
    fall = (scores[0] - scores[last]) / max(known[last], 1.0)
    above = np.minimum(log_ranks, 0) * max(fall, FLATTEST * abs(scores[0]))
    found: np.ndarray = np.interp(log_ranks, known, scores) - above
    return found


def _columns(parts: Sequence[tuple[np.ndarray, np.ndarray]], n_rows: int) -> sp.csr_array:
    """A sparse matrix from the rows and values of its columns."""
    borders = np.cumsum([0, *(len(rows) for rows, _ in parts)])
    rows, values = (np.concatenate([part[side] for part in parts]) for side in (0, 1)) if parts else ([], [])
    columns = sp.csc_array((np.asarray(values, np.float32), rows, borders), shape=(n_rows, len(parts)))
    return sp.csr_array(columns)
