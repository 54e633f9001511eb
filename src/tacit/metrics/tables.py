"""Tables of systems: mean and standard error by measure, with marks for differences from the baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core import TacitError, check_array, check_choice, check_number, checked, plural
from tacit.metrics.evaluation import Evaluation, standard_error
from tacit.metrics.measures import is_loss
from tacit.metrics.significance import Comparison, compare_systems

TEST_NAMES = {"t": "paired t-test", "wilcoxon": "Wilcoxon signed-rank test", "randomization": "randomization test"}


@dataclass(frozen=True)
class Cell:
    """One system on one measure. p: against the baseline, corrected; None for the baseline itself."""

    mean: float
    standard_error: float
    p: float | None
    significant: bool
    best: bool

    @property
    def figures(self) -> str:
        """Return mean and standard error; a single query has no error."""
        return f"{self.mean:.4f}" + ("" if math.isnan(self.standard_error) else f" ± {self.standard_error:.4f}")

    @property
    def mark(self) -> str:
        """Return the mark after the figures."""
        return " †" if self.significant else ""


@dataclass(frozen=True)
class Row:
    """One system: its cells by measure."""

    system: str
    cells: dict[str, Cell]


@dataclass(frozen=True)
class ComparisonTable:
    """Rows in the order of the systems, and the comparisons with the baseline, which determine their marks."""

    rows: list[Row]
    measures: list[str]
    baseline: str
    comparisons: list[Comparison]
    note: str

    def __str__(self) -> str:
        return self.to_markdown()

    def to_markdown(self) -> str:
        """Return the table in Markdown: the best of each column in bold, and a note below."""
        lines = [["system", *self.measures], ["---", *("---:" for _ in self.measures)]]
        for row in self.rows:
            cells = [row.cells[measure] for measure in self.measures]
            lines.append([_escape(row.system), *map(_markdown_cell, cells)])
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{body}\n\n{self.note}\n"


@checked
def comparison_table(
    systems: Mapping[str, Evaluation | Mapping[str, np.ndarray]],
    measures: Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    test: str = "t",
    alpha: float = 0.05,
    seed: int = 0,
) -> ComparisonTable:
    """Compare systems that were measured on the same queries in one table.

    Parameters
    ----------
    systems : mapping of str to Evaluation or mapping
        Evaluation, or per-query values by measure, of each system.
    measures : sequence of str, default=None
        Columns; None for the measures of the first system.
    baseline : str, default=None
        System that others are tested against; None for the first system.
    test : {"t", "wilcoxon", "randomization"}, default="t"
        Paired test; p-values are two-sided, with Holm's correction within each measure.
    alpha : float, default=0.05
        Significance level.
    seed : int, default=0
        Random seed.

    Returns
    -------
    ComparisonTable

    Examples
    --------
    >>> values = {"bm25": {"AP": np.array([0.1, 0.2, 0.3])}, "ssi": {"AP": np.array([0.3, 0.41, 0.5])}}
    >>> print(comparison_table(values))
    | system | AP |
    | --- | ---: |
    | bm25 | 0.2000 ± 0.0577 |
    | ssi | **0.4033 ± 0.0578** † |
    <BLANKLINE>
    3 queries; mean ± standard error; † differs from bm25, p < 0.05 (paired t-test, two-sided, Holm); best in bold.
    <BLANKLINE>
    """
    check_number("alpha", alpha, low=0, high=1, open_low=True)
    check_choice("test", test, TEST_NAMES)
    values = _values_by_system(systems)
    first = next(iter(values))
    baseline = check_choice("baseline", first if baseline is None else baseline, values)
    names = list(values[first]) if measures is None else list(measures)
    if not names:
        raise TacitError("there are no measures, want at least one")
    columns, comparisons = {}, []
    for measure in names:
        column = {system: _column_entry(system, table, measure) for system, table in values.items()}
        found = compare_systems(column, measure, test, baseline=baseline, seed=seed)
        columns[measure] = _cells(column, measure, baseline, found, alpha)
        comparisons.extend(found)
    rows = [Row(system, {measure: columns[measure][system] for measure in names}) for system in values]
    n_queries = len(next(iter(values[first].values())))
    note = (
        f"{plural(n_queries, 'query')}; mean ± standard error; † differs from {baseline}, p < {alpha:g} "
        f"({TEST_NAMES[test]}, two-sided, Holm); best in bold."
    )
    return ComparisonTable(rows, names, baseline, comparisons, note)


def _values_by_system(
    systems: Mapping[str, Evaluation | Mapping[str, np.ndarray]],
) -> dict[str, Mapping[str, np.ndarray]]:
    """Return values by system and measure; evaluations must be of the same queries."""
    if not systems:
        raise TacitError("systems is empty, want at least one")
    evaluations = {name: given for name, given in systems.items() if isinstance(given, Evaluation)}
    for name, evaluation in evaluations.items():
        first, reference = next(iter(evaluations.items()))
        if list(evaluation.query_ids) != list(reference.query_ids):
            raise TacitError(f"{name!r} and {first!r} were measured on different queries, want the same")
    return {name: given.values if isinstance(given, Evaluation) else given for name, given in systems.items()}


def _column_entry(system: str, table: Mapping[str, np.ndarray], measure: str) -> np.ndarray:
    if measure not in table:
        raise TacitError(f"{system!r} has no values of {measure!r}, only of {', '.join(table) or 'nothing'}")
    return check_array(f"values of {system!r}", table[measure], "one number for each query")


def _cells(
    column: Mapping[str, np.ndarray], measure: str, baseline: str, comparisons: Sequence[Comparison], alpha: float
) -> dict[str, Cell]:
    p_of = {pair.worse if pair.better == baseline else pair.better: pair.p for pair in comparisons}
    means = {system: float(values.mean()) for system, values in column.items()}
    best = min(means.values()) if is_loss(measure) else max(means.values())
    return {
        system: Cell(
            mean=means[system],
            standard_error=standard_error(values),
            p=p_of.get(system),
            significant=p_of.get(system, 1.0) < alpha,
            best=means[system] == best and len(means) > 1,
        )
        for system, values in column.items()
    }


def _markdown_cell(cell: Cell) -> str:
    return (f"**{cell.figures}**" if cell.best else cell.figures) + cell.mark


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
