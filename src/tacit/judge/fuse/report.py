"""The report of `fuse` as a table and as one HTML file, in the style of the report of `advise`."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from tacit.judge.advise.report import STYLE
from tacit.judge.fuse.proof import FuseReport


def table_rows(report: FuseReport) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table of systems, as text."""
    measures = list(report.rows[0]["metrics"]) if report.rows else []
    header = ["system", *measures, "gain over default", "95% interval", "p"]
    rows = []
    for row in report.rows:
        found: dict[str, Any] | None = row.get("against_default")
        gain = ["", "", ""]
        if found is not None:
            low, high = found["interval"]
            gain = [f"{found['gain']:+.3f}", f"{low:+.3f} to {high:+.3f}", f"{found['p']:.2g}"]
        rows.append([row["system"], *(f"{row['metrics'][name]:.3f}" for name in measures), *gain])
    return header, rows


def snippet(export: dict[str, Any]) -> str:
    """Return the body or snippet of an export, as text to paste."""
    body = export["body"]
    return body if isinstance(body, str) else json.dumps(body, indent=2) + "\n"


def to_html(report: FuseReport, title: str = "tacit fuse") -> str:
    """Return the page as HTML; it loads no other files."""
    header, rows = table_rows(report)
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    weights = "".join(
        f"<tr><td>{escape(name)}</td><td>{weight:.3g}</td><td>{default:.3g}</td></tr>"
        for name, weight, default in zip(
            report.fusion.names, report.fusion.weights, report.default.weights, strict=True
        )
    )
    export = ""
    if report.export is not None:
        name = escape(report.export["engine"])
        export = f"<h2>For {name}</h2><pre>{escape(snippet(report.export))}</pre><p>{escape(report.export['note'])}</p>"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{STYLE}</style></head><body>
<h1>{escape(title)}</h1>
<p class="verdict">{escape(report.text)}</p>
<h2>Systems</h2>
<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>
<p>{report.queries} judged queries. The row "fused" is the whole choice, measured on held-out queries (ten
folds). Gains are over the default, {escape(report.default.title)}; p is two-sided and corrected (Holm).</p>
<h2>Weights: {escape(report.fusion.family.normalization)}</h2>
<table><thead><tr><th>run</th><th>weight</th><th>default</th></tr></thead><tbody>{weights}</tbody></table>
<p>A document that a run did not return: {escape(str(report.fusion.to_json()["missing"]))}.</p>
{export}
</body></html>
"""
