"""Rankers trained by gradients per row: a loss over known pairs, regularizers over unjudged rows, any scorer.

The objective is (1 - expected) loss + expected (expected pairs) + beta (neighbours) + (l2 / 2) |theta|^2, with the
parts from `losses`, `expected_pairs` and `regularizer`, and the scorer with parameters theta from `scorers`. A setting
with several values is chosen on validation lists (every combination is trained once); without these the first is used.

The recipe printed in PREF is `sum_pairs=True` (so that beta has the same meaning), no L2 penalty, K = 5, three hidden
units, and beta and the epoch chosen by nDCG on validation lists: `select="nDCG-exp-judged@10"`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Lists, StoreError, TacitError, UsageError, check_choice, check_number, one_blas_thread
from tacit.features.scaling import spreads
from tacit.metrics import is_loss, parse_measure
from tacit.rerank.base import ListRanker
from tacit.rerank.gradient.expected_pairs import expected_pairs
from tacit.rerank.gradient.losses import NeighbourRegularizer, PairLoss, SwapLoss, discount_table, parse_swap_measure
from tacit.rerank.gradient.neighbours import NeighbourPairs, find_neighbours
from tacit.rerank.gradient.scorer_training import (
    GradientTerm,
    Scorer,
    Trained,
    Validation,
    ValidationMeasure,
    ValidationPairs,
    is_ahead,
    make_scorer,
    train,
)
from tacit.rerank.list_columns import Scale, decorrelation, to_columns
from tacit.rerank.rows import Pairs, Rows

logger = logging.getLogger("tacit")
Choice = float | Sequence[float]
SCALES: dict[str, Scale] = {
    "global": {"feature": 1.0},
    "list": {"standard": 1.0},
    "quantiles": {"feature": 1.0, "quantile": 0.5},  # decay prefers a feature to its quantiles if both agree
}


class Setting(NamedTuple):
    """One combination of the settings chosen on validation lists."""

    beta: float
    expected: float
    l2: float
    rate: float


class GradientRanker(ListRanker):
    """Base of the gradient rankers; use `BradleyTerryRanker` or `LambdaRankRanker`.

    A parameter given as several values is chosen on validation lists.

    Parameters
    ----------
    n_hidden : int, default=3
        Units of the hidden layer; 0 is a linear scorer.
    beta : float or sequence of float, default=0.0
        Weight of the regularizer over neighbours.
    expected : float or sequence of float, default=0.0
        Share of expected pairs in the loss, from 0 to 1.
    l2 : float or sequence of float, default=0.1
        Weight of the L2 penalty.
    rate : float or sequence of float, default=0.03
        Learning rate.
    n_epochs : int, default=100
        Number of epochs.
    stop_early : bool, default=True
        Keep the best epoch on validation lists, if there is a hidden layer; otherwise keep the last epoch.
    n_neighbours : int, default=5
        Neighbours of each row in the regularizer.
    weighting : {"union", "there-and-back"}, default="union"
        Weights of pairs of neighbours (see the module `neighbours`).
    sigma : float, default=inf
        Length scale of the there-and-back weighting.
    penalty : {"preference", "quadratic"}, default="preference"
        Form of the regularizer.
    scale : {"global", "list", "quantiles"}, default="global"
        Scaling of features: over all rows, within each list, or both features and their quantiles in the list.
    decorrelate : float, default=0.0
        Power of the covariance in the L2 penalty, from 0 to 1 (see `list_columns`).
    sum_pairs : bool, default=False
        Sum the loss and the regularizer over pairs, as printed in PREF, instead of taking means.
    select : str, default="pairs"
        Criterion for settings and epochs on validation lists: "pairs" is the share of pairs in the right order, with a
        margin of one standard error between settings; otherwise the name of a measure, whose best value wins.
    seed : int, default=0
        Random seed.

    Attributes
    ----------
    theta_ : ndarray of shape (n_parameters,), float64
        Parameters of the scorer.
    epoch_ : int
        Epoch of the parameters.
    beta_, expected_, l2_, rate_ : float
        Settings chosen on validation lists; without these the first of each.
    """

    _renamed: ClassVar = {"sums": "sum_pairs"}
    _fitted: ClassVar[dict[str, str]] = {
        "theta_": "parameters", "center_": "features", "spread_": "+features",
        "epoch_": "", "beta_": "", "expected_": "", "l2_": "", "rate_": "",
    }  # fmt: skip

    def __init__(
        self,
        n_hidden: int = 3,
        beta: Choice = 0.0,
        expected: Choice = 0.0,
        l2: Choice = 0.1,
        rate: Choice = 0.03,
        n_epochs: int = 100,
        stop_early: bool = True,
        n_neighbours: int = 5,
        weighting: str = "union",
        sigma: float = np.inf,
        penalty: str = "preference",
        scale: str = "global",
        decorrelate: float = 0.0,
        sum_pairs: bool = False,
        select: str = "pairs",
        seed: int = 0,
    ) -> None:
        self.n_hidden, self.beta, self.expected, self.l2 = n_hidden, beta, expected, l2
        self.rate, self.n_epochs, self.stop_early, self.n_neighbours = rate, n_epochs, stop_early, n_neighbours
        self.weighting, self.sigma, self.penalty, self.scale = weighting, sigma, penalty, scale
        self.decorrelate, self.sum_pairs, self.select, self.seed = decorrelate, sum_pairs, select, seed

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        pairs: Any = None,
        pair_weights: Any = None,
        validation: Lists | None = None,
        content: Any = None,
        similarities: Any = None,
    ) -> Self:
        """Fit like every ranker, with neighbours by content vectors (n_rows, width) or similarities (n_rows, n_rows).

        Without either, neighbours are found by the scaled ranking features. Rows are in the order of X.
        """
        if content is not None and similarities is not None:
            raise TacitError("content and similarities are both given, want one: both define neighbours")
        near = {"content": content, "similarities": similarities}
        return self._fit_on(X, y, qid, pairs, pair_weights, validation, **near)

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        settings = self._settings()
        rows.check_has_pairs()
        self.center_, self.spread_ = center_and_spread(rows.X)
        with one_blas_thread():
            columns = self._columns(rows.X, rows.list_of)
            turn = decorrelation(columns, rows.list_of, self.decorrelate) if self.decorrelate else None
            held_out = self._validation(validation, turn, any(setting.expected for setting in settings))
            settings = settings if held_out is not None else settings[:1]
            near = self._neighbours(rows, columns) if any(setting.beta for setting in settings) else None
            scorer = make_scorer(columns.shape[1], self.n_hidden)
            trained, setting = self._train_settings(rows, _turned(columns, turn), scorer, settings, near, held_out)
            self.theta_ = trained.theta if turn is None else scorer.absorb(trained.theta, turn)
        self.epoch_, self.losses_ = trained.epoch, np.array(trained.losses)
        self.beta_, self.expected_, self.l2_, self.rate_ = map(float, setting)

    def _train_settings(
        self,
        rows: Rows,
        X: np.ndarray,
        scorer: Scorer,
        settings: Sequence[Setting],
        near: NeighbourPairs | None,
        held_out: Validation | None,
    ) -> tuple[Trained, Setting]:
        """Train every setting, and keep the best."""
        likely = expected_pairs(rows) if any(setting.expected for setting in settings) else None
        best: tuple[Trained, Setting] | None = None
        for setting in settings:
            terms = self._terms(rows, setting, near, likely)
            found = train(
                scorer,
                X,
                terms,
                l2=setting.l2,
                rate=setting.rate,
                n_epochs=self.n_epochs,
                seed=self.seed,
                held_out=held_out,
                stop_early=self.stop_early and self.n_hidden > 0,
            )
            if best is None or self._is_ahead(found.parts, best[0].parts):
                best = found, setting
        assert best is not None  # there is always at least one setting
        return best

    def _terms(
        self, rows: Rows, setting: Setting, near: NeighbourPairs | None, likely: Pairs | None
    ) -> list[GradientTerm]:
        terms: list[GradientTerm] = []
        share = setting.expected if likely is not None and len(likely) else 0.0
        if share < 1:
            terms.append(Scaled(self._loss(rows), 1 - share))
        if share:
            assert likely is not None
            terms.append(Scaled(PairLoss(likely, mean=not self.sum_pairs), share))
        if near is not None and setting.beta:
            options: dict[str, Any] = {"discounts": self._discounts(rows), "mean": not self.sum_pairs}
            terms.append(NeighbourRegularizer(near, rows.starts, setting.beta, penalty=self.penalty, **options))
        return terms

    def _is_ahead(self, parts: np.ndarray, other: np.ndarray) -> bool:
        return is_ahead(parts, other) if self.select == "pairs" else bool(parts.sum() > other.sum())

    def _loss(self, rows: Rows) -> GradientTerm:
        return PairLoss(rows.pairs, mean=not self.sum_pairs)

    def _discounts(self, rows: Rows) -> np.ndarray | None:
        """Return R by position for the rank-sensitive form; None: all neighbours count equally."""
        return None

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            columns = self._columns(X, qid)
            return make_scorer(columns.shape[1], self.n_hidden).scores(self.theta_, columns)

    def needs_lists(self) -> bool:
        """Return whether features are scaled within their list."""
        return set(SCALES[self.scale]) != {"feature"}

    def _check_loaded(self) -> None:
        check_number("n_hidden", self.n_hidden, low=0, whole=True)
        check_choice("scale", self.scale, SCALES)
        n_columns = self._columns(np.zeros((1, len(self.center_))), np.zeros(1)).shape[1]
        n_parameters = (n_columns + 2) * self.n_hidden or n_columns
        if len(self.theta_) != n_parameters:
            raise StoreError(f"theta_ contains {len(self.theta_)} numbers, want {n_parameters}")

    def _columns(self, X: np.ndarray, lists: np.ndarray) -> np.ndarray:
        return to_columns((X - self.center_) / self.spread_, lists, SCALES[self.scale])

    def _validation(self, validation: Rows | None, turn: np.ndarray | None, unjudged: bool) -> Validation | None:
        if validation is None:
            return None
        X = _turned(self._columns(validation.X, validation.list_of), turn)
        if self.select == "pairs":
            return ValidationPairs.of(X, validation, unjudged)
        measure = parse_measure(self.select)
        counted = np.isfinite(validation.y) if measure.judged_only else np.ones(len(X), bool)
        return ValidationMeasure(X[counted], validation.y[counted], validation.list_of[counted], measure)

    def _neighbours(self, rows: Rows, X: np.ndarray) -> NeighbourPairs:
        near: dict[str, Any] = {"vectors": X}
        if rows.similarities is not None:
            near = {"similarities": sp.csr_array(rows.similarities)[rows.order][:, rows.order]}
        elif rows.content is not None:
            near = {"vectors": np.asarray(rows.content, np.float64)[rows.order]}
        found = find_neighbours(rows.starts, self.n_neighbours, weighting=self.weighting, sigma=self.sigma, **near)
        if found.n_cut:
            logger.info("%d lists have at most %d rows: all other rows are neighbours", found.n_cut, self.n_neighbours)
        return found

    def _settings(self) -> list[Setting]:
        check_number("n_hidden", self.n_hidden, low=0, whole=True)
        check_number("n_epochs", self.n_epochs, low=1, whole=True)
        check_choice("scale", self.scale, SCALES)
        check_number("decorrelate", self.decorrelate, low=0, high=1)
        if self.select != "pairs" and is_loss(str(parse_measure(self.select))):
            raise UsageError(f"select is {self.select!r}, a loss; want 'pairs' or a measure that is better when larger")
        limits = {"beta": {"low": 0}, "expected": {"low": 0, "high": 1}, "l2": {"low": 0},
                  "rate": {"low": 0, "open_low": True}}  # fmt: skip
        choices = [values_of(name, getattr(self, name), **limits[name]) for name in Setting._fields]
        return [Setting(*values) for values in product(*choices)]


def _turned(columns: np.ndarray, turn: np.ndarray | None) -> np.ndarray:
    return columns if turn is None else columns @ turn


class Scaled:
    """A term of the gradient, multiplied by a share."""

    def __init__(self, term: GradientTerm, share: float) -> None:
        self.term, self.share = term, share

    def add(self, scores: np.ndarray, gradient: np.ndarray) -> float:
        """Add share * dLoss/ds to the gradient, and return the share of the loss."""
        if self.share == 1:
            return self.term.add(scores, gradient)
        part = np.zeros_like(gradient)
        loss = self.term.add(scores, part)
        gradient += self.share * part
        return self.share * loss

    def add_curvature(self, scores: np.ndarray, curvature: np.ndarray) -> None:
        """Add the share of the diagonal of d2Loss/ds2 to the curvature."""
        part = np.zeros_like(curvature)
        self.term.add_curvature(scores, part)
        curvature += self.share * part


def values_of(name: str, value: Choice, **limits: Any) -> list[float]:
    """Return one or several values as a list, each checked.

    >>> values_of("beta", 0.5, low=0), values_of("beta", (0, 1.5), low=0)
    ([0.5], [0.0, 1.5])
    """
    value = value.tolist() if isinstance(value, np.ndarray) else value
    values = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    if not values:
        raise TacitError(f"{name} is empty, want a number or several to choose from")
    return [float(check_number(name, one, **limits)) for one in values]


def center_and_spread(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each feature over all rows, judged or not; constant features get 1."""
    return X.mean(axis=0), spreads(X, 1e-9)


class BradleyTerryRanker(GradientRanker):
    """Maximum likelihood of the known pairs under the Bradley-Terry model.

    The parameters are as in `GradientRanker`.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, -1, -1, 1]
    >>> BradleyTerryRanker(n_hidden=0).fit(X, y).predict(X).argsort().tolist()
    [0, 1, 2, 3]
    """


class LambdaRankRanker(GradientRanker):
    """LambdaRank: Bradley-Terry with pairs weighted by the change of a measure when they are swapped.

    Parameters
    ----------
    measure : str, default="nDCG-exp"
        The measure: nDCG, nDCG-exp or nDCG-letor (with or without @k), MAP or RR. nDCG-letor gives positions 1 and 2
        the same discount, so swapping them has no weight.
    positions : {"judged", "list"}, default="judged"
        Positions for the discounts of nDCG: among the judged rows, as if the others were not in the list, or in the
        full list, where judged rows at low ranks count little.
    **params
        Parameters of `GradientRanker`.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, -1, 1, 2]
    >>> LambdaRankRanker(n_hidden=0).fit(X, y).predict(X).argsort().tolist()
    [0, 1, 2, 3]
    """

    def __init__(self, measure: str = "nDCG-exp", positions: str = "judged", **params: Any) -> None:
        super().__init__(**params)
        self.measure, self.positions = measure, positions

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        super()._fit(rows.canonical(), validation)  # ties are ordered by row

    def _loss(self, rows: Rows) -> GradientTerm:
        return SwapLoss(rows, self.measure, mean=not self.sum_pairs, positions=self.positions)

    def _discounts(self, rows: Rows) -> np.ndarray:
        return discount_table(parse_swap_measure(self.measure), int(np.diff(rows.starts).max()))
