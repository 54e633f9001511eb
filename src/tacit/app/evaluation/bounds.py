"""`tacit evaluate --bounds`: how far unjudged results could move the difference of each run from the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.tables import print_table
from tacit.core import UsageError

if TYPE_CHECKING:
    from tacit.core import Judgments, Run
    from tacit.metrics import Evaluation


def find_bounds(judgments: Judgments, runs: Mapping[str, Run], found: Mapping[str, Evaluation]) -> list[dict[str, Any]]:
    """Compute the difference of each run from the first, and its bounds, for the measures that have bounds."""
    from tacit.metrics import difference_bounds, parse_measure
    from tacit.metrics.bounds import BOUNDED

    (first, base), *others = runs.items()
    measures = [parse_measure(name) for name in found[first].values]
    bounded = [m for m in measures if m.name in BOUNDED and m.cutoff is not None and not m.judged_only]
    if not bounded:
        raise UsageError(f"no measure has bounds, want one of {', '.join(f'{name}@k' for name in BOUNDED)} (-m)")
    rows = []
    for measure in bounded:
        means = {path: evaluation.means()[str(measure)] for path, evaluation in found.items()}
        for path, run in others:
            limits = difference_bounds(judgments, base, run, measure)
            difference = means[path] - means[first]
            rows.append(
                {
                    "run": path,
                    "metric": str(measure),
                    "difference": difference,
                    "bounds": [limits.low, limits.high],
                    "unjudged": limits.unjudged,
                }
            )
    return rows


def show_bounds(rows: list[dict[str, Any]], first: str, out: TextIO) -> None:
    """Print one line for each run and measure."""
    out.write(f"\nDifferences from {first}, for any grades of unjudged results:\n\n")
    cells = [
        [row["run"], row["metric"], f"{row['difference']:+.4f}", "{:+.4f} to {:+.4f}".format(*row["bounds"]),
         str(row["unjudged"]), _sign(*row["bounds"])]
        for row in rows
    ]  # fmt: skip
    print_table(["run", "measure", "difference", "bounds", "unjudged", "sign"], cells, out, left=2)


def _sign(low: float, high: float) -> str:
    """Return whether unjudged results could change the sign of the difference."""
    return "certain" if low > 0 or high < 0 else "open"
