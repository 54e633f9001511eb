"""`tacit gate`: check in continuous integration that a new run is not worse than the old one

Pass: the 95% interval is above minus the margin. Worse: it is below. Otherwise the verdict is "cannot tell", with
the number of judged queries needed.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, TextIO
from xml.etree import ElementTree

from tacit.app.evaluation.judgments import read_people
from tacit.app.options import add_shared, check_output, print_table
from tacit.core import plural

if TYPE_CHECKING:
    from tacit.judge.gate import Gate

EXAMPLES = """examples:
  tacit gate qrels.txt main.run branch.run
  tacit gate qrels.txt main.run branch.run --margin 0.02 --strict
  tacit gate qrels.txt main.run branch.run --junit gate.xml --markdown comment.md
  tacit gate my.judgments main.run branch.run --sequential --json

exit codes: 0 pass (a loss of more than the margin is ruled out) or, without --strict, cannot tell;
3 worse (by more than the margin); 4 with --strict: cannot tell"""

MARKS = {"pass": "✅", "worse": "❌", "cannot tell": "⚠️"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit gate`."""
    parser.add_argument("qrels", help="judgments: TREC, BEIR or LETOR file, BEIR folder, or a judgment store")
    parser.add_argument("base", metavar="BASE", help="run of the old system")
    parser.add_argument("new", metavar="NEW", help="run of the new system")
    parser.add_argument("--measure", default="nDCG@10", metavar="M", help="measure (default nDCG@10)")
    parser.add_argument("--margin", type=float, default=0.01, metavar="X", help="tolerated loss (default 0.01)")
    parser.add_argument(
        "--sequential",
        action="store_true",
        help="use a wider interval, which stays valid while judged queries are added",
    )
    parser.add_argument("--strict", action="store_true", help='exit with 4 if the verdict is "cannot tell"')
    parser.add_argument("--junit", metavar="FILE", help="write a JUnit XML report")
    parser.add_argument("--markdown", metavar="FILE", help="write a comment for a pull request")
    add_shared(parser, "--judge", "--merge", "--seed", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Decide, report, exit."""
    from tacit.data import read_run, write_text
    from tacit.judge.gate import gate

    for path in (args.junit, args.markdown):
        if path:
            check_output(path)
    judgments = read_people(args.qrels, args.judge, args.merge)
    options = {"measure": args.measure, "margin": args.margin, "sequential": args.sequential, "seed": args.seed}
    found = gate(judgments, read_run(args.base), read_run(args.new), **options)
    code = found.exit_code(args.strict)
    for path, text in ((args.junit, to_junit(found, args.strict)), (args.markdown, to_markdown(found))):
        if path:
            write_text(path, text)
    if args.json:
        out.write(json.dumps(found.to_json() | {"exit": code}) + "\n")
    else:
        _show(found, args.base, args.new, out)
    return code


def _show(found: Gate, base: str, new: str, out: TextIO) -> None:
    rows = [[base, f"{found.means[0]:.4f}"], [new, f"{found.means[1]:.4f}"]]
    print_table(["run", found.measure], rows, out)
    out.write(f"\n{found.decision}: {summary(found)}\n")
    if found.changed:
        out.write("\nMost changed queries:\n\n")
        print_table(["query", "base", "new", "difference"], _changed_rows(found), out)
    for line in _remarks(found):
        out.write(f"\n{line}\n")


def summary(found: Gate) -> str:
    """Return one line with reason, difference, interval, and number of queries."""
    low, high = found.interval
    return (
        f"{found.reason}. {found.measure} {found.difference:+.4f}, 95% interval {low:+.4f} to {high:+.4f}, "
        f"{found.queries} judged queries"
    )


def _changed_rows(found: Gate) -> list[list[str]]:
    return [
        [row["query"], f"{row['base']:.3f}", f"{row['new']:.3f}", f"{row['difference']:+.3f}"] for row in found.changed
    ]


def _remarks(found: Gate) -> list[str]:
    """Return further notes: unjudged results, and the guarantee of the sequential mode."""
    from tacit.judge.gate import SEQUENTIAL_NOTE

    lines = []
    if found.bounds is not None:
        shares = "" if found.judged is None else f" (Judged@10: {found.judged[0]:.2f} and {found.judged[1]:.2f})"
        results = plural(found.bounds.unjudged, "unjudged result is", "unjudged results are")
        lines.append(
            f"{results} above the cutoff{shares}; with any grades for them the difference on these queries is between "
            f"{found.bounds.low:+.4f} and {found.bounds.high:+.4f}."
        )
    return [*lines, SEQUENTIAL_NOTE] if found.sequential else lines


def to_junit(found: Gate, strict: bool = False) -> str:
    """Return a JUnit report with one test case."""
    failed = found.exit_code(strict) != 0
    skipped = not failed and found.decision == "cannot tell"
    suite = ElementTree.Element(
        "testsuite", name="tacit gate", tests="1", failures=str(int(failed)), skipped=str(int(skipped)), errors="0"
    )
    case = ElementTree.SubElement(
        suite, "testcase", classname="tacit.gate", name=f"{found.measure} margin {found.margin:g}"
    )
    if failed or skipped:
        ElementTree.SubElement(case, "failure" if failed else "skipped", message=f"{found.decision}: {summary(found)}")
    details = [summary(found), *(" ".join(row) for row in _changed_rows(found)), *_remarks(found)]
    ElementTree.SubElement(case, "system-out").text = "".join(
        c for c in "\n".join(details) if c.isprintable() or c == "\n"
    )
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def to_markdown(found: Gate) -> str:
    """Return a comment for a pull request."""
    low, high = found.interval
    lines = [
        f"### {MARKS[found.decision]} Search quality: {found.decision}",
        "",
        f"{found.reason[0].upper()}{found.reason[1:]}.",
        "",
        "| measure | base | new | difference | 95% interval | judged queries |",
        "| --- | --- | --- | --- | --- | --- |",
        f"| {found.measure} | {found.means[0]:.4f} | {found.means[1]:.4f} | {found.difference:+.4f} "
        f"| {low:+.4f} to {high:+.4f} | {found.queries} |",
    ]
    if found.changed:
        lines += ["", "| most changed query | base | new | difference |", "| --- | --- | --- | --- |"]
        lines += [f"| {' | '.join([_cell(row[0]), *row[1:]])} |" for row in _changed_rows(found)]
    for remark in _remarks(found):
        lines += ["", remark]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return a query id as a table cell, with Markdown and HTML escaped."""
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"
