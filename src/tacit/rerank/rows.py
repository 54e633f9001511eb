"""Training rows, grouped by list, with their known order.

A row is judged (grade >= 0) or unjudged (NaN; -1 on input), never both. The known order is a set of pairs (better row,
worse row, weight): every two rows of one list with different grades, and the given preferences.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tacit.core import Lists, TacitError
from tacit.rerank.input_checks import check_memory

# Maximum number of pairs of one list; of more, a random sample of this size is drawn.
MOST_PAIRS = 1_000_000
# Lists of at most this many rows are compared by a table of rows by rows.
SHORT_LIST = 1000


class Pairs(NamedTuple):
    """Pair t: row `better[t]` should rank above row `worse[t]` (int64), with `weight[t]` > 0 (float64)."""

    better: np.ndarray
    worse: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        """Return number of pairs, not of fields."""
        return len(self.better)


def no_pairs() -> Pairs:
    """Return an empty set of pairs."""
    return Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True)
class Rows:
    """Features and grades of consecutive lists.

    X: float64 (n_rows, n_features); y: float64 (n_rows,), NaN = unjudged; list l is rows starts[l] to starts[l + 1];
    `order[i]` is the number of row i in the input; `given` are preferences in addition to the grades.
    content: (n_rows, width) or similarities: (n_rows, n_rows), in the order of the input, define which rows are near.
    """

    X: np.ndarray
    y: np.ndarray
    starts: np.ndarray
    order: np.ndarray
    given: Pairs = field(default_factory=no_pairs)
    content: Any = None
    similarities: Any = None

    @classmethod
    def of(cls, lists: Lists) -> Rows:
        """Make the rows of lists, in file order."""
        return cls(lists.X, lists.y, lists.starts, np.arange(len(lists.y)))

    @classmethod
    def unjudged(cls, X: np.ndarray, qid: np.ndarray) -> Rows:
        """Make rows to score, in any order."""
        return group_rows(X, np.full(len(X), np.nan), qid)

    def in_input_order(self, values: np.ndarray) -> np.ndarray:
        """Return one value for each row, float64, in the order of the input."""
        found = np.empty(len(values))
        found[self.order] = values
        return found

    @property
    def spans(self) -> list[slice]:
        """The rows of each list."""
        return [slice(*ends) for ends in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)]

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return len(self.starts) - 1

    @cached_property
    def list_of(self) -> np.ndarray:
        """The list number of each row."""
        return np.repeat(np.arange(self.n_lists), np.diff(self.starts))

    @cached_property
    def pairs(self) -> Pairs:
        """Return the known order: pairs of different grades (weight 1), then the given pairs."""
        graded = graded_pairs(self.y, self.starts)
        return Pairs(*(np.concatenate(columns) for columns in zip(graded, self.given, strict=True)))

    @cached_property
    def n_contradictory(self) -> int:
        """Return how many given preferences contradict a grade or another preference."""
        better, worse, _ = self.given
        reversed_too = np.isin(worse * len(self.y) + better, better * len(self.y) + worse)
        return int(((self.y[worse] > self.y[better]) | reversed_too).sum())

    @property
    def has_pairs(self) -> bool:
        """Whether any order is known."""
        differ = np.fmax.reduceat(self.y, self.starts[:-1]) > np.fmin.reduceat(self.y, self.starts[:-1])
        return bool(len(self.given) or differ.any())

    def check_has_pairs(self) -> None:
        """Raise unless there is something to learn from."""
        if not self.has_pairs:
            raise TacitError(
                f"no two rows of one list have different grades (n_samples={len(self.y)}, lists: {self.n_lists}, "
                f"{int(np.isnan(self.y).sum())} unjudged); want at least one pair of grades or one preference"
            )

    def check_has_graded_pairs(self, name: str) -> None:
        """Raise unless two rows of one list have different grades, for rankers that do not learn from preferences."""
        self.check_has_pairs()
        if not replace(self, given=no_pairs()).has_pairs:
            raise TacitError(
                f"{name} learns from grades, not from preferences or clicks, and no two rows of one list have "
                "different grades; want grades, or another method, such as standing"
            )

    def canonical(self) -> Rows:
        """Return the same lists with rows in an order that depends only on their features and grades."""
        table = np.ascontiguousarray(np.column_stack([self.X, np.nan_to_num(self.y, nan=-1.0)]) + 0.0)  # no -0.0
        keys = table.view(np.dtype((np.void, table.shape[1] * table.itemsize))).ravel()
        order = np.argsort(keys, kind="stable")
        order = order[np.argsort(self.list_of[order], kind="stable")]
        position = np.argsort(order)
        given = Pairs(position[self.given.better], position[self.given.worse], self.given.weight)
        return replace(self, X=self.X[order], y=self.y[order], order=self.order[order], given=given)

    def take(self, numbers: np.ndarray) -> Rows:
        """Return some of the lists, in the given order, with the given preferences within them."""
        lengths = np.diff(self.starts)[numbers]
        rows = np.concatenate([np.arange(self.starts[n], self.starts[n + 1]) for n in numbers] or [np.empty(0, int)])
        position = np.full(len(self.y), -1, np.int64)
        position[rows] = np.arange(len(rows))
        better, worse = position[self.given.better], position[self.given.worse]
        kept = better >= 0  # a preference is within one list, so the other row is included too
        given = Pairs(better[kept], worse[kept], self.given.weight[kept])
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return replace(self, X=self.X[rows], y=self.y[rows], starts=starts, order=self.order[rows], given=given)


def group_rows(
    X: np.ndarray, y: np.ndarray, qid: np.ndarray, pairs: np.ndarray | None = None, weights: np.ndarray | None = None
) -> Rows:
    """Group the rows by list, in order of first appearance; rows keep their order within a list.

    y: NaN or below 0 is unjudged. pairs: (better row, worse row) of X, int (n, 2), within one list.

    >>> rows = group_rows(np.arange(4.0)[:, None], np.array([2, 0, -1, 1.0]), np.array(["b", "a", "b", "a"]))
    >>> rows.order.tolist(), rows.starts.tolist(), rows.y.tolist()
    ([0, 2, 1, 3], [0, 2, 4], [2.0, nan, 0.0, 1.0])
    """
    _, first, code = np.unique(qid, return_index=True, return_inverse=True)
    rank_of = np.empty(len(first), np.int64)
    rank_of[np.argsort(first, kind="stable")] = np.arange(len(first))
    number = rank_of[code]
    order = np.argsort(number, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(first)))])
    given = no_pairs() if pairs is None else _check_pairs(pairs, weights, number, np.argsort(order))
    grades = np.where(y < 0, np.nan, y)[order]
    return Rows(X[order], grades, starts, order, given)


def graded_pairs(y: np.ndarray, starts: np.ndarray, most: int = MOST_PAIRS, short: int = SHORT_LIST) -> Pairs:
    """Return all pairs of rows of one list with different grades; unjudged rows are in no pair.

    For a list with more than `most` pairs, a random sample (`draw_pairs`), so that memory stays bounded. Lists of at
    most `short` rows always give all.

    >>> better, worse, _ = graded_pairs(np.array([0, 2, np.nan, 1]), np.array([0, 4]))
    >>> list(zip(better.tolist(), worse.tolist()))
    [(1, 0), (1, 3), (3, 0)]
    """
    found = [no_pairs()]
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        better, worse, weight = _list_pairs(y[start:stop], most, short)
        found.append(Pairs(better + start, worse + start, np.full(len(better), weight)))
        check_memory("pairs of different grades", 2 * 24 * sum(map(len, found)))
    return Pairs(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _list_pairs(grades: np.ndarray, most: int, short: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return pairs of one list, by better row, then by worse row, and the weight of each."""
    if len(grades) <= short:
        better, worse = np.nonzero(grades[:, None] > grades[None, :])  # NaN compares as False
        return better, worse, 1.0
    judged = np.flatnonzero(~np.isnan(grades))
    judged = judged[np.argsort(grades[judged], kind="stable")]
    n_below = np.searchsorted(grades[judged], grades[judged], side="left")
    ends = np.cumsum(n_below)
    picks, weight = draw_pairs(int(ends[-1]) if len(ends) else 0, most)
    at = np.searchsorted(ends, picks, side="right")
    better, worse = judged[at], judged[picks - (ends - n_below)[at]]
    order = np.lexsort((worse, better))
    return better[order], worse[order], weight


def draw_pairs(n_pairs: int, most: int = MOST_PAIRS) -> tuple[np.ndarray, float]:
    """Return the numbers of the pairs of a list to use, and the weight of each: all, or `most` drawn at random.

    The draw is the same for the same list. Weights compensate for the pairs left out.

    >>> draw_pairs(3)
    (array([0, 1, 2]), 1.0)
    >>> picks, weight = draw_pairs(10**8)
    >>> len(picks) <= MOST_PAIRS, round(len(picks) * weight)
    (True, 100000000)
    """
    if n_pairs <= most:
        return np.arange(n_pairs), 1.0
    picks = np.unique(np.random.default_rng(n_pairs).integers(n_pairs, size=most))
    return picks, n_pairs / len(picks)


def _check_pairs(pairs: np.ndarray, weights: np.ndarray | None, number: np.ndarray, position: np.ndarray) -> Pairs:
    """Return the given preferences in the new numbering of rows."""
    try:
        table = np.asarray(pairs)
    except ValueError:
        raise TacitError("pairs has rows of different lengths, want whole numbers (n, 2): better, worse row") from None
    if table.ndim != 2 or table.shape[1] != 2 or not np.issubdtype(table.dtype, np.integer):
        raise TacitError(f"pairs is {table.dtype} of shape {table.shape}, want whole numbers (n, 2): better, worse row")
    counted = np.ones(len(table)) if weights is None else np.asarray(weights, np.float64)
    if counted.shape != (len(table),) or not (np.isfinite(counted) & (counted > 0)).all():
        raise TacitError(f"pair_weights wants {len(table)} finite numbers above 0, one for each pair")
    if len(table) and (table.min() < 0 or table.max() >= len(number)):
        raise TacitError(f"pairs has row {table.min() if table.min() < 0 else table.max()}, X has {len(number)} rows")
    apart = number[table[:, 0]] != number[table[:, 1]]
    alike = table[:, 0] == table[:, 1]
    for bad, problem in ((apart, "joins rows of two lists"), (alike, "has one row on both sides")):
        if bad.any():
            row = int(np.argmax(bad))
            raise TacitError(f"pair {row} ({table[row, 0]}, {table[row, 1]}) {problem}, want two rows of one list")
    return Pairs(position[table[:, 0]], position[table[:, 1]], counted)
