"""Measures the weight of vectors of another model without labels: pure functions from arrays of scores to a weight.

The quality of vectors is unknown before they are measured. Some items are used as queries for other items, and the
vectors' scores of the first items by BM25 are compared with scores computed from words: BM25, the member `latent`, the
cosine of tf-idf, and two truncated singular value decompositions of the same words (`references`).

1. *New information.* R2 is the share of the variance of their scores that the scores from words explain. Vectors made
   from the same words, such as LSI, are explained.
2. *Reliability.* r is the correlation of what is left, between two halves of the dimensions (after a rotation that
   mixes them), where c . v_i is explained too (c is the mean vector). What a good encoder knows is in both halves. What
   is left of random vectors, of averages of random word vectors and of LSI is mostly noise, which the halves do not
   share.
3. *Sharpness.* z is how far the 10 nearest items by BM25 are above all other items by vectors, in standard deviations,
   divided by the same for `latent`.

With an encoder, queries are also taken from items (`Probes`): a title or a sentence, for which the item itself is the
relevant result. rho is the mean reciprocal rank by vectors divided by the mean reciprocal rank by BM25, each minus its
value by chance; R2 is measured on these queries; m is the largest weight that keeps .97 of the mean reciprocal rank of
BM25 and `latent` with titles as queries. If there are few titles, or titles are names that words do not find, m is the
largest weight that keeps .9 of the mean reciprocal rank with sentences as queries, because words find sentences too
easily.

    weight = min(m, 8 min(1, rho / .9)^6 clip((.75 - R2) / .15, 0, 1)) clip((r - .25) / .15, 0, 1)

Random vectors, and item vectors of another model than the query vectors, find nothing and get weight 0. The rank of an
item is the worse of two: with its vector as given, and with its vector computed without the query. This also detects
given vectors of another model than the encoder.

Without an encoder nothing is known of queries when the weight is measured:

    weight = 7 s(z) clip((.75 - R2) / .15, 0, 1) clip((r - .45) / .12, 0, 1)

s(z) rises from 0 to 1 between z = .42 and .7, and falls to 0 between 1.1 and 1.4, because only vectors made from the
words of the collection are so much like BM25.

Each query is then checked when it is asked (`agreement`). Its share of the weight depends on the cosine of its vector
and the mean vector of its first 10 items by BM25, both less c. The cosine of a random vector has the standard deviation
d = 1 / sqrt(dimensions). The share rises from 0 to 1 between 3 d and 5 d (at most .24 and .4). So query vectors of
another model change little.

docs/guides/encoder.md has what the rules were measured on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tacit.retrieve.training_data import FEWEST_PROBES

MOST, MOST_UNSEEN = 8.0, 7.0  # maximum weights, with and without query vectors
ENOUGH, STEEPNESS = 0.9, 6  # share of BM25's reciprocal rank that earns the maximum, and how fast less of it earns less
KNOWN, FADING = 0.75, 0.15  # R2 from which the weight is 0, and the width of its rise below it
NOISE, RELIABLE = 0.25, 0.4  # reliability up to which the weight is 0, and from which it is whole
NOISE_UNSEEN, RELIABLE_UNSEEN = 0.45, 0.57  # the same without query vectors
DULL, SHARP = 0.42, 0.7  # the same for the sharpness, without query vectors
FROM_WORDS, ONLY_WORDS = 1.1, 1.4  # sharpness from which the weight falls, and from which it is 0
TRIED = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # weights tried on probes
KEPT_OF_TITLES, KEPT_OF_SENTENCES = 0.97, 0.9  # share of the reciprocal rank to keep, by kind of probe
READABLE = 0.5  # minimum reciprocal rank of titles, relative to sentences
USUAL_SHARPNESS = 4.0  # of `latent`, in standard deviations, if there is no such member
FEWEST_CANDIDATES, FEWEST_RELIABLE = 10, 20  # minimum numbers of candidates of a query that counts in R2 and in r
AGREEING, AGREEING_DEVIATIONS = 0.4, 5.0  # cosine from which a query's vector counts in full: at most, and by chance
CHANCE = 0.6  # share of that cosine up to which it does not count


class ItemTrial(NamedTuple):
    """Scores of the candidates of a block of items that are used as queries.

    Attributes
    ----------
    vectors : ndarray of shape (n_queries, n_candidates)
        Scores by vectors.
    words : sequence of ndarray of the same shape
        Scores by words.
    known : ndarray of the same shape, bool
        Whether there is a candidate.
    halves : ndarray of shape (4, n_queries, n_candidates)
        Scores by two halves of the dimensions, and the same with the mean vector as the query (`scores_by_halves`).
    heights : ndarray of shape (n_queries, 1 or 2)
        Heights of the nearest items by vectors and, if there is one, by `latent` (`heights`); NaN without any.
    """

    vectors: np.ndarray
    words: Sequence[np.ndarray]
    known: np.ndarray
    halves: np.ndarray
    heights: np.ndarray


class ProbeTrial(NamedTuple):
    """Scores of the candidates of a block of probes, and the reciprocal ranks of the probes' items.

    Attributes
    ----------
    vectors, words, known
        As in `ItemTrial`.
    ranks : ndarray of shape (3 + len(TRIED), n_probes)
        Reciprocal ranks by vectors, by BM25, and by BM25, `latent` and the vectors at weight 0 and at the weights of
        `TRIED`.
    """

    vectors: np.ndarray
    words: Sequence[np.ndarray]
    known: np.ndarray
    ranks: np.ndarray


class ByItems(NamedTuple):
    """What items as queries say of the vectors (see the module); the reliability is NaN if there are too few items."""

    sharpness: float = 0.0
    reliability: float = math.nan
    r2: float = 1.0

    @classmethod
    def of(cls, trials: Sequence[ItemTrial]) -> ByItems:
        """Return the measures over all blocks."""
        found = np.concatenate([trial.heights for trial in trials])
        found = found[~np.isnan(found[:, 0])]
        if not len(found):
            return cls()
        means = found.mean(axis=0)
        usual = float(means[1]) if len(means) > 1 else USUAL_SHARPNESS
        reliable = [value for trial in trials for value in reliabilities(trial)]
        reliability = float(np.mean(reliable)) if reliable else math.nan
        return cls(float(means[0]) / max(usual, 1e-9), reliability, mean_r2(trials))


class ByProbes(NamedTuple):
    """What probes say of the vectors (see the module).

    Attributes
    ----------
    rho, r2 : float
    ranks : ndarray of shape (1 + len(TRIED), n_probes)
        Reciprocal ranks by BM25, `latent` and the vectors, at weight 0 and at the weights of `TRIED`.
    of_title : ndarray of shape (n_probes,), bool
        Whether the probe is a title.
    """

    rho: float
    r2: float
    ranks: np.ndarray
    of_title: np.ndarray

    @classmethod
    def of(cls, trials: Sequence[ProbeTrial], of_title: np.ndarray, n_items: int) -> ByProbes:
        """Return the measures over all blocks."""
        values = np.concatenate([trial.ranks for trial in trials], axis=1)
        by_vectors, by_bm25 = values[:2].mean(axis=1)
        chance = float(np.mean(1 / np.arange(1, 1 + n_items)))
        rho = float((by_vectors - chance) / max(by_bm25 - chance, 1e-9))
        return cls(rho, mean_r2(trials), values[2:], of_title)


class Evidence(NamedTuple):
    """All that is measured of vectors before labels; `probes` is None without query vectors."""

    items: ByItems
    probes: ByProbes | None = None

    def weight(self) -> float:
        """Return the weight that the vectors earn."""
        if self.probes is None:
            return earned_by_neighbours(*self.items)
        rho, r2, ranks, of_title = self.probes
        return earned_by_probes(rho, r2, harmless_weight(ranks, of_title), self.items.reliability)


def earned_by_neighbours(sharpness: float, reliability: float, r2: float) -> float:
    """Return the weight from sharpness, reliability and explained variance.

    >>> earned_by_neighbours(0.8, 0.7, 0.4), earned_by_neighbours(0.3, 0.7, 0.4), earned_by_neighbours(1.0, 0.3, 0.4)
    (7.0, 0.0, 0.0)
    """
    sharp = _rise(sharpness, DULL, SHARP) - _rise(sharpness, FROM_WORDS, ONLY_WORDS)
    return round(MOST_UNSEEN * sharp * _newness(r2) * _rise(reliability, NOISE_UNSEEN, RELIABLE_UNSEEN), 2)


def earned_by_probes(rho: float, r2: float, harmless: float = TRIED[-1], reliability: float = 1.0) -> float:
    """Return the weight from reciprocal ranks, explained variance, the largest harmless weight, and the reliability.

    >>> earned_by_probes(1.1, 0.4), earned_by_probes(0.45, 0.4), earned_by_probes(1.3, 0.8)
    (8.0, 0.12, 0.0)
    >>> earned_by_probes(1.1, 0.4, harmless=3.0), earned_by_probes(1.1, 0.4, reliability=0.1)
    (3.0, 0.0)
    """
    most = MOST * min(1.0, max(rho, 0.0) / ENOUGH) ** STEEPNESS * _newness(r2)
    share = 1.0 if math.isnan(reliability) else _rise(reliability, NOISE, RELIABLE)
    return round(min(most, harmless) * share, 2)


def harmless_weight(ranks: np.ndarray, of_title: np.ndarray) -> float:
    """Return the largest harmless weight, from reciprocal ranks (n_weights, n_probes).

    Titles decide, unless there are few or they are not sentences of words, such as names of functions. BM25 finds such
    titles much less often than sentences.
    """
    by_title, by_sentence = ranks[:, of_title], ranks[:, ~of_title]
    of_sentences = float(by_sentence[0].mean()) if by_sentence.shape[1] else 0.0
    if by_title.shape[1] >= FEWEST_PROBES and by_title[0].mean() >= READABLE * of_sentences:
        return largest_harmless(by_title.mean(axis=1), KEPT_OF_TITLES * float(by_title[0].mean()))
    kept = by_sentence if by_sentence.shape[1] else by_title
    return largest_harmless(kept.mean(axis=1), KEPT_OF_SENTENCES * float(kept[0].mean()))


def largest_harmless(means: np.ndarray, least: float) -> float:
    """Return the largest weight whose mean reciprocal rank is at least `least`, by linear interpolation.

    `means` are the mean reciprocal ranks at weight 0 and at the weights of `TRIED`.

    >>> largest_harmless(np.array([0.5, 0.6, 0.6, 0.6, 0.4, 0.3, 0.2]), 0.5), largest_harmless(np.zeros(7), 0.1)
    (3.0, 0.0)
    """
    weights = (0.0, *TRIED)
    last = next((place for place in reversed(range(len(weights))) if means[place] >= least), None)
    if last is None or last == len(weights) - 1:
        return 0.0 if last is None else weights[-1]
    share = (means[last] - least) / (means[last] - means[last + 1])
    return float(weights[last] + share * (weights[last + 1] - weights[last]))


def full_agreement(dim: int) -> float:
    """Return the cosine from which the vector of a query counts in full, for vectors of `dim` dimensions."""
    return min(AGREEING, AGREEING_DEVIATIONS / float(np.sqrt(dim)))


def agreement(query: np.ndarray, first: np.ndarray, full: float) -> float:
    """Return the share of the weight of one query, from 0 to 1.

    Parameters
    ----------
    query : ndarray of shape (dim,), float64
        Vector of the query minus the mean vector.
    first : ndarray of shape (n_first, dim)
        Vectors of its first items by BM25, minus the mean vector.
    full : float
        Cosine from which the vector counts in full (`full_agreement`).
    """
    if not len(first):
        return 1.0  # no word is known: there is nothing else to rank by
    mean = first.mean(axis=0, dtype=np.float64)
    lengths = float(np.sqrt((mean @ mean) * (query @ query)))
    return _rise(float(query @ mean) / lengths if lengths else 0.0, CHANCE * full, full)


def _rise(value: float, low: float, high: float) -> float:
    """Return 0 up to `low`, 1 from `high`, and rising between them; 0 for NaN."""
    return float(np.clip((value - low) / (high - low), 0, 1)) if np.isfinite(value) else 0.0


def _newness(r2: float) -> float:
    return _rise(-r2, -KNOWN, FADING - KNOWN)


def mean_r2(trials: Iterable[ItemTrial | ProbeTrial]) -> float:
    """Return the mean share of the variance of vectors' scores that scores by words explain; 1 if nothing is known."""
    found = [value for trial in trials for value in r2_of_queries(trial.words, trial.vectors, trial.known)]
    return float(np.mean(found)) if found else 1.0


def r2_of_queries(words: Sequence[np.ndarray], vectors: np.ndarray, known: np.ndarray) -> list[float]:
    """Return the share for each query with enough candidates whose scores by vectors differ."""
    found = list[float]()
    for row, mask in enumerate(known):
        y = vectors[row, mask].astype(np.float64)
        if len(y) >= FEWEST_CANDIDATES and y.var() > 1e-12:
            found.append(1 - float(_unexplained(words, row, mask, y).var() / y.var()))
    return found


def reliabilities(trial: ItemTrial) -> list[float]:
    """Return, for each query with enough candidates, the correlation of what words leave unexplained of two halves."""
    found = list[float]()
    for row, mask in enumerate(trial.known):
        if mask.sum() >= FEWEST_RELIABLE:
            halves = np.stack([half[row, mask] for half in trial.halves[:2]], axis=1)
            rest = _unexplained([*trial.words, *trial.halves[2:]], row, mask, halves)
            scale = float(np.sqrt(rest.var(axis=0).prod()))
            found.append(float(rest.prod(axis=1).mean()) / scale if scale > 1e-12 else 0.0)
    return found


def _unexplained(words: Sequence[np.ndarray], row: int, mask: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return what least squares by other scores and a constant leave of y."""
    columns = np.stack([np.ones(len(y)), *(part[row, mask].astype(np.float64) for part in words)], axis=1)
    rest: np.ndarray = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    return rest


def heights(nearest: np.ndarray, scores: Sequence[np.ndarray], own: np.ndarray) -> np.ndarray:
    """Return how far each kind of scores ranks the nearest items by BM25 above all items, in standard deviations.

    Parameters
    ----------
    nearest : ndarray of shape (n_queries, n_nearest), int
        The nearest items by BM25; -1 for padding. Without any, the result is NaN.
    scores : sequence of ndarray of shape (n_queries, n_items)
        Scores of all items.
    own : ndarray of shape (n_queries,)
        The items that are the queries, which are left out.
    """
    found = np.full((len(own), len(scores)), np.nan)
    for row, item in enumerate(own):
        near = nearest[row][nearest[row] >= 0]
        for place, part in enumerate(scores if len(near) else ()):
            rest = np.delete(part[row], item).astype(np.float64)
            found[row, place] = (part[row, near].mean(dtype=np.float64) - rest.mean()) / max(rest.std(), 1e-9)
    return found


def scores_by_halves(query: np.ndarray, centre: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return scores of vectors by two halves of the dimensions, and the same with c as the query, (4, n_vectors).

    The last two take up what all items have in common, which is no information about a query.
    """
    from scipy.fft import dct  # slow to import

    signs = np.random.default_rng(0).choice(np.array([-1.0, 1.0]), len(query))
    mixed = dct(np.vstack([query, centre, vectors]) * signs, norm="ortho", axis=1)  # a rotation
    halves = (mixed[2:, half::2] @ mixed[:2, half::2].T for half in (0, 1))
    found: np.ndarray = np.concatenate([half.T for half in halves])[[0, 2, 1, 3]]
    return found


def reciprocal_ranks(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return 1 / rank of one item of each query; of equal scores the smaller item number ranks first.

    >>> reciprocal_ranks(np.array([[0.5, 0.9, 0.5], [0.5, 0.9, 0.5]]), np.array([0, 2])).round(2).tolist()
    [0.5, 0.33]
    """
    wanted = np.take_along_axis(scores, own[:, None], axis=1)
    above = (scores > wanted).sum(axis=1)
    ties = ((scores == wanted) & (np.arange(scores.shape[1])[None] < own[:, None])).sum(axis=1)
    found: np.ndarray = 1.0 / (1 + above + ties)
    return found
