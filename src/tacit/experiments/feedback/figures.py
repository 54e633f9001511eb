"""Figure 6 of Szummer and Yilmaz on our lists: nDCG@10 against the number of judged documents."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tacit.experiments.figures import Draw, new_figure, save, shown_systems
from tacit.experiments.report import Report


def feedback_figures(report: Report) -> dict[str, Draw]:
    """One curve for each of the best systems."""
    return {f"feedback-{report.corpus}": partial(_curves, report)}


def _curves(report: Report, path: Path) -> None:
    figure, axes = new_figure(7, 5)
    for system in shown_systems(report.rows, "nDCG@10", keep=("bm25", "linear")):
        rows = [row for row in report.rows if row.system == system]
        numbers = [row.setting["k"] for row in rows]
        means = [row.metrics["nDCG@10"] for row in rows]
        errors = [row.standard_errors["nDCG@10"] for row in rows]
        style = "--" if system in ("bm25", "linear", "lambdarank") else "-"
        axes.errorbar(numbers, means, yerr=errors, label=system, linestyle=style, marker="o", markersize=3, capsize=2)
    axes.set(xlabel="judged documents", ylabel="nDCG@10 of the rest (± standard error)")
    axes.set_title(f"feedback on {report.corpus}; supervised systems dashed")
    axes.legend(fontsize=8)
    save(figure, path)
