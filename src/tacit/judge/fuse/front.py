"""The public functions of `fuse`: check the input, choose, test, export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Judgments, Run, TacitError, checked
from tacit.data.columns import logger
from tacit.judge.fuse.engines import Results, engine_of, has_negative, rrf, space_of
from tacit.judge.fuse.fusion import Fusion, read_fusion
from tacit.judge.fuse.learning import COARSE, LATTICE, Option, Space
from tacit.judge.fuse.legs import Legs, check_overlap
from tacit.judge.fuse.measured import Measured
from tacit.judge.fuse.normalizations import Family
from tacit.judge.fuse.proof import FuseReport, check_measure, prove
from tacit.judge.fuse.sources import as_runs
from tacit.judge.merge import read_judgments

SAME = 1e-7  # relative difference of two scores that count as equal, because written weights are rounded
NO_JUDGMENTS = Judgments([], [], *(np.empty(0, np.int64),) * 2, np.empty(0))


@checked
def fuse(
    judgments: Judgments | Mapping[str, Mapping[str, float]] | str | Path | None,
    runs: Any,
    *,
    measure: str = "nDCG@10",
    to: str | None = None,
    seed: int = 0,
) -> FuseReport:
    """Learn how to fuse the results of several systems, and test whether it beats the default.

    Parameters
    ----------
    judgments : Judgments, dict, path or None
        Grades; a path may be a qrels file or a judgment store. None: return the default, untested.
    runs : mapping of str to Run or path, sequence of Run or of paths, or a table
        The legs. A table is a pandas or polars frame, a dict of columns, or a CSV, TSV or parquet file with the columns
        query, document, and one column of scores for each leg.
    measure : str, default="nDCG@10"
        Measure for the choice of a fusion.
    to : str or None, default=None
        Engine that must be able to express the fusion: opensearch, elasticsearch, qdrant, weaviate, vespa, milvus or
        lancedb. The engine's default fusion is then the default.
    seed : int, default=0
        Random seed of the folds.

    Returns
    -------
    FuseReport

    Examples
    --------
    >>> rng, queries, documents = np.random.default_rng(0), range(20), range(12)
    >>> qrels = {f"q{q}": {f"d{d}": int(d == q % 12) for d in documents} for q in queries}
    >>> good = {q: {d: grade + rng.random() for d, grade in found.items()} for q, found in qrels.items()}
    >>> poor = {q: {d: rng.random() for d in found} for q, found in qrels.items()}
    >>> report = fuse(qrels, {"good": Run.from_dict(good), "poor": Run.from_dict(poor)})
    >>> report.helps, report.fusion.weights[0] > report.fusion.weights[1]
    (True, True)
    """
    legs = Legs.from_runs(as_runs(runs))
    check_overlap(legs)
    measured = Measured(legs, _judgments(judgments), check_measure(measure))
    if measured.n_unknown:
        logger.warning("judged queries without results in any run, left out: %d", measured.n_unknown)
    space = default_space(legs) if to is None else engine_of(to).make_space(legs)
    report = prove(measured, space, seed=seed)
    return report if to is None else replace(report, export=export(report.fusion, legs, to))


@checked
def apply(fusion: Fusion | str | Path, runs: Any) -> Run:
    """Fuse runs with a fusion, or with a file written by `tacit fuse -o`.

    Parameters
    ----------
    fusion : Fusion or path
        The fusion.
    runs : see `fuse`
        The legs, with the names in the fusion, in any order.

    Returns
    -------
    Run
        All results, best first.
    """
    found = fusion if isinstance(fusion, Fusion) else read_fusion(str(fusion))
    return found.apply(as_runs(runs))


def default_space(legs: Legs) -> Space:
    """Return the space of all families; the default is the mean of min-max normalised scores, as in OpenSearch."""
    others = [rrf(60, COARSE), rrf(10, COARSE), *(Option(Family(name)) for name in ("zscore", "log-odds", "deviation"))]
    if not has_negative(legs):
        others.append(Option(Family("l2")))
    return space_of(legs, None, [Option(Family("minmax"), LATTICE), *others])


def export(fusion: Fusion, legs: Legs, engine: str) -> dict[str, Any]:
    """Return the body or snippet for an engine, checked: its documented formula gives our order for every query.

    Returns
    -------
    dict
        `engine`, `body`, `note`, and `checked_queries`: the number of queries whose order was compared.
    """
    target = engine_of(engine)
    body = target.export(fusion, legs.depth)
    scores = fusion.scores(legs)
    for query in range(len(legs)):
        start, stop = legs.starts[query], legs.starts[query + 1]
        theirs = target.evaluate(body, raw_results(legs, query))
        names = [legs.doc_ids[row] for row in legs.doc[start:stop].tolist()]
        order = np.argsort(-scores[start:stop], kind="stable")
        in_our_order = np.array([theirs.get(names[row], 0.0) for row in order.tolist()])
        if (np.diff(in_our_order) > SAME * max(float(np.abs(in_our_order).max(initial=0)), 1e-300)).any():
            raise TacitError(f"{engine} would order query {legs.query_ids[query]!r} differently from {fusion.title}")
    return {"engine": engine, "body": body, "note": target.note, "checked_queries": len(legs)}


def raw_results(legs: Legs, query: int) -> Results:
    """Return the results of each leg for a query: (document, score), best first."""
    start, stop = legs.starts[query], legs.starts[query + 1]
    names = [legs.doc_ids[row] for row in legs.doc[start:stop].tolist()]
    found = []
    for leg in range(len(legs.names)):
        ranks, scores = legs.ranks[start:stop, leg], legs.scores[start:stop, leg]
        order = np.argsort(ranks, kind="stable")[: int(np.count_nonzero(~np.isnan(ranks)))]
        found.append([(names[row], float(scores[row])) for row in order.tolist()])
    return found


def _judgments(given: Judgments | Mapping[str, Mapping[str, float]] | str | Path | None) -> Judgments:
    if given is None:
        return NO_JUDGMENTS
    if isinstance(given, Judgments):
        return given
    if isinstance(given, str | Path):
        return read_judgments(given)
    if isinstance(given, Mapping):
        return Judgments.from_dict(given)
    raise TacitError(f"judgments are a {type(given).__name__}, want Judgments, a dict or a path")
