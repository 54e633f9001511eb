"""Measures of runs from sampled judgments, for `tacit evaluate`: estimates and their intervals."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, TextIO

from tacit.app.tables import print_table
from tacit.core import plural

if TYPE_CHECKING:
    from tacit.core import Judgments, Run
    from tacit.metrics import Estimate

DEFAULT_MEASURES = ("P@10", "DCG@10")
TOP = 10  # ranks that the pool should cover
PER_QUERY = 10  # judged pairs of a query, below which ratios are biased


def show_estimates(judgments: Judgments, paths: list[str], args: argparse.Namespace, out: TextIO) -> int:
    """Estimate the measures of each run and print them."""
    from tacit.data import read_run
    from tacit.metrics import estimate

    runs = {path: read_run(path) for path in paths}
    found = {path: estimate(judgments, run, args.measure or DEFAULT_MEASURES) for path, run in runs.items()}
    for path, run in runs.items():
        _warn(path, judgments, run, found[path])
    queries = len({*judgments.query_ids, *runs[paths[0]].query_ids})
    if args.json:
        first, *others = found.items()
        compared = [{"run": path, **_as_json(estimates)} for path, estimates in others]
        result = {**_as_json(first[1]), "queries": queries, "sampled": True, "compare": compared, "tests": []}
        out.write(json.dumps(result) + "\n")
        return 0
    rows = [
        [path, name, f"{e.value:.4f}", f"{e.standard_error:.4f}", f"{e.low:.4f} - {e.high:.4f}", str(e.n_judged)]
        for path, estimates in found.items()
        for name, e in estimates.items()
    ]
    print_table(["run", "measure", "estimate", "std err", "95% interval", "judged"], rows, out)
    out.write(f"estimates for {plural(queries, 'query')} from sampled judgments, as if the whole pool were judged\n")
    return 0


def _as_json(estimates: dict[str, Estimate]) -> dict[str, object]:
    return {
        "measures": {name: e.value for name, e in estimates.items()},
        "standard_errors": {name: e.standard_error for name, e in estimates.items()},
        "intervals": {name: [e.low, e.high] for name, e in estimates.items()},
        "judged": {name: e.n_judged for name, e in estimates.items()},
    }


def _warn(path: str, judgments: Judgments, run: Run, found: dict[str, Estimate]) -> None:
    """Print the limits of the estimates: documents outside the pool, judgments without a probability, ratios."""
    import numpy as np

    from tacit.metrics import covered

    share, error = covered(judgments, run, TOP)
    if share + 3 * error < 0.95:
        part = f"only about {share:.0%} of its first {TOP} documents are in the sampled pool"
        sys.stderr.write(f"{path}: {part}; the estimates assume that the others are similar\n")
    ratios = [name for name in found if not name.startswith(("P", "DCG"))]
    each = len(judgments) / max(len({*judgments.query_ids, *run.query_ids}), 1)
    if ratios and each < PER_QUERY:
        few = f"{', '.join(ratios)} with {each:.1f} judgments per query are biased, mostly too low"
        sys.stderr.write(f"{path}: {few}; want {PER_QUERY} per query, or P and DCG\n")
    assert judgments.probability is not None
    unknown = int(np.isnan(judgments.probability).sum())
    if unknown:
        sys.stderr.write(f"{path}: judgments without a probability, not used: {unknown}\n")
