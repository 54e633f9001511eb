"""The report of `fuse` as a table and as one HTML file, in the style of the report of `advise`."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from tacit.judge.advise.report import gain_cells, page, table
from tacit.judge.fuse.proof import FuseReport


def table_rows(report: FuseReport) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table of systems, as text."""
    measures = list(report.rows[0]["metrics"]) if report.rows else []
    header = ["system", *measures, "gain over default", "95% interval", "p"]
    rows = []
    for row in report.rows:
        gain = gain_cells(row.get("against_default"))
        rows.append([row["system"], *(f"{row['metrics'][name]:.3f}" for name in measures), *gain])
    return header, rows


def snippet(export: dict[str, Any]) -> str:
    """Return the body or snippet of an export, as text to paste."""
    body = export["body"]
    return body if isinstance(body, str) else json.dumps(body, indent=2) + "\n"


def to_html(report: FuseReport, title: str = "tacit fuse") -> str:
    """Return the page as HTML; it loads no other files."""
    fusion = report.fusion
    weights = [
        [name, f"{weight:.3g}", f"{default:.3g}"]
        for name, weight, default in zip(fusion.names, fusion.weights, report.default.weights, strict=True)
    ]
    export = ""
    if report.export is not None:
        name = escape(report.export["engine"])
        export = f"<h2>For {name}</h2><pre>{escape(snippet(report.export))}</pre><p>{escape(report.export['note'])}</p>"
    body = f"""<h2>Systems</h2>
{table(*table_rows(report))}
<p>{report.queries} judged queries. The row "fused" is the whole choice, measured on held-out queries (ten
folds). Gains are over the default, {escape(report.default.title)}; p is two-sided and corrected (Holm).</p>
<h2>Weights: {escape(fusion.family.normalization)}</h2>
{table(["run", "weight", "default"], weights)}
<p>A document that a run did not return: {escape(str(fusion.to_json()["missing"]))}.</p>
{export}
"""
    return page(title, report.text, body)
