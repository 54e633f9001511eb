"""Engines by name, and the export of a fusion, checked on the user's own results."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.core import TacitError, check_choice
from tacit.judge.fuse.engines import elasticsearch, lancedb, milvus, opensearch, qdrant, vespa, weaviate
from tacit.judge.fuse.engines.base import Engine, Results
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.legs import Legs

ENGINES: dict[str, Engine] = {
    module.ENGINE.name: module.ENGINE
    for module in (opensearch, elasticsearch, qdrant, weaviate, vespa, milvus, lancedb)
}
SAME = 1e-7  # relative difference of two scores that count as equal, because written weights are rounded


def engine_of(name: str) -> Engine:
    """Return the engine with that name; raise an error that lists the names."""
    return ENGINES[check_choice("engine", name, ENGINES)]


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
