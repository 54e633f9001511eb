"""Rankers trained in advance and mixed for each list: transduction at the cost of a lookup.

The suggestion at the end of Duh and Kirchhoff (2011), in two forms:

bases       Training lists are clustered by their leading directions. A basis is found for a cluster's documents, and a
            ranker is trained on components along it. A list is matched by principal angles: with orthonormal bases A, B
            of the leading directions, the mean squared cosine is |A^T B|^2 / min(columns). The nearest few are mixed in
            proportion to exp(likeness / temperature).
weightings  Rankers are trained with random weights of the training lists. A list is matched by the mean embedding of
            its pairs, which for random Fourier features of differences is |mean over rows of exp(i omega.x)|^2; the
            mixture of weightings with the nearest embedding (least squares on the simplex) is used.

The score of a list is the mixture of the rankers' scores, each with mean 0 and deviation 1 over the list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from tacit.core import Estimator, StoreError, map_blocks, one_blas_thread
from tacit.features.scaling import standardize
from tacit.kernels.kliep import climb_quadratic
from tacit.rerank.rows import Rows
from tacit.rerank.transduction.importance import convert_weights
from tacit.rerank.transduction.learners import Learner, staged_scores

N_DIRECTIONS = 7
N_MIXED = 3
TEMPERATURE = 0.1
N_FREQUENCIES = 200

# Maximum number of a cluster's documents for its basis, because matching must stay cheap.
N_CLUSTER_ROWS = 150

# Shape of the gamma distribution of random list weights: a fifth of the lists carry half of the weight.
WEIGHT_SHAPE = 0.5


class Bank(Estimator, ABC):
    """Fitted rankers, and their mixture for a list.

    Parameters
    ----------
    n_rankers : int, default=16
        Number of rankers, at most.
    threads : int, default=None
        Number of threads; None uses all cores.
    seed : int, default=0
        Random seed.

    Attributes
    ----------
    rankers_ : list of estimators
        The fitted rankers.
    """

    _n_features_attribute: ClassVar[str | None] = "n_features_in_"
    _array_dtypes: ClassVar[tuple[str, ...]] = ("float64", "int64")
    _fitted: ClassVar[dict[str, str]] = {"mean_": "features", "deviation_": "features", "rankers_": "estimators"}

    rankers_: list[Any]

    def __init__(self, n_rankers: int = 16, threads: int | None = None, seed: int = 0) -> None:
        self.n_rankers, self.threads, self.seed = n_rankers, threads, seed

    def fit(self, learner: Learner, rows: Rows) -> Self:
        """Train the rankers."""
        self.n_features_in_ = rows.X.shape[1]
        self.mean_, self.deviation_ = rows.X.mean(axis=0), rows.X.std(axis=0)
        with one_blas_thread():
            self._train(learner, rows, np.random.default_rng(self.seed))
        return self

    @abstractmethod
    def _train(self, learner: Learner, rows: Rows, rng: np.random.Generator) -> None:
        """Set `rankers_` and the attributes that `mixture` reads."""

    @abstractmethod
    def mixture(self, X: np.ndarray) -> np.ndarray:
        """Return shares of the rankers for a list, float64 (n_rankers,), sum 1."""

    @abstractmethod
    def _features(self, X: np.ndarray, number: int) -> np.ndarray:
        """Return features of a list for ranker `number`."""

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return scores of a list after each stage, (n_stages, n_rows)."""
        shares = self.mixture(X)
        used = np.flatnonzero(shares > 0).tolist()
        tables = [staged_scores(self.rankers_[n], self._features(X, n)) for n in used]
        n_stages = max(len(table) for table in tables)
        mixed = np.zeros((n_stages, len(X)))
        for share, table in zip(shares[used], tables, strict=True):
            scaled = table - table.mean(axis=1, keepdims=True)
            deviation = scaled.std(axis=1, keepdims=True)
            scaled /= np.where(deviation > 1e-12, deviation, np.inf)
            mixed += share * scaled[np.minimum(np.arange(n_stages), len(table) - 1)]
        return mixed

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return standardize(X, self.mean_, self.deviation_)

    def _check_loaded(self) -> None:
        zeros = np.zeros((2, self.n_features_in_))
        widths = [ranker.n_features_in_ for ranker in self.rankers_]
        if len(self.mixture(zeros)) != len(widths) or (self.deviation_ < 0).any():
            raise StoreError(f"{type(self).__name__} has {len(widths)} rankers, which do not fit its mixture")
        if widths != [self._features(zeros, number).shape[1] for number in range(len(widths))]:
            raise StoreError(f"rankers of {type(self).__name__} have {widths} features, the lists have others")


class BasisBank(Bank):
    """Rankers on the components of clusters of training lists.

    Parameters
    ----------
    discover : estimator, default=None
        Transformer with `fit(X)` and `transform(X)`, such as `KernelPca()`.

    Attributes
    ----------
    discovered_ : list of estimators
        The transformer fitted to each cluster.
    bases_ : ndarray of shape (n_directions, n_features), float64
        Leading directions of all clusters, consecutively.
    starts_ : ndarray of shape (n_clusters + 1,), int64
        Directions of cluster c are rows starts_[c] to starts_[c + 1] of `bases_`.
    """

    _fitted: ClassVar[dict[str, str]] = Bank._fitted | {
        "discovered_": "estimators", "bases_": "directions features", "starts_": "bounds",
    }  # fmt: skip

    def __init__(self, discover: Any = None, **params: Any) -> None:
        super().__init__(**params)
        self.discover = discover

    def _train(self, learner: Learner, rows: Rows, rng: np.random.Generator) -> None:
        drawn = [_draw(cluster, N_CLUSTER_ROWS, rng) for cluster in self._clusters(rows)]
        self.discovered_ = [clone(self.discover, safe=False).fit(rows.X[chosen]) for chosen in drawn]
        bases = [leading_directions(self._scaled(rows.X[chosen])).T for chosen in drawn]
        self.bases_, self.starts_ = np.concatenate(bases), np.cumsum([0, *map(len, bases)])
        self.rankers_ = map_blocks(
            lambda found: learner.learn(found.transform(rows.X), None), self.discovered_, self.threads
        )

    def mixture(self, X: np.ndarray) -> np.ndarray:
        """Return shares of the nearest bases by principal angles."""
        basis = leading_directions(self._scaled(X))
        bases = np.split(self.bases_, self.starts_[1:-1])
        likeness = np.array([squared_cosine(basis, other.T) for other in bases])
        shares = np.exp((likeness - likeness.max()) / TEMPERATURE)
        if len(shares) > N_MIXED:
            shares[np.argsort(-shares, kind="stable")[N_MIXED:]] = 0
        return shares / shares.sum()

    def _features(self, X: np.ndarray, number: int) -> np.ndarray:
        return np.hstack([X, self.discovered_[number].transform(X)])

    def _clusters(self, rows: Rows) -> list[np.ndarray]:
        """Return rows of each cluster of lists; lists of one document have no direction and are in no cluster."""
        from sklearn.cluster import AgglomerativeClustering

        spans = [np.arange(*ends) for ends in zip(rows.starts[:-1], rows.starts[1:], strict=True)]
        spans = [span for span in spans if len(span) > 1]
        bases = [leading_directions(self._scaled(rows.X[span])) for span in spans]
        n = self.n_rankers
        if len(spans) <= n:
            return spans
        apart = 1 - np.array([[squared_cosine(a, b) for b in bases] for a in bases])
        clustering = AgglomerativeClustering(n, metric="precomputed", linkage="complete")
        label = clustering.fit_predict(np.maximum(apart, 0))
        return [np.concatenate([s for s, c in zip(spans, label, strict=True) if c == k]) for k in range(n)]


class WeightingBank(Bank):
    """Rankers on random weightings of the training lists; the first has all weights 1.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, n_frequencies), float64
        Frequencies of the random Fourier features.
    embeddings_ : ndarray of shape (n_rankers, n_frequencies), float64
        Mean embedding of each weighting.
    """

    _fitted: ClassVar[dict[str, str]] = Bank._fitted | {
        "frequencies_": "features frequencies", "embeddings_": "rankers frequencies",
    }  # fmt: skip

    def _train(self, learner: Learner, rows: Rows, rng: np.random.Generator) -> None:
        waves = rng.normal(size=(rows.X.shape[1], N_FREQUENCIES))
        self.frequencies_ = waves / _median_gap(self._scaled(rows.X), rng)
        weightings = rng.gamma(WEIGHT_SHAPE, 1 / WEIGHT_SHAPE, (self.n_rankers, rows.n_lists))
        weightings[0] = 1.0
        lists = np.array([self.embed(rows.X[span]) for span in rows.spans])
        n_pairs = np.bincount(rows.list_of[rows.pairs.better], minlength=rows.n_lists)
        counted = weightings * n_pairs
        self.embeddings_ = counted @ lists / np.maximum(counted.sum(axis=1, keepdims=True), 1e-12)

        def train(weights: np.ndarray) -> Any:
            return learner.learn(None, convert_weights(weights, "list", str(learner.level), rows))

        self.rankers_ = map_blocks(train, list(weightings), self.threads)

    def embed(self, X: np.ndarray) -> np.ndarray:
        """Return mean random Fourier features of the differences of all pairs of a list, both orders, float64."""
        waves = np.exp(1j * (self._scaled(X) @ self.frequencies_))
        return np.abs(waves.mean(axis=0)) ** 2

    def mixture(self, X: np.ndarray) -> np.ndarray:
        """Return the mixture of weightings whose mean embedding is nearest to the list's."""
        own, n = self.embed(X), len(self.embeddings_)
        shares = np.full(n, 1 / n)
        gram = np.ascontiguousarray(self.embeddings_ @ self.embeddings_.T)
        climb_quadratic(gram, self.embeddings_ @ own, shares, 500, 1e-9)
        return shares

    def _features(self, X: np.ndarray, number: int) -> np.ndarray:
        return X


def leading_directions(X: np.ndarray) -> np.ndarray:
    """Return orthonormal directions of the largest variance, (n_features, at most N_DIRECTIONS)."""
    _, deviations, directions = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    n = int((deviations > 1e-9 * max(deviations[0], 1e-12)).sum())
    return directions[: min(n, N_DIRECTIONS)].T


def squared_cosine(A: np.ndarray, B: np.ndarray) -> float:
    """Return the mean squared cosine of the principal angles between two orthonormal bases; 0 if one is empty.

    >>> squared_cosine(np.eye(3)[:, :2], np.eye(3)[:, 1:])
    0.5
    """
    n = min(A.shape[1], B.shape[1])
    return float(((A.T @ B) ** 2).sum() / n) if n else 0.0


def _draw(chosen: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.sort(rng.choice(chosen, min(n, len(chosen)), replace=False))


def _median_gap(X: np.ndarray, rng: np.random.Generator) -> float:
    first, second = rng.integers(len(X), size=(2, 1000))
    return float(np.median(np.linalg.norm(X[first] - X[second], axis=1))) or 1.0
