"""Kernel PCA features with one ranker for all lists: two controls for feature generation.

"own" (KPCA on train in Duh and Kirchhoff 2011): every list, training or test, has its own directions, and one ranker is
trained on all of them; component 3 means something else in each list. "pooled": the directions of all training
documents together, the same for all lists. Neither adapts the ranker to the list.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from tacit.core import StoreError, TacitError, UsageError, check_choice, check_number, one_blas_thread
from tacit.features.kernel_pca import KernelPca
from tacit.rerank.base import ListRanker
from tacit.rerank.boosting.rankboost import RankBoostRanker
from tacit.rerank.list_columns import check_list_scale, scale_within_lists
from tacit.rerank.rows import Rows
from tacit.rerank.transduction.ranker import warn_of_cut

SOURCES = ("own", "pooled")


class DiscoveredFeaturesRanker(ListRanker):
    """A ranker trained once on features and their kernel PCA components.

    Parameters
    ----------
    base : ListRanker, default=None
        Ranker to train; None is RankBoost.
    discover : transformer, default=None
        Finds the components; None is `KernelPca()`.
    source : {"own", "pooled"}, default="own"
        Directions of each list separately, or of the training documents together.
    n_pooled : int, default=300
        Number of training documents for the pooled directions, drawn at random.
    seed : int, default=0
        Random seed.
    scale : {"zscore", "minmax"} or None, default=None
        Scale features within each list first.

    Attributes
    ----------
    ranker_ : ListRanker
        The fitted ranker.
    pooled_ : transformer or None
        The pooled directions.

    Examples
    --------
    >>> X, y, qid = np.array([[0, 1], [1, 0], [2, 2], [0, 2], [3, 1.0]]), [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> from tacit.features.kernel_pca import Kernel
    >>> ranker = DiscoveredFeaturesRanker(discover=KernelPca((Kernel("linear", 1),))).fit(X, y, qid)
    >>> np.argsort(ranker.predict(X[:3], qid[:3])).tolist()
    [0, 1, 2]
    """

    _fitted: ClassVar[dict[str, str]] = {"pooled_": "?estimator", "ranker_": "estimator"}

    def __init__(
        self,
        base: Any = None,
        discover: Any = None,
        source: str = "own",
        n_pooled: int = 300,
        seed: int = 0,
        scale: str | None = None,
    ) -> None:
        self.base, self.discover, self.source, self.n_pooled, self.seed = base, discover, source, n_pooled, seed
        self.scale = scale

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        self._check_params()
        rows.check_has_pairs()
        self.pooled_ = self._pool(rows.X) if self.source == "pooled" else None
        train = self._widen(rows)
        n_components = train.X.shape[1] - rows.X.shape[1]
        base = RankBoostRanker() if self.base is None else clone(self.base)
        self.ranker_ = base._fit_rows(train, None if validation is None else self._widen(validation, n_components))

    def _check_params(self) -> None:
        check_choice("source", self.source, SOURCES)
        check_list_scale(self.scale)
        check_number("n_pooled", self.n_pooled, low=2, whole=True)
        for name, wanted in (("discover", "transform"), ("base", "fit")):
            value = getattr(self, name)
            if value is not None and not hasattr(value, wanted):
                raise UsageError(f"{name} is a {type(value).__name__}, want an object with {wanted!r}")

    def _check_loaded(self) -> None:
        self._check_params()
        if not isinstance(self.ranker_, ListRanker):
            raise StoreError(f"ranker_ is a {type(self.ranker_).__name__}, want a ranker of lists")
        if hasattr(self.pooled_, "transform") != (self.source == "pooled"):
            raise StoreError(f"pooled_ is a {type(self.pooled_).__name__}, which does not fit source={self.source!r}")

    def _read_table(self, table: np.ndarray, lists: np.ndarray) -> np.ndarray:
        check_list_scale(self.scale)
        return scale_within_lists(super()._read_table(table, lists), lists, self.scale)

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        n_components = self.ranker_.n_features_in_ - X.shape[1]
        grouped = self._widen(Rows.unjudged(X, qid), n_components)
        return grouped.in_input_order(self.ranker_._predict(grouped.X, grouped.list_of))

    def needs_lists(self) -> bool:
        """Return whether features or the inner ranker depend on all rows of a list."""
        return self.source == "own" or self.scale is not None or bool(self.ranker_.needs_lists())

    def chosen(self) -> dict[str, float]:
        """Return the choices of the trained ranker."""
        return self.ranker_.chosen()

    def _fresh(self) -> Any:
        return KernelPca() if self.discover is None else clone(self.discover, safe=False)

    def _pool(self, X: np.ndarray) -> Any:
        drawn = np.random.default_rng(self.seed).choice(len(X), min(self.n_pooled, len(X)), replace=False)
        with one_blas_thread():
            return self._fresh().fit(X[np.sort(drawn)])

    def _widen(self, rows: Rows, n_components: int | None = None) -> Rows:
        """Return the rows with their components as further columns; lists of one document have components 0."""
        n_cut: list[int] = []
        with one_blas_thread():
            if self.pooled_ is not None:
                parts = [self.pooled_.transform(rows.X[span]) for span in rows.spans]
            else:
                parts = [self._own(rows.X[span], n_cut) for span in rows.spans]
        warn_of_cut(n_cut)
        width = max(part.shape[1] for part in parts) if n_components is None else n_components
        if any(part.size and part.shape[1] != width for part in parts):
            raise TacitError(f"{type(self).__name__} was fitted on {width} components, the lists have others")
        filled = [part if part.size else np.zeros((len(part), width)) for part in parts]
        return Rows(np.hstack([rows.X, np.concatenate(filled)]), rows.y, rows.starts, rows.order, rows.given)

    def _own(self, X: np.ndarray, n_cut: list[int]) -> np.ndarray:
        if len(X) < 2:
            return np.zeros((len(X), 0))
        found = self._fresh().fit(X[np.lexsort(X.T[::-1])])  # bit-identical for any order of rows
        n_cut.append(int(getattr(found, "n_cut_", 0)))
        return found.transform(X)
