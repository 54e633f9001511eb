"""The advice as one HTML file, without network access, in the reader's light or dark setting."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from tacit.judge.advise.advice import Advice

STYLE = """
:root { color-scheme: light dark; --line: #d0d7de; --accent: #1c5d99; }
@media (prefers-color-scheme: dark) { :root { --line: #3a424b; --accent: #6fb1ea; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
.verdict { border-left: 4px solid var(--accent); padding: .5rem 1rem; font-size: 1.1rem; }
svg { max-width: 100%; height: auto; }
"""
WIDTH, HEIGHT, LEFT, BOTTOM = 560, 260, 60, 30


def to_html(
    advice: Advice, title: str = "tacit advise", tables: Sequence[tuple[str, list[str], list[list[str]]]] = ()
) -> str:
    """Return the page as HTML; `tables` are further tables, each with heading, header and rows."""
    further = "".join(f"<h2>{escape(name)}</h2>\n{table(header, rows)}\n" for name, header, rows in tables)
    body = f"""<h2>Systems</h2>
{table(*table_rows(advice))}
<p>{advice.queries} queries, each ranked by systems that were not trained on its judgments or clicks. Gains are
over {escape(advice.baseline)}, with 95% intervals; p is two-sided and corrected over the systems (Holm).
{escape(advice.note)}</p>
<h2>How many queries to learn from?</h2>
{plot_curve(advice.curve, advice.measure)}
{further}"""
    return page(title, advice.text, body)


def page(title: str, verdict: str, body: str) -> str:
    """Return an HTML page of its own: a title, the verdict as text, and a body in HTML."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{STYLE}</style></head><body>
<h1>{escape(title)}</h1>
<p class="verdict">{escape(verdict)}</p>
{body}</body></html>
"""


def table_rows(advice: Advice) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table of systems, as text."""
    measures = list(advice.rows[0]["metrics"])
    header = ["system", *measures, f"gain in {advice.measure}", "95% interval", "p"]
    rows = []
    for row in advice.rows:
        gain = gain_cells(row.get("against_baseline", {}).get(advice.measure))
        rows.append([row["system"], *(f"{row['metrics'][name]:.3f}" for name in measures), *gain])
    rows += [[name, "not enough time", *[""] * (len(header) - 2)] for name in advice.left_out]
    return header, rows


def gain_cells(found: dict[str, Any] | None) -> list[str]:
    """Return gain, interval and p as text; empty for the baseline."""
    if found is None:
        return ["", "", ""]
    low, high = found["interval"]
    return [f"{found['gain']:+.3f}", f"{low:+.3f} to {high:+.3f}", f"{found['p']:.2g}"]


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table of texts as HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def plot_curve(curve: list[dict[str, Any]], measure: str) -> str:
    """Return the learning curve with intervals as SVG; empty without points."""
    if not curve:
        return ""
    lowest = min(point["interval"][0] for point in curve)
    highest = max(point["interval"][1] for point in curve)
    most = max(point["queries"] for point in curve) or 1

    def x(queries: float) -> float:
        return LEFT + (WIDTH - LEFT - 20) * queries / most

    def y(value: float) -> float:
        return 10 + (HEIGHT - BOTTOM - 20) * (highest - value) / ((highest - lowest) or 1)

    axis = f'<path d="M{LEFT} 10V{HEIGHT - BOTTOM}H{WIDTH - 10}" fill="none" stroke="currentColor"/>'
    labels = "".join(
        f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" font-size="12" '
        f'fill="currentColor">{value:.3f}</text>'
        for value in (lowest, highest)
    )
    marks = "".join(
        f'<line x1="{x(p["queries"]):.1f}" x2="{x(p["queries"]):.1f}" y1="{y(p["interval"][0]):.1f}" '
        f'y2="{y(p["interval"][1]):.1f}" stroke="currentColor"/>'
        f'<circle cx="{x(p["queries"]):.1f}" cy="{y(p["mean"]):.1f}" r="4" fill="currentColor"/>'
        f'<text x="{x(p["queries"]):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" font-size="12" '
        f'fill="currentColor">{p["queries"]}</text>'
        for p in curve
    )
    line = "".join(f"{'L' if n else 'M'}{x(p['queries']):.1f} {y(p['mean']):.1f}" for n, p in enumerate(curve))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 10}" role="img" aria-label="{escape(measure)} by queries">'
        f'{axis}{labels}<path d="{line}" fill="none" stroke="currentColor" stroke-dasharray="4 3"/>{marks}</svg>'
    )
