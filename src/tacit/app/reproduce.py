"""`tacit reproduce`: run an experiment on real data; without a name, list the experiments

The default run has one split and takes some minutes; --quick takes less than one. If a run with --out or --full is
stopped, run the same command again to continue.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tacit.app.options import add_encoder, add_shared, print_table, whole_number
from tacit.core import MissingExtraError

if TYPE_CHECKING:
    from tacit.experiments.report import Report

EXAMPLES = """examples:
  tacit reproduce
  tacit reproduce links --corpus mdn_ja_en --json
  tacit reproduce links --corpus foldoc --split links --out results
  tacit reproduce papers --check"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit reproduce`."""
    parser.add_argument("name", nargs="?", help="experiment; without it all are listed")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("TACIT_DATA"), help="folder of collections (default $TACIT_DATA)"
    )
    parser.add_argument("--corpus", metavar="C", help="name of the corpus; for some, a path")
    parser.add_argument("--split", metavar="S", help="training and test split: queries, related, links or documents")
    add_shared(parser, "--words")
    parser.add_argument("--labels", choices=("random", "top"), help="which labels are kept: random (default) or top")
    parser.add_argument("--systems", metavar="a,b,…", help="systems (default: all of the experiment)")
    parser.add_argument("--as-printed", action="store_true", help="also rows trained by the papers' own recipe")
    parser.add_argument("--check", action="store_true", help="papers: compute again; status 1 if a number differs")
    add_encoder(parser, "questions: also rows with an encoder, the encoder alone and rank fusion")
    add_shared(parser, "--set")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="less than a minute: fewer queries, smaller models")
    length.add_argument("--full", action="store_true", help="all seeds, splits and dimensions")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write the report as Markdown and JSON, and figures; finished rows are kept there",
    )
    add_shared(parser, "--seed")
    parser.add_argument(
        "--seeds", type=whole_number(1), metavar="N", help="number of seeds, from --seed on (default 1; with --full 3)"
    )
    add_shared(parser, "--threads", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """List the experiments, or run one and show its report."""
    from tacit.experiments.registry import all_experiments, get_experiment
    from tacit.experiments.request import Request

    if args.name is None:
        rows = [[e.name, e.summary, e.needs] for e in all_experiments().values()]
        if args.json:
            out.write(json.dumps([{"name": n, "summary": s, "needs": w} for n, s, w in rows]) + "\n")
        else:
            width = max(len(name) for name, _, _ in rows)
            for name, summary, needs in rows:
                out.write(f"{name:<{width}}  {summary}\n{'':{width}}  needs {needs}\n")
            out.write("\ntacit reproduce NAME runs an experiment.\n")
        return 0
    experiment = get_experiment(args.name)
    request = Request(
        data=None if args.data is None else Path(args.data),
        corpus=args.corpus,
        split=args.split,
        words=args.words,
        labels=args.labels,
        systems=tuple(name for name in (args.systems or "").split(",") if name),
        seed=args.seed,
        n_seeds=args.seeds,
        quick=args.quick,
        full=args.full,
        cells=(args.out or Path("out")) / "cells" if args.out or args.full else None,
        threads=args.threads,
        params=args.params,
        as_printed=args.as_printed,
        check=args.check,
        encoder=args.encoder,
    )
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
    report = experiment.run(request)
    if args.out:
        _write(report, args.out)
    if args.json:
        out.write(json.dumps(report.to_json()) + "\n")
    else:
        _show(report, out)
    return int(any(row.setting.get("agrees") == "no" for row in report.rows))


def _write(report: Report, folder: Path) -> None:
    from tacit.data import write_text
    from tacit.experiments.report import to_markdown

    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{report.experiment}-{report.corpus}"
    write_text(f"{stem}.json", json.dumps(report.to_json(), indent=1) + "\n")
    write_text(f"{stem}.md", to_markdown(report))
    try:
        for name, draw in report.figures.items():
            draw(folder / f"{name}.png")
    except MissingExtraError as error:
        sys.stderr.write(f"no figures: {error}\n")
    sys.stderr.write(f"report written to {folder}\n")


def _show(report: Report, out: TextIO) -> None:
    from tacit.experiments.report import COMPARED, TEST_NAMES, compared, neighbours, table_of

    out.writelines(f"{note}\n" for note in report.notes)
    out.write("\n")
    print_table(*table_of(report), out)
    tested = [[test["metric"], *compared(test)] for test in neighbours(report)]
    if tested:
        out.write(f"\nEach system against the next one below it ({TEST_NAMES[report.test]}):\n\n")
        print_table(["metric", *COMPARED], tested, out)
    for section in report.sections:
        out.write(f"\n{section.title}:\n\n")
        print_table(section.header, section.rows, out)
