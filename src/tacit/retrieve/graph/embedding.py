"""`htr-linear` and `htr-rbf`: half-transductive embedding of a graph (HTR, section 2.2).

    gamma * sum L(v_i, v_j, A_ij) + sum L(W phi(y_i), v_j, A_ij)

over the pairs of items, L the distance of neighbours and max(0, margin - distance) of all others. Every item has a
vector v_i of its own; a new point gets W phi(x), and its neighbours are the items with the nearest v_i, by the same
distance. A_ii counts as 1 in the second term: an item is near its own image.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    Features,
    TacitError,
    UsageError,
    check_choice,
    check_features,
    check_fitted,
    check_number,
    cut,
    map_blocks,
    track,
)
from tacit.features.knn import knn_graph
from tacit.kernels.graph_sgd import find_images, graph_epoch
from tacit.retrieve.graph.features import KINDS, SIZES, fit_map
from tacit.retrieve.graph.neighbours import nearest_rows
from tacit.retrieve.graph.pairs import PairDraws, check_adjacency, edge_length
from tacit.retrieve.margin.training import diverged

LOSSES = ("l1", "l2")
WIDTH = 0.5  # sigma, where none is given, in median lengths of an edge
RUNAWAY = 1e6  # vectors beyond this many margins are on their way to infinity
ROWS_AT_ONCE = 64


class GraphEmbedding:
    """Vectors of items that keep their graph, and a map that places new points among them.

    dim: length of the vectors; features: "rbf", "linear" or "given" (see `graph_features`); k: neighbours of the
    graph that `fit` builds; sigma: width of the RBF, None for half the median length of an edge; n_centres: nearest
    centres that count, None for all; size: what of an RBF row is made 1, "length" or "sum"; gamma: weight of the
    items' own graph; rate: first step, falling in a straight line to 0, for "l1" in units of margin / dim; own_share:
    share of the pairs (i, i) among the near ones; loss: "l1" as in the paper, or "l2" (squares).
    Learned: item_vectors_ float32 (n_items, dim), table_ (W, transposed) float32 (length of phi, dim), map_ (phi),
    epochs_: loss of every epoch, and its error on validation if there is one; best_epoch_.

    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> model = GraphEmbedding(dim=2, k=4, n_epochs=50).fit(X, labels=X[:, 0] > 0.5)
    >>> model.embed([[0.1], [0.9]]).shape, model.predict([[0.1], [0.9]]).tolist()
    ((2, 2), [False, True])
    """

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
        own_share: float = 0.5,
        loss: str = "l1",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.dim, self.features, self.k, self.sigma, self.n_centres = dim, features, k, sigma, n_centres
        self.size = size
        self.gamma, self.margin, self.rate, self.n_epochs, self.own_share = gamma, margin, rate, n_epochs, own_share
        self.loss, self.seed, self.threads = loss, seed, threads

    def fit(
        self,
        X: Any,
        adjacency: Any = None,
        *,
        labels: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from the rows of X and a symmetric sparse graph on them; without one, from their k nearest neighbours.

        labels: what `predict` passes on, one for each row; training never sees them. validation: further points and
        their labels; the epoch with the least 1-NN error on them is kept.
        """
        self._check_parameters()
        points = check_features("X", X)
        self.n_features_ = int(points.shape[1])
        self.labels_ = None if labels is None else _check_labels("labels", labels, points.shape[0])
        if adjacency is None:
            adjacency = knn_graph(points, self.k, threads=self.threads)
        graph = check_adjacency(adjacency, points.shape[0])
        self.sigma_ = self._width_of(points, graph) if self.features == "rbf" else 0.0
        self.map_ = fit_map(self.features, points, self.n_centres, self.sigma_, self.size)
        self._train(self.map_.rows(points, self.threads), graph, self._check_validation(validation))
        return self

    def embed(self, X: Any) -> np.ndarray:
        """W phi(x) of every row, float32 (n_rows, dim); a row's bits do not depend on the rows beside it."""
        check_fitted(self, "table_")
        return self._project(self._phi("X", X))

    def nearest(self, X: Any) -> np.ndarray:
        """The item that is nearest to the image of every row, int64; ties go to the smaller number."""
        return self._nearest(self.embed(X))

    def predict(self, X: Any) -> np.ndarray:
        """The label of the nearest item."""
        check_fitted(self, "table_")
        if self.labels_ is None:
            raise UsageError("predict needs the labels of the items: give labels to fit")
        found: np.ndarray = self.labels_[self.nearest(X)]
        return found

    def params(self) -> dict[str, Any]:
        """The parameters given to the constructor."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __repr__(self) -> str:
        return f"GraphEmbedding({', '.join(f'{name}={value!r}' for name, value in self.params().items())})"

    def _check_parameters(self) -> None:
        for name in ("dim", "k", "n_epochs"):
            check_number(name, getattr(self, name), low=1, whole=True)
        for name in ("margin", "rate"):
            check_number(name, getattr(self, name), low=0, open_low=True)
        check_number("gamma", self.gamma, low=0)
        check_number("own_share", self.own_share, low=0, high=0.99)
        check_choice("features", self.features, KINDS)
        check_choice("loss", self.loss, LOSSES)
        check_choice("size", self.size, SIZES)
        if self.sigma is not None:
            check_number("sigma", self.sigma, low=0, open_low=True)
        if self.n_centres is not None:
            check_number("n_centres", self.n_centres, low=1, whole=True)

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
        # Two random vectors lie about one margin apart, so that far pairs matter from the start.
        scale = math.sqrt(self.margin / (2 * self.dim)) if squared else self.margin / self.dim
        # The gradient of the L1 loss knows no size: a step of it is measured in such distances.
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
        return nearest_rows(images, self.item_vectors_, squared=self.loss == "l2", threads=self.threads)


def _is_sound(array: np.ndarray, margin: float) -> bool:
    return bool(np.abs(array).max() < RUNAWAY * margin)  # false for NaN


def _check_labels(name: str, labels: Any, n_rows: int) -> np.ndarray:
    array = np.asarray(labels)
    if array.shape != (n_rows,):
        raise TacitError(f"{name} has shape {array.shape}, want one for each of the {n_rows} rows")
    return array
