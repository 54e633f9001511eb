"""Two-sided paired tests over queries of the difference of two systems, with Holm's correction.

Each test uses the differences d_q = a_q - b_q of two systems on the same queries:

    t              mean(d) / (sd(d) / sqrt(n)) against Student's t with n - 1 degrees of freedom
    wilcoxon       signed ranks of the non-zero differences (scipy.stats.wilcoxon)
    randomization  share of random sign flips whose |sum of +-d| reaches |sum of d|; all 2^m flips of the m non-zero
                   differences where that is not more than n_resamples, else (1 + reached) / (1 + n_resamples)

If all differences are 0, or there is only one query, p is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tacit.core import TacitError, check_array, check_choice, check_kind, check_number
from tacit.metrics.measures import is_loss

# Maximum number of cells of the table of signs in memory: 16 MB as float64.
CELLS_AT_ONCE = 2_000_000
# Flipped sums are rounded differently from the observed sum; smaller differences count as equal.
SAME_SUM = 1e-12


@dataclass(frozen=True)
class PairedTests:
    """p-values of three paired tests of two systems.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    difference : float
        Mean of `other` minus mean of `baseline`.
    t, wilcoxon, randomization : float
        Two-sided p-values.
    """

    n_queries: int
    difference: float
    t: float
    wilcoxon: float
    randomization: float

    def __str__(self) -> str:
        tests = "\n".join(f"{name:13}  {getattr(self, name):.4f}" for name in TESTS)
        return f"difference {self.difference:+.4f} on {self.n_queries} queries\ntest           p\n{tests}"


@dataclass(frozen=True)
class Comparison:
    """Two systems compared on one measure.

    Parameters
    ----------
    better, worse : str
        Names of the systems.
    metric : str
        Measure.
    p : float
        Two-sided p-value, corrected over all comparisons of the same call.
    p_raw : float
        p-value without correction.
    difference : float
        Mean of `better` minus mean of `worse`; negative for a loss measure.
    test : str
        Name of the test.
    n_queries : int
        Number of queries.
    """

    better: str
    worse: str
    metric: str
    p: float
    p_raw: float
    difference: float
    test: str
    n_queries: int

    def to_dict(self) -> dict[str, str | float]:
        """Return the four fields of reports."""
        return {"better": self.better, "worse": self.worse, "metric": self.metric, "p": self.p}


def compare(baseline: np.ndarray, other: np.ndarray, *, n_resamples: int = 10_000, seed: int = 0) -> PairedTests:
    """Test two systems by their values on the same queries.

    Parameters
    ----------
    baseline : array of shape (n_queries,)
        Values of the first system.
    other : array of shape (n_queries,)
        Values of the second system.
    n_resamples : int, default=10000
        Maximum number of sign flips of the randomization test.
    seed : int, default=0
        Random seed.

    Returns
    -------
    PairedTests

    Examples
    --------
    >>> result = compare([0.1, 0.2, 0.3, 0.4], [0.2, 0.4, 0.6, 0.5])
    >>> round(result.difference, 3), round(result.t, 3), result.wilcoxon, result.randomization
    (0.175, 0.035, 0.125, 0.125)
    >>> print(result)
    difference +0.1750 on 4 queries
    test           p
    t              0.0354
    wilcoxon       0.1250
    randomization  0.1250
    """
    values = _check_values({"baseline": baseline, "other": other})
    differences = values["other"] - values["baseline"]
    p_values = {name: test(differences, n_resamples, seed) for name, test in TESTS.items()}
    return PairedTests(len(differences), float(differences.mean()), **p_values)


def compare_systems(
    values: Mapping[str, np.ndarray],
    metric: str,
    test: str = "t",
    *,
    baseline: str | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> list[Comparison]:
    """Test all pairs of systems, or each against a baseline, with Holm's correction.

    Parameters
    ----------
    values : mapping of str to array of shape (n_queries,)
        Values by system, on the same queries.
    metric : str
        Measure; for `rank_loss` and `error` less is better.
    test : {"t", "wilcoxon", "randomization"}, default="t"
        Paired test.
    baseline : str, default=None
        Compare the others with this system only.
    n_resamples : int, default=10000
        Maximum number of sign flips of the randomization test.
    seed : int, default=0
        Random seed.

    Returns
    -------
    list of Comparison

    Examples
    --------
    >>> scores = {"bm25": [0.1, 0.2, 0.3, 0.4], "ssi": [0.2, 0.4, 0.6, 0.5]}
    >>> [test.to_dict() for test in compare_systems(scores, "AP", "randomization")]
    [{'better': 'ssi', 'worse': 'bm25', 'metric': 'AP', 'p': 0.125}]
    """
    check_choice("test", test, TESTS)
    arrays = _check_values(values)
    if baseline is None:
        pairs = list(combinations(arrays, 2))
    else:
        check_choice("baseline", baseline, arrays)
        pairs = [(baseline, name) for name in arrays if name != baseline]
    raw = [TESTS[test](arrays[b] - arrays[a], n_resamples, seed) for a, b in pairs]
    corrected = holm(raw)
    found = []
    for (a, b), p_raw, p in zip(pairs, raw, corrected.tolist(), strict=True):
        gain = float((arrays[b] - arrays[a]).mean())
        better, worse = (b, a) if (gain < 0 if is_loss(metric) else gain > 0) else (a, b)
        difference = gain if better == b else -gain
        found.append(Comparison(better, worse, metric, p, p_raw, difference, test, len(arrays[a])))
    return found


def holm(p_values: Iterable[float]) -> np.ndarray:
    """Apply Holm's step-down correction: the smallest of m p-values times m, the next times m - 1, never falling.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = check_array("p_values", list(p_values) if isinstance(p_values, Iterator) else p_values)
    if raw.ndim != 1 or not ((raw >= 0) & (raw <= 1)).all():
        raise TacitError("p_values holds a value outside 0 to 1, or is not a list")
    order = np.argsort(raw, kind="stable")
    steps = raw[order] * np.arange(len(raw), 0, -1)
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return corrected


def t_test(differences: np.ndarray, n_resamples: int = 0, seed: int = 0) -> float:
    """Return p of the paired t-test, without random draws. Equal differences other than 0 have no variance: p is 0."""
    if not differences.any() or len(differences) < 2:
        return 1.0
    from scipy.special import stdtr

    error = differences.std(ddof=1) / np.sqrt(len(differences))
    t = abs(differences.mean()) / error if error > 0 else np.inf
    return float(2 * stdtr(len(differences) - 1, -t))


def t_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of the mean by Student's t; from minus to plus infinity for a single value.

    >>> [round(end, 3) for end in t_interval(np.array([0.1, 0.2, 0.3]))], t_interval(np.array([0.5]))
    ([-0.048, 0.448], (-inf, inf))
    """
    check_number("level", level, low=0, high=1, open_low=True)
    numbers = check_array("values", values).ravel()
    if len(numbers) < 2:
        return -math.inf, math.inf
    return student_interval(float(numbers.mean()), float(numbers.var(ddof=1)), len(numbers), level)


def student_interval(mean: float, variance: float, n: int, level: float) -> tuple[float, float]:
    """Return the interval of a mean of n values with this variance."""
    from scipy.stats import t

    half = float(t.ppf((1 + level) / 2, n - 1)) * math.sqrt(variance / n)
    return mean - half, mean + half


def wilcoxon_test(differences: np.ndarray, n_resamples: int = 0, seed: int = 0) -> float:
    """Return p of the Wilcoxon signed-rank test without zeros and random draws."""
    if not differences.any() or len(differences) < 2:
        return 1.0
    from scipy.stats import wilcoxon

    return float(wilcoxon(differences[differences != 0]).pvalue)


def randomization_test(differences: np.ndarray, n_resamples: int = 10_000, seed: int = 0) -> float:
    """Return p of the paired randomization (sign flip) test of the mean difference."""
    check_number("n_resamples", n_resamples, low=1, whole=True)
    moved = differences[differences != 0]
    if not len(moved) or len(differences) < 2:
        return 1.0
    if len(moved) < 63 and 2 ** len(moved) <= n_resamples:
        return _share_of_all_flips(moved)
    return share_of_random_flips(moved, n_resamples, seed)


def _share_of_all_flips(differences: np.ndarray) -> float:
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    return float(_reaches(sums, differences).mean())


def share_of_random_flips(
    differences: np.ndarray, n_resamples: int, seed: int, cells_at_once: int = CELLS_AT_ONCE
) -> float:
    """Return the share of drawn sign flips whose sum is as far from 0 as the observed sum, which is included."""
    rng = np.random.default_rng(seed)
    n_reached = 0
    step = max(1, cells_at_once // len(differences))
    for start in range(0, n_resamples, step):
        shape = (min(step, n_resamples - start), len(differences))
        signs = rng.integers(2, size=shape, dtype=np.int8) * 2.0 - 1
        n_reached += int(_reaches(signs @ differences, differences).sum())
    return (1 + n_reached) / (1 + n_resamples)


def _reaches(sums: np.ndarray, differences: np.ndarray) -> np.ndarray:
    slack = SAME_SUM * np.abs(differences).sum()
    return np.abs(sums) >= abs(differences.sum()) - slack


def _check_values(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the values as float64 arrays of one length."""
    check_kind("values", values, Mapping, "a dict of values by system")
    arrays = {
        name: check_array(f"values of {name!r}", given, "one number for each query") for name, given in values.items()
    }
    if not arrays:
        raise TacitError("values have no system, want at least one")
    first, reference = next(iter(arrays.items()))
    for name, array in arrays.items():
        if array.ndim != 1 or not len(array):
            raise TacitError(f"values of {name!r} have shape {array.shape}, want one value for each query")
        if len(array) != len(reference):
            raise TacitError(
                f"{name!r} has values of {len(array)} queries, {first!r} of {len(reference)}; want the same"
            )
        if not np.isfinite(array).all():
            raise TacitError(f"values of {name!r} hold NaN or infinity for query {int(np.argmin(np.isfinite(array)))}")
    return arrays


TESTS: dict[str, Callable[[np.ndarray, int, int], float]] = {
    "t": t_test,
    "wilcoxon": wilcoxon_test,
    "randomization": randomization_test,
}
