"""`tacit demo`: search the documentation of numpy, scipy and scikit-learn, and compare the systems

No download: the corpus is the documentation installed with tacit.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, TextIO

from tacit.app.options import add_shared, print_table

if TYPE_CHECKING:
    from tacit.core import Collection, Links
    from tacit.experiments.demo import Demo

EXAMPLES = "example:\n  tacit demo --quick"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit demo`."""
    parser.add_argument("--quick", action="store_true", help="fewer queries and smaller models")
    add_shared(parser, "--seed", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Fit, compare on held-out links and on summaries, run a few queries."""
    from tacit.data import read_pydocs
    from tacit.experiments.demo import answers, run_demo

    sys.stderr.write("Reading the documentation installed with tacit ...\n")
    documents, links = read_pydocs()
    sys.stderr.write("Fitting and comparing the systems ...\n")
    demo = run_demo(documents, links, quick=args.quick, seed=args.seed)
    if args.json:
        whole = demo.links.to_json() | {"typed": demo.typed.to_json()["rows"], "answers": answers(demo)}
        out.write(json.dumps(whole) + "\n")
    else:
        _show(demo, documents, links, out)
    return 0


def _show(demo: Demo, documents: Collection, links: Links, out: TextIO) -> None:
    from tacit.data import pydocs_versions
    from tacit.experiments.demo import QUESTIONS, answers
    from tacit.experiments.report import table_of

    n_linked, n_typed = (report.rows[0].to_json()["queries"] for report in (demo.links, demo.typed))
    out.write(
        f"pydocs: {len(documents):,} documented objects, {len(links):,} 'See Also' links ({pydocs_versions()})\n\n"
        f"How well each system finds the 'See Also' links of {n_linked} objects it has not learned from:\n\n"
    )
    print_table(*table_of(demo.links), out)
    out.write(
        f"\nHow well the summary line of an object, removed from its text, finds the object ({n_typed} objects):\n\n"
    )
    print_table(*table_of(demo.typed), out)
    out.write("\nThe first three results of each:\n")
    for question, found in answers(demo, QUESTIONS).items():
        out.write(f"\n  {question}?\n")
        for name, ids in found.items():
            out.write(f"    {name:<13} {'   '.join(ids)}\n")
    out.write("\nSearch it yourself:\n  tacit fit pydocs -o pydocs.model && tacit search pydocs.model 'fit a line'\n")
