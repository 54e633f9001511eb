"""Mixture of a supervised and a transductive score, with weights chosen on validation lists.

For a list of n documents, with both scores scaled to mean 0 and deviation 1 over the list,

    score = (1 - s) supervised + s transductive,      s = share * n / (n + size),

where share in 0 to 1 and size >= 0 are chosen on validation lists: a large size keeps short lists near the supervised
score. The criterion is the mean gain over the supervised score minus `n_standard_errors` standard errors of that gain;
the share is 0 if the criterion is not positive. The score of a ranker with stages (rounds of boosting, penalties) is
the mean over all stages, instead of one stage chosen on few lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from tacit.core import check_kind, check_number
from tacit.features.kernel_pca import KernelPca
from tacit.metrics import evaluate_rows, is_loss, parse_measure, standard_error
from tacit.rerank.base import ListRanker, check_nested
from tacit.rerank.boosting.rankboost import RankBoostRanker
from tacit.rerank.linear.ridge import ListRidgeRanker
from tacit.rerank.rows import Rows
from tacit.rerank.transduction.learners import make_learner, staged_scores
from tacit.rerank.transduction.ranker import TransductiveRanker

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
SIZES = (0.0, 20.0, 100.0)
N_ROUNDS = 150

# Without validation lists: the minimum number of training lists to hold some out, and which ones.
LEAST_LISTS, HOLD_OUT_EVERY = 10, 5


@dataclass(frozen=True)
class Guard:
    """Weight of the transductive score of a list.

    >>> supervised, transductive = np.array([1.0, 0.0]), np.array([0.0, 4.0])
    >>> Guard(share=1.0, size=10.0).blend(supervised, transductive, starts=np.array([0, 2])).round(2).tolist()
    [0.67, -0.67]
    """

    share: float = 0.0
    size: float = 0.0

    def blend(self, supervised: np.ndarray, transductive: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the mixed scores of consecutive lists."""
        lengths = np.diff(starts)
        trust = np.repeat(self.share * lengths / (lengths + self.size), lengths)
        first, second = (standardise(scores, starts) for scores in (supervised, transductive))
        return (1 - trust) * first + trust * second


def standardise(scores: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return scores with mean 0 and deviation 1 over each list; all 0 if they are equal."""
    lengths = np.diff(starts)
    centred = scores - np.repeat(np.add.reduceat(scores, starts[:-1]) / lengths, lengths)
    deviation = np.sqrt(np.add.reduceat(centred**2, starts[:-1]) / lengths)
    return centred / np.repeat(np.where(deviation > 1e-12, deviation, np.inf), lengths)


def learn_guard(
    supervised: np.ndarray, transductive: np.ndarray, rows: Rows, measure: str = "AP", n_standard_errors: float = 0.0
) -> Guard:
    """Return the guard with the best cautious gain on graded lists; lists with a score NaN are left out."""
    known = np.flatnonzero(~np.isnan(np.add.reduceat(transductive, rows.starts[:-1])))
    if not len(known):
        return Guard()
    kept = rows.take(known)
    chosen = np.concatenate([np.arange(rows.starts[n], rows.starts[n + 1]) for n in known])
    sign = -1 if is_loss(measure) else 1

    def values(guard: Guard) -> np.ndarray:
        blended = guard.blend(supervised[chosen], transductive[chosen], kept.starts)
        return sign * next(iter(evaluate_rows(kept.y, blended, kept.list_of, measure).values.values()))

    base = values(Guard())
    best, best_gain = Guard(), 0.0
    for share, size in product(SHARES[1:], SIZES):
        gains = values(Guard(share, size)) - base
        error = standard_error(gains) if len(gains) > 1 else np.inf
        gain = float(gains.mean() - n_standard_errors * error)
        if gain > best_gain:
            best, best_gain = Guard(share, size), gain
    return best


class AveragedRanker(ListRanker):
    """A ranker with stages whose score is the mean over all stages, without a choice.

    Parameters
    ----------
    base : estimator, default=None
        Ranker with stages; None is RankBoost.

    Attributes
    ----------
    ranker_ : estimator
        The fitted ranker.

    Examples
    --------
    >>> X = np.array([[3, 0], [1, 5], [2, 5.0]])
    >>> np.argsort(-AveragedRanker().fit(X, [2, 0, 1]).predict(X)).tolist()
    [0, 2, 1]
    """

    _fitted: ClassVar[dict[str, str]] = {"ranker_": "estimator"}

    def __init__(self, base: Any = None) -> None:
        self.base = base

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        base = RankBoostRanker(n_rounds=N_ROUNDS) if self.base is None else self.base
        self.ranker_ = make_learner(base, rows).learn(None, None)

    def _check_loaded(self) -> None:
        check_nested(self, [self.ranker_])

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        return staged_scores(self.ranker_, X).mean(axis=0)

    def needs_lists(self) -> bool:
        """Return whether the chosen ranker depends on all rows of a list."""
        return isinstance(self.ranker_, ListRanker) and self.ranker_.needs_lists()


class CommitteeRanker(ListRanker):
    """The mean score of several rankers, each with standard deviation 1 over a list.

    Parameters
    ----------
    members : sequence of ListRanker, default=()
        The rankers; empty is boosted stumps and a linear ranker.

    Attributes
    ----------
    rankers_ : list of ListRanker
        The fitted rankers.
    """

    _fitted: ClassVar[dict[str, str]] = {"rankers_": "estimators"}
    _scores_by_list: ClassVar[bool] = True

    def __init__(self, members: tuple[Any, ...] = ()) -> None:
        self.members = members

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        members = self.members or (AveragedRanker(), AveragedRanker(ListRidgeRanker()))
        self.rankers_ = [clone(member)._fit_rows(rows, validation) for member in members]

    def _check_loaded(self) -> None:
        check_nested(self, self.rankers_)

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        grouped = Rows.unjudged(X, qid)
        found = [standardise(r._predict(grouped.X, grouped.list_of), grouped.starts) for r in self.rankers_]
        return grouped.in_input_order(np.mean(found, axis=0))


def default_transductive(threads: int | None = None) -> TransductiveRanker:
    """Return feature generation for a linear ranker: its mistakes differ from boosting, at milliseconds per list."""
    return TransductiveRanker(ListRidgeRanker(), discover=KernelPca(clip=0.01), average=True, threads=threads)


class GuardedRanker(ListRanker):
    """Mixture of a supervised and a transductive ranker, weighted by validation performance.

    Without validation lists every fifth training list is held out instead, and used in the final training.

    Parameters
    ----------
    supervised : ListRanker, default=None
        None is the mean of RankBoost and a linear ranker.
    transductive : ListRanker, default=None
        None is a linear ranker on features that kernel PCA finds in each list, averaged over penalties.
    measure : str, default="AP"
        Measure on validation lists for the choice of the weight.
    n_standard_errors : float, default=0.0
        A gain must exceed 0 by this number of standard errors.
    threads : int, default=None
        Number of lists ranked in parallel; None uses all cores.

    Attributes
    ----------
    share_, size_ : float
        The weight of the transductive score of a list of n rows is share_ n / (n + size_).
    rankers_ : list of ListRanker
        The two rankers.
    """

    _renamed: ClassVar = {"caution": "n_standard_errors"}
    _fitted: ClassVar[dict[str, str]] = {"share_": "", "size_": "", "rankers_": "estimators"}
    _scores_by_list: ClassVar[bool] = True

    def __init__(
        self,
        supervised: Any = None,
        transductive: Any = None,
        measure: str = "AP",
        n_standard_errors: float = 0.0,
        threads: int | None = None,
    ) -> None:
        self.supervised, self.transductive, self.measure = supervised, transductive, measure
        self.n_standard_errors, self.threads = n_standard_errors, threads

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        parse_measure(self.measure)
        check_number("n_standard_errors", self.n_standard_errors, low=0)
        rows.check_has_graded_pairs(type(self).__name__)
        guard = Guard()
        if validation is not None:
            guard = self._learn(rows, validation)
        elif rows.n_lists >= LEAST_LISTS:
            held_out = np.arange(rows.n_lists) % HOLD_OUT_EVERY == 0
            learned_from = rows.take(np.flatnonzero(~held_out))
            if learned_from.has_pairs:
                guard = self._learn(learned_from, rows.take(np.flatnonzero(held_out)))
        if validation is None:
            self._train(rows, None)
        self.share_, self.size_ = guard.share, guard.size

    def _learn(self, rows: Rows, validation: Rows) -> Guard:
        """Choose the guard on validation rows, for rankers trained on other rows."""
        self._train(rows, validation)
        supervised, transductive = (self._validation_scores(ranker, validation) for ranker in self.rankers_)
        return learn_guard(supervised, transductive, validation, self.measure, self.n_standard_errors)

    def _train(self, rows: Rows, validation: Rows | None) -> None:
        for name in ("supervised", "transductive"):
            check_kind(name, getattr(self, name), ListRanker | None, "a ranker of lists")
        supervised = clone(self.supervised) if self.supervised is not None else CommitteeRanker()
        transductive = clone(self.transductive) if self.transductive is not None else default_transductive(self.threads)
        self.rankers_ = [ranker._fit_rows(rows, validation) for ranker in (supervised, transductive)]

    def _check_loaded(self) -> None:
        check_nested(self, self.rankers_, 2, 2)
        check_number("share_", self.share_, low=0, high=1)
        check_number("size_", self.size_, low=0)

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        grouped = Rows.unjudged(X, qid)
        # No ranker is trained for lists whose score it would not change.
        used = self.rankers_ if self.share_ > 0 else self.rankers_[:1] * 2
        supervised, transductive = (ranker._predict(grouped.X, grouped.list_of) for ranker in used)
        return grouped.in_input_order(Guard(self.share_, self.size_).blend(supervised, transductive, grouped.starts))

    def _validation_scores(self, ranker: Any, validation: Rows) -> np.ndarray:
        known = getattr(ranker, "validation_scores_", None)
        return ranker._predict(validation.X, validation.list_of) if known is None else known
