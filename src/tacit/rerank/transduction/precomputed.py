"""Rankers trained ahead and mixed for each list: transduction at the price of looking something up.

The suggestion at the end of Duh and Kirchhoff (2011), in two forms:

bases       Training lists are clustered by their leading directions; a cluster's documents have its basis found, and a
            ranker is trained on components along it. A list is matched by principal angles: with orthonormal bases A, B
            of the leading directions, the mean squared cosine is |A^T B|^2 / min(columns). The nearest few are mixed in
            proportion to exp(likeness / temperature).
weightings  Rankers are trained with random weights of the training lists. A list is matched by the mean embedding of
            its pairs, which for random Fourier features of differences is |mean over rows of exp(i omega.x)|^2; the
            mixture of weightings whose embedding is nearest (least squares on the simplex) is taken.

The score of a list is the mixture of the rankers' scores, each with mean 0 and deviation 1 over the list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import clone

from tacit.core import map_blocks, one_blas_thread
from tacit.kernels.kliep import climb_quadratic
from tacit.rerank.rows import Rows
from tacit.rerank.transduction.importance import convert_weights
from tacit.rerank.transduction.learners import Learner

N_DIRECTIONS = 7
N_MIXED = 3
TEMPERATURE = 0.1
N_FREQUENCIES = 200

# A cluster's basis is found on at most so many of its documents: matching must stay cheap.
N_CLUSTER_ROWS = 150

# Shape of the gamma distribution of random list weights: a fifth of the lists carry half of the weight.
WEIGHT_SHAPE = 0.5


class Bank(ABC):
    """Fitted rankers, and the mixture of them for a list."""

    def __init__(self, learner: Learner, rows: Rows) -> None:
        self.learner = learner
        self.mean, deviation = rows.X.mean(axis=0), rows.X.std(axis=0)
        self.deviation = np.where(deviation > 0, deviation, np.inf)
        self.rankers: list[Any] = []

    @abstractmethod
    def mixture(self, X: np.ndarray) -> np.ndarray:
        """Shares of the rankers for a list, float64 (n_rankers,), sum 1."""

    @abstractmethod
    def _features(self, X: np.ndarray, number: int) -> np.ndarray:
        """A list's features as ranker `number` wants them."""

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of a list after each stage, (n_stages, n_rows)."""
        shares = self.mixture(X)
        used = np.flatnonzero(shares > 0).tolist()
        tables = [self.learner.scores(self.rankers[n], self._features(X, n)) for n in used]
        n_stages = max(len(table) for table in tables)
        mixed = np.zeros((n_stages, len(X)))
        for share, table in zip(shares[used], tables, strict=True):
            scaled = table - table.mean(axis=1, keepdims=True)
            deviation = scaled.std(axis=1, keepdims=True)
            scaled /= np.where(deviation > 1e-12, deviation, np.inf)
            mixed += share * scaled[np.minimum(np.arange(n_stages), len(table) - 1)]
        return mixed

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = (X - self.mean) / self.deviation
        return scaled


class BasisBank(Bank):
    """Rankers on the components of clusters of training lists."""

    def __init__(
        self, learner: Learner, rows: Rows, discover: Any, n_rankers: int, threads: int | None, seed: int
    ) -> None:
        super().__init__(learner, rows)
        rng = np.random.default_rng(seed)
        with one_blas_thread():
            clusters = self._clusters(rows, n_rankers)
            drawn = [_draw(cluster, N_CLUSTER_ROWS, rng) for cluster in clusters]
            self.discovered = [clone(discover, safe=False).fit(rows.X[places]) for places in drawn]
            self.bases = [leading_directions(self._scaled(rows.X[places])) for places in drawn]
            self.rankers = map_blocks(
                lambda found: learner.learn(found.transform(rows.X), None), self.discovered, threads
            )

    def mixture(self, X: np.ndarray) -> np.ndarray:
        """The nearest bases by principal angles."""
        basis = leading_directions(self._scaled(X))
        likeness = np.array([squared_cosine(basis, other) for other in self.bases])
        shares = np.exp((likeness - likeness.max()) / TEMPERATURE)
        if len(shares) > N_MIXED:
            shares[np.argsort(-shares, kind="stable")[N_MIXED:]] = 0
        mixed: np.ndarray = shares / shares.sum()
        return mixed

    def _features(self, X: np.ndarray, number: int) -> np.ndarray:
        return np.hstack([X, self.discovered[number].transform(X)])

    def _clusters(self, rows: Rows, n_rankers: int) -> list[np.ndarray]:
        """Rows of each cluster of lists; lists of one document have no direction and join none."""
        from sklearn.cluster import AgglomerativeClustering

        spans = [np.arange(*ends) for ends in zip(rows.starts[:-1], rows.starts[1:], strict=True)]
        spans = [span for span in spans if len(span) > 1]
        bases = [leading_directions(self._scaled(rows.X[span])) for span in spans]
        if len(spans) <= n_rankers:
            return spans
        apart = 1 - np.array([[squared_cosine(a, b) for b in bases] for a in bases])
        clustering = AgglomerativeClustering(n_rankers, metric="precomputed", linkage="complete")
        label = clustering.fit_predict(np.maximum(apart, 0))
        return [np.concatenate([s for s, c in zip(spans, label, strict=True) if c == k]) for k in range(n_rankers)]


class WeightingBank(Bank):
    """Rankers on random weightings of the training lists; the first has all weights 1."""

    def __init__(self, learner: Learner, rows: Rows, n_rankers: int, threads: int | None, seed: int) -> None:
        super().__init__(learner, rows)
        rng = np.random.default_rng(seed)
        scaled = self._scaled(rows.X)
        self.frequencies = rng.normal(size=(rows.X.shape[1], N_FREQUENCIES)) / _median_gap(scaled, rng)
        weightings = rng.gamma(WEIGHT_SHAPE, 1 / WEIGHT_SHAPE, (n_rankers, rows.n_lists))
        weightings[0] = 1.0
        with one_blas_thread():
            lists = np.array(
                [self.embed(rows.X[slice(*ends)]) for ends in zip(rows.starts, rows.starts[1:], strict=False)]
            )
            n_pairs = np.bincount(rows.list_of[rows.pairs.better], minlength=rows.n_lists)
            counted = weightings * n_pairs
            self.embeddings = counted @ lists / np.maximum(counted.sum(axis=1, keepdims=True), 1e-12)
            self.rankers = map_blocks(lambda weights: self._train(learner, weights, rows), list(weightings), threads)

    def embed(self, X: np.ndarray) -> np.ndarray:
        """Mean random Fourier features of the differences of all pairs of a list, both orders, float64."""
        waves = np.exp(1j * (self._scaled(X) @ self.frequencies))
        embedded: np.ndarray = np.abs(waves.mean(axis=0)) ** 2
        return embedded

    def mixture(self, X: np.ndarray) -> np.ndarray:
        """The mixture of weightings whose mean embedding is nearest to the list's."""
        own, n = self.embed(X), len(self.embeddings)
        shares = np.full(n, 1 / n)
        gram = np.ascontiguousarray(self.embeddings @ self.embeddings.T)
        climb_quadratic(gram, self.embeddings @ own, shares, 500, 1e-9)
        return shares

    def _features(self, X: np.ndarray, number: int) -> np.ndarray:
        return X

    @staticmethod
    def _train(learner: Learner, weights: np.ndarray, rows: Rows) -> Any:
        return learner.learn(None, convert_weights(weights, "list", str(learner.level), rows))


def leading_directions(X: np.ndarray) -> np.ndarray:
    """Orthonormal directions of the largest variance, (n_features, at most N_DIRECTIONS)."""
    _, deviations, directions = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    n = int((deviations > 1e-9 * max(deviations[0], 1e-12)).sum())
    found: np.ndarray = directions[: min(n, N_DIRECTIONS)].T
    return found


def squared_cosine(A: np.ndarray, B: np.ndarray) -> float:
    """Mean squared cosine of the principal angles between two orthonormal bases, 0 to 1; 0 where one is empty.

    >>> squared_cosine(np.eye(3)[:, :2], np.eye(3)[:, 1:])
    0.5
    """
    n = min(A.shape[1], B.shape[1])
    return float(((A.T @ B) ** 2).sum() / n) if n else 0.0


def _draw(places: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.sort(rng.choice(places, min(n, len(places)), replace=False))


def _median_gap(X: np.ndarray, rng: np.random.Generator) -> float:
    first, second = rng.integers(len(X), size=(2, 1000))
    return float(np.median(np.linalg.norm(X[first] - X[second], axis=1))) or 1.0


def build_bank(learner: Learner, rows: Rows, discover: Any, n_rankers: int, threads: int | None, seed: int = 0) -> Bank:
    """The bank of bases where features are discovered, else that of weightings."""
    if discover is not None:
        return BasisBank(learner, rows, discover, n_rankers, threads, seed)
    return WeightingBank(learner, rows, n_rankers, threads, seed)
