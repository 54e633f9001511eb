"""Measure a run against judgments: one value for each judged query, means and their uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core import Judgments, Lists, Run, TacitError, UsageError, check_array, check_list, check_number, shown
from tacit.core.collection import html_table
from tacit.data import as_judgments, as_run
from tacit.metrics.formulas import compute_values
from tacit.metrics.measures import Measure, parse_measure
from tacit.metrics.rankings import Rankings, join_rows, join_run

DEFAULT_MEASURES = ("nDCG@10", "AP", "P@10", "RR", "Judged@10")  # also the defaults of `tacit evaluate`
MOST_RESAMPLES = 100_000_000
# Cells of the table of resampled queries that are held at a time: 16 MB.
CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Values of each measure for each judged query; printing it shows the means as a table.

    Parameters
    ----------
    query_ids : sequence of str
        The judged queries.
    values : dict of str to ndarray of shape (n_queries,), float64
        Values by measure, in the order of `query_ids`.
    n_missing : int, default=0
        Judged queries without results in the run; they count as the worst.
    n_ignored : int, default=0
        Queries of the run without judgments.
    n_without_relevant : int, default=0
        Judged queries without a relevant document (grade >= 1); they count 0.
    n_without_zeros : int, default=0
        Judged queries without a document judged not relevant; they count 0.5 in AUC and rank_loss.
    name : str, default="tacit"
        Name of the run.
    """

    query_ids: Sequence[str]
    values: dict[str, np.ndarray]
    n_missing: int = 0
    n_ignored: int = 0
    n_without_relevant: int = 0
    n_without_zeros: int = 0
    name: str = "tacit"

    def __str__(self) -> str:
        width = max(map(len, ("measure", *self.values)))
        lines = [f"{'measure':{width}}    mean  std err  queries"]
        for measure, values in self.values.items():
            error = standard_error(values)
            shown = "      -" if np.isnan(error) else f"{error:7.4f}"
            lines.append(f"{measure:{width}}  {values.mean():6.4f}  {shown}  {len(values):7d}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return a table as HTML, for notebooks."""
        errors = self.standard_errors()
        rows = [[name, mean, errors[name], len(self.query_ids)] for name, mean in self.means().items()]
        return html_table(["measure", "mean", "standard error", "queries"], rows, self.name)

    def means(self) -> dict[str, float]:
        """Return the mean over all judged queries, by measure."""
        return {measure: float(values.mean()) for measure, values in self.values.items()}

    def standard_errors(self) -> dict[str, float]:
        """Return the standard error of each mean over queries; NaN for a single query."""
        return {measure: standard_error(values) for measure, values in self.values.items()}

    def intervals(
        self, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0
    ) -> dict[str, tuple[float, float]]:
        """Return a bootstrap percentile interval of each mean.

        Queries are drawn with replacement, the same for all measures.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the interval.
        n_resamples : int, default=10000
            Number of bootstrap samples.
        seed : int, default=0
            Random seed.
        """
        check_number("level", level, low=0, high=1, open_low=True)
        check_number("n_resamples", n_resamples, low=1, high=MOST_RESAMPLES, whole=True)
        check_number("seed", seed, low=0, whole=True)
        means = resampled_means(np.array(list(self.values.values())), n_resamples, seed)
        ends = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=1)
        return {measure: (float(low), float(high)) for measure, low, high in zip(self.values, *ends, strict=True)}


def evaluate(
    judgments: Judgments | Lists | Any,
    run: Run | Any,
    measures: Iterable[str | Measure] | str | Measure = DEFAULT_MEASURES,
) -> Evaluation:
    """Measure a run on every judged query.

    Parameters
    ----------
    judgments : Judgments, Lists, dict of dicts, frame or path
        Grades of documents, such as `{query: {document: grade}}`, or feature lists with graded rows.
    run : Run, dict of dicts, frame or path
        Scores of documents, such as `{query: {document: score}}`.
    measures : str, Measure, or iterable of these, default=("nDCG@10", "AP", "P@10", "RR", "Judged@10")
        Names of measures.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> judgments = Judgments.from_dict({"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"a": 1}})
    >>> run = Run.from_dict({"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q9": {"a": 1.0}})
    >>> result = evaluate(judgments, run, ["AP", "P@2", "AUC"])
    >>> result.values["AP"].round(3).tolist(), result.means()["P@2"], result.n_missing, result.n_ignored
    ([0.833, 0.0], 0.25, 1, 1)
    >>> print(result)
    measure    mean  std err  queries
    AP       0.4167   0.4167        2
    P@2      0.2500   0.2500        2
    AUC      0.2500   0.2500        2
    """
    wanted = read_measures(measures)
    judgments = judgments.to_judgments() if isinstance(judgments, Lists) else as_judgments(judgments)
    run = as_run(run)
    if not len(judgments.query_ids):
        raise TacitError("the judgments have no query, want at least one")
    rankings, n_ignored = join_run(judgments, run)
    return _evaluate_rankings(rankings, wanted, judgments.query_ids, n_ignored, run.name)


def evaluate_rows(
    grades: np.ndarray,
    scores: np.ndarray,
    qid: np.ndarray | None = None,
    measures: Iterable[str | Measure] | str | Measure = "nDCG-letor@10",
) -> Evaluation:
    """Measure scores of graded rows: feature lists, without ids or files.

    Ties go to the earlier row. Queries are in the order of `np.unique(qid)`, as text.

    Parameters
    ----------
    grades : array of shape (n_rows,)
        Grades of the rows, in any order; NaN or a negative grade is unjudged.
    scores : array of shape (n_rows,)
        Scores of the same rows.
    qid : array of shape (n_rows,), default=None
        List of each row; None for one list.
    measures : str, Measure, or iterable of these, default="nDCG-letor@10"
        Names of measures.

    Examples
    --------
    >>> evaluate_rows([0, 1, 1, np.nan], [0.3, 0.2, 0.9, 0.8], [7, 7, 5, 5], ["RR", "RR-judged"]).values["RR"].tolist()
    [1.0, 0.5]
    """
    wanted = read_measures(measures)
    grade, score = check_array("grades", grades), check_array("scores", scores)
    try:
        group = np.zeros(grade.shape, np.int64) if qid is None else np.asarray(qid)
    except ValueError:  # lists of different lengths
        raise UsageError(f"qid is {shown(qid)}, want the list of each row") from None
    if grade.ndim != 1 or not grade.shape == score.shape == group.shape:
        raise TacitError(
            f"grades, scores and qid have shapes {grade.shape}, {score.shape}, {group.shape}; want the same, flat"
        )
    if not len(grade):
        raise TacitError("grades have no rows, want at least one")
    if np.isinf(grade).any():
        raise TacitError(f"grades are infinite in row {int(np.argmax(np.isinf(grade)))}")
    if not np.isfinite(score).all():
        raise TacitError(f"scores contains NaN or infinity in row {int(np.argmin(np.isfinite(score)))}")
    try:
        names, query = np.unique(group, return_inverse=True)
    except TypeError:  # values that cannot be compared
        raise UsageError(f"qid is {shown(qid)}, want numbers or texts") from None
    rankings = join_rows(grade, score, query, len(names))
    return _evaluate_rankings(rankings, wanted, [str(name) for name in names], 0, "rows")


def standard_error(values: np.ndarray) -> float:
    """Standard error of the mean, with n - 1; NaN for a single value."""
    numbers = check_array("values", values).ravel()
    return float(numbers.std(ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else float("nan")


def _evaluate_rankings(
    rankings: Rankings, measures: Sequence[Measure], query_ids: Sequence[str], n_ignored: int, name: str
) -> Evaluation:
    return Evaluation(
        query_ids=list(query_ids),
        values={str(measure): compute_values(measure, rankings) for measure in measures},
        n_missing=int((rankings.n_ranked == 0).sum()),
        n_ignored=n_ignored,
        n_without_relevant=int((rankings.n_relevant(rel=1) == 0).sum()),
        n_without_zeros=int((rankings.n_relevant(rel=0) == rankings.n_relevant(rel=1)).sum()),
        name=name,
    )


def read_measures(measures: Iterable[str | Measure] | str | Measure) -> list[Measure]:
    """Return the named measures, at least one."""
    if isinstance(measures, str | Measure):
        measures = [measures]
    given = check_list("measures", measures, "names of measures, such as nDCG@10")
    if not given:
        raise UsageError("no measure is given, want at least one, such as nDCG@10")
    return [parse_measure(measure) for measure in given]


def resampled_means(table: np.ndarray, n_resamples: int, seed: int, cells_at_once: int = CELLS_AT_ONCE) -> np.ndarray:
    """Return means of the rows of table (n_measures, n_queries) over drawn queries: (n_measures, n_resamples)."""
    rng = np.random.default_rng(seed)
    n_queries = table.shape[1]
    means = np.empty((len(table), n_resamples))
    step = max(1, cells_at_once // n_queries)
    for start in range(0, n_resamples, step):
        stop = min(start + step, n_resamples)
        drawn = rng.integers(n_queries, size=(stop - start, n_queries))
        for row, values in enumerate(table):
            means[row, start:stop] = values[drawn].mean(axis=1)
    return means
