"""`htr-linear` and `htr-rbf`: half-transductive embedding of a graph (HTR, section 2.2).

    gamma * sum L(v_i, v_j, A_ij) + sum L(W phi(y_i), v_j, A_ij)

over the pairs of items, L the distance of neighbours and max(0, margin - distance) of all others. Every item has a
separate vector v_i; a new point gets W phi(x), and its neighbours are the items with the nearest v_i, by the same
distance. A_ii counts as 1 in the second term: an item is near its own image.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    Estimator,
    Features,
    StoreError,
    TacitError,
    UsageError,
    check_choice,
    check_features,
    check_number,
    check_numbers,
    check_params,
    cut,
    map_blocks,
    track,
)
from tacit.features.knn import knn_graph, nearest_of
from tacit.kernels.graph.sgd import find_images, graph_epoch
from tacit.retrieve.epochs import diverged
from tacit.retrieve.graph.features import KINDS, SIZES, LinearMap, RbfMap, make_map
from tacit.retrieve.graph.pairs import PairDraws, check_adjacency, edge_length
from tacit.store.stored import DTYPES

LOSSES = ("l1", "l2")
WIDTH = 0.5  # sigma, where none is given, in median lengths of an edge
LONGEST_IN_MARGINS = 1e6  # vectors longer than this many margins have diverged
ROWS_AT_ONCE = 64


class GraphEmbedding(Estimator):
    """Vectors of items that keep their graph of neighbours, and a map that places new points among them (HTR).

    Parameters
    ----------
    dim : int, default=100
        Width of the vectors.
    features : {"rbf", "linear", "given"}, default="rbf"
        The map phi of points (see `graph.features`).
    k : int, default=5
        Neighbours in the graph that `fit` builds.
    sigma : float or None, default=None
        Width of the RBF; None means half the median length of an edge.
    n_centres : int or None, default=200
        Nearest centres of the RBF that count; None means all.
    size : {"length", "sum", "none"}, default="length"
        Norm of an RBF row that is scaled to 1; "none" does not scale, as in the paper.
    gamma : float, default=1.0
        Weight of the items' own graph.
    margin : float, default=1.0
        Distance that other points should have.
    rate : float, default=0.1
        First step, falling linearly to 0; for "l1" in units of margin / dim.
    n_epochs : int, default=5
        Number of epochs.
    own_share : float or None, default=0.5
        Share of the pairs (i, i) among pairs of neighbours; None means that every (i, i) occurs as often as every edge
        from i to j.
    loss : {"l1", "l2"}, default="l1"
        Distances as in the paper, or squares.
    seed : int, default=0
        Random seed.
    threads : int or None, default=None
        Number of threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    item_vectors_ : ndarray of shape (n_items, dim), float32
        Vectors of the items.
    table_ : ndarray of shape (length of phi, dim), float32
        The learned map (W, transposed).
    map_ : LinearMap or RbfMap
        The map phi.
    labels_ : ndarray of shape (n_items,) or None
        Labels of the items, if given to `fit`.
    sigma_ : float
        Width of the RBF; 0 for other maps.
    best_epoch_ : int
        Number of the best epoch, from 1.
    epochs_ : list of dict
        Loss of each epoch, and its error on validation where there is some. Not stored.

    Examples
    --------
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> model = GraphEmbedding(dim=2, k=4, n_epochs=50).fit(X, labels=X[:, 0] > 0.5)
    >>> model.embed([[0.1], [0.9]]).shape, model.predict([[0.1], [0.9]]).tolist()
    ((2, 2), [False, True])
    """

    _fitted: ClassVar = {
        "item_vectors_": "items dim",
        "table_": "phi dim",
        "map_": "estimator",
        "labels_": "?items",
        "sigma_": "",
        "best_epoch_": "",
    }
    _n_features_attribute: ClassVar[str | None] = "n_features_"
    _array_dtypes: ClassVar[tuple[str, ...]] = tuple(DTYPES)  # of labels; all other arrays are float32

    def __init__(
        self,
        dim: int = 100,
        *,
        features: str = "rbf",
        k: int = 5,
        sigma: float | None = None,
        n_centres: int | None = 200,
        size: str = "length",
        gamma: float = 1.0,
        margin: float = 1.0,
        rate: float = 0.1,
        n_epochs: int = 5,
        own_share: float | None = 0.5,
        loss: str = "l1",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.dim, self.features, self.k, self.sigma, self.n_centres = dim, features, k, sigma, n_centres
        self.size = size
        self.gamma, self.margin, self.rate, self.n_epochs, self.own_share = gamma, margin, rate, n_epochs, own_share
        self.loss, self.seed, self.threads = loss, seed, threads

    def fit(
        self, X: Any, adjacency: Any = None, *, labels: Any = None, validation: tuple[Any, Any] | None = None
    ) -> Self:
        """Learn from the rows of X and a symmetric sparse graph on them; without one, from their k nearest neighbours.

        labels: values that `predict` returns, one for each row; training does not use them. validation: further points
        and their labels; the epoch with the lowest 1-NN error on them is kept.
        """
        self._check_parameters()
        points = check_features("X", X)
        self.n_features_ = int(points.shape[1])
        self.labels_ = None if labels is None else _check_labels("labels", labels, points.shape[0])
        if adjacency is None:
            adjacency = knn_graph(points, self.k, threads=self.threads)
        graph = check_adjacency(adjacency, points.shape[0])
        self.sigma_ = self._width_of(points, graph) if self.features == "rbf" else 0.0
        self.map_ = make_map(self.features, self.n_centres, self.sigma_, self.size).fit(points)
        self._train(self.map_.rows(points, self.threads), graph, self._check_validation(validation))
        return self

    def embed(self, X: Any) -> np.ndarray:
        """W phi(x) of every row, float32 (n_rows, dim); the bits of a row do not depend on other rows."""
        self._check_fitted()
        return self._project(self._phi("X", X))

    def nearest(self, X: Any) -> np.ndarray:
        """The item that is nearest to the image of every row, int64; ties go to the smaller number."""
        return self._nearest(self.embed(X))

    def predict(self, X: Any) -> np.ndarray:
        """The label of the nearest item."""
        self._check_fitted()
        if self.labels_ is None:
            raise UsageError("predict needs the labels of the items: give labels to fit")
        found: np.ndarray = self.labels_[self.nearest(X)]
        return found

    def _check_parameters(self) -> None:
        check_params(self)
        check_numbers(self, "dim", "k", "n_epochs", low=1, whole=True)
        check_numbers(self, "margin", "rate", low=0, open_low=True)
        check_number("gamma", self.gamma, low=0)
        check_numbers(self, "own_share", optional=True, low=0, high=0.99)
        check_choice("features", self.features, KINDS)
        check_choice("loss", self.loss, LOSSES)
        check_choice("size", self.size, SIZES)
        check_numbers(self, "sigma", optional=True, low=0, open_low=True)
        check_numbers(self, "n_centres", optional=True, low=1, whole=True)

    def _check_validation(self, validation: tuple[Any, Any] | None) -> tuple[sp.csr_array, np.ndarray] | None:
        if validation is None:
            return None
        if self.labels_ is None:
            raise UsageError("validation needs the labels of the items: give labels too")
        rows = self._phi("validation", validation[0])
        return rows, _check_labels("validation labels", validation[1], rows.shape[0])

    def _width_of(self, points: Features, graph: sp.csr_array) -> float:
        if self.sigma is not None:
            return float(self.sigma)
        length = edge_length(points, graph)
        if length == 0:
            raise TacitError("sigma cannot be found: most neighbours in X are equal points; give sigma")
        return WIDTH * length

    def _train(
        self, phi: sp.csr_array, graph: sp.csr_array, validation: tuple[sp.csr_array, np.ndarray] | None
    ) -> None:
        rng, draws = np.random.default_rng(self.seed), PairDraws(graph, self.own_share)
        squared = self.loss == "l2"
        # Two random vectors are about one margin apart, so far pairs matter from the start.
        scale = math.sqrt(self.margin / (2 * self.dim)) if squared else self.margin / self.dim
        # The gradient of the L1 loss has no scale, so its step is measured in such distances.
        step = self.rate if squared else self.rate * scale
        vectors = rng.normal(0, scale, (phi.shape[0], self.dim)).astype(np.float32)
        table = np.zeros((phi.shape[1], self.dim), np.float32)
        self.epochs_: list[dict[str, float]] = []
        self.best_epoch_, least = 0, math.inf
        for epoch in track(range(self.n_epochs), "training", self.n_epochs):
            near, far = draws.epoch(rng)
            rates = (step * (1 - (epoch + end) / self.n_epochs) for end in (0, 1))
            arrays = phi.indptr, phi.indices, phi.data, near, far, vectors, table
            total = graph_epoch(*arrays, *rates, np.float32(self.gamma), np.float32(self.margin), squared)
            if not (_is_sound(vectors, self.margin) and _is_sound(table, self.margin)):
                raise diverged(epoch + 1, self.rate, False)
            found = {"epoch": epoch + 1, "loss": float(total) / (2 * len(near))}
            if validation is not None:
                self.table_, self.item_vectors_ = table, vectors
                found["error"] = self._error(*validation)
            self.epochs_.append(found)
            # Without validation the last epoch is the best.
            if found.get("error", -epoch) < least:
                least, self.best_epoch_ = found.get("error", -epoch), epoch + 1
                best = table.copy(), vectors.copy()
        self.table_, self.item_vectors_ = best

    def _error(self, rows: sp.csr_array, labels: np.ndarray) -> float:
        assert self.labels_ is not None
        return float(np.mean(self.labels_[self._nearest(self._project(rows))] != labels))

    def _phi(self, name: str, X: Any) -> sp.csr_array:
        return self.map_.rows(check_features(name, X, n_columns=self.n_features_), self.threads)

    def _project(self, phi: sp.csr_array) -> np.ndarray:
        images = np.empty((phi.shape[0], self.dim), np.float32)

        def project(block: slice) -> None:
            find_images(phi.indptr, phi.indices, phi.data, block.start, block.stop, self.table_, images)

        map_blocks(project, cut(len(images), ROWS_AT_ONCE), self.threads)
        return images

    def _nearest(self, images: np.ndarray) -> np.ndarray:
        return nearest_of(images, self.item_vectors_, squared=self.loss == "l2", threads=self.threads)

    def _stored_params(self) -> dict[str, Any]:
        labels = getattr(self, "labels_", None)
        if labels is not None and labels.dtype.name not in DTYPES:
            raise UsageError(f"labels are of type {labels.dtype}, want numbers where they are to be saved")
        return super()._stored_params()

    def _check_loaded(self) -> None:
        self._check_parameters()
        if not isinstance(self.map_, LinearMap | RbfMap) or self.map_.n_features_ != self.n_features_:
            raise StoreError(f"the map is not one of {self.n_features_} features")
        if self.table_.dtype != np.float32 or self.item_vectors_.dtype != np.float32:
            raise StoreError("vectors are not of type float32")
        if self.map_.width != len(self.table_) or self.table_.shape[1] != self.dim:
            raise StoreError(
                f"the map gives {self.map_.width} features, the table has shape {self.table_.shape}; "
                f"want {(self.map_.width, self.dim)}"
            )


def _is_sound(array: np.ndarray, margin: float) -> bool:
    return bool(np.abs(array).max() < LONGEST_IN_MARGINS * margin)  # false for NaN


def _check_labels(name: str, labels: Any, n_rows: int) -> np.ndarray:
    array = np.asarray(labels)
    if array.shape != (n_rows,):
        raise TacitError(f"{name} has shape {array.shape}, want one for each of the {n_rows} rows")
    return array
