"""One training: fit a new version on the judgments, and compare it with the one that answers.

Run as a process by `trainer`. It reads its job as one line of JSON from standard input, and writes messages to standard
output, one JSON object a line. It ends when standard input does, since nobody reads its result then. The comparison is
that of `advise`: cross-validation over the judged queries, in which a version that has learned from judgments is fitted
again without those it is measured on.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from inspect import signature
from pathlib import Path
from typing import Any

from tacit.core import TacitError
from tacit.judge import JudgmentStore, merged_judgments
from tacit.judge.advise.advice import JUDGED, make_advice
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask
from tacit.judge.advise.verdict import judged_only
from tacit.retrieve import BlendRanker
from tacit.search import Searcher
from tacit.search.two_stage import TwoStageRanker

MEASURE = "nDCG@10"
NICENESS = 10
OWN_PARAMS = ("method", "words", "language", "stem", "query_language", "seed", "threads")


def main() -> int:
    """Do the job that standard input describes."""
    os.nice(NICENESS)
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_service, daemon=True).start()
    try:
        train(job)
    except TacitError as error:
        say(problem=" ".join(str(error).split()))
        return 1
    return 0


def _end_with_the_service() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing comes, until the other end is closed
    os._exit(1)


def say(**what: Any) -> None:
    """One message."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def train(job: dict[str, Any]) -> None:
    """Fit, save, compare."""
    say(message="reading the model and the judgments")
    running = Searcher.load(job["model"])
    with JudgmentStore(job["store"], read_only=True) as store:
        judgments = merged_judgments(store, [job["judge"]] if job["judge"] else [], "last")
        queries = store.queries()
    known = queries.take([row for row, query in enumerate(queries.ids) if queries.texts[row]])
    measures = [MEASURE, "AP", judged_only(MEASURE), JUDGED]
    shared = {"words": running.words, "language": running.vectorizer_.language}
    task = CollectionTask.of(running.documents_, known, judgments, measures, **shared, threads=1)
    say(message=f"training on {len(task.queries)} judged queries")
    searcher = Searcher(job["method"], stem=running.vectorizer_.stem, **shared | job["params"])
    searcher.fit(running.documents_, queries=task.queries, qrels=task.judgments, **kept_vectors(running, searcher))
    searcher.save(job["out"])
    say(message="comparing it with the version that answers")
    say(verdict=compare(task, running, searcher, Path(job["out"]).name))


def kept_vectors(running: Searcher, searcher: Searcher) -> dict[str, Any]:
    """Vectors of the documents, where the version that answers has some and the new one reads them."""
    ranker = running.ranker_.first_ if isinstance(running.ranker_, TwoStageRanker) else running.ranker_
    if not isinstance(ranker, BlendRanker) or not searcher._unfitted().reads_vectors:
        return {}
    return {"vectors": ranker.given_vectors()}


def compare(task: CollectionTask, running: Searcher, trained: Searcher, name: str) -> dict[str, Any]:
    """The verdict on a new version."""
    before = _candidate("the version that answers", task, running, learns=bool(running.n_pairs_))
    after = _candidate(f"version {name}", task, trained, learns=True)
    advice = make_advice(
        [before, after],
        label_free=before,
        learned=after,
        n_queries=len(task.queries),
        measure=MEASURE,
        has_zeros=task.has_zeros,
        progress=lambda message: say(message=message),
        n_folds=min(5, len(task.queries)),
    )
    return advice.to_json()


def _candidate(name: str, task: CollectionTask, searcher: Searcher, *, learns: bool) -> CollectionCandidate:
    """A version as a system that can be fitted again; what it learns without judgments is fitted once."""
    params = {key: value for key, value in searcher.params.items() if key not in OWN_PARAMS}
    stem = searcher.vectorizer_.stem
    like = CollectionCandidate(name, task, searcher.method, stem=stem, params=params)
    shares = learns and "members" in signature(type(searcher.ranker_).fit).parameters
    return CollectionCandidate(
        name, task, searcher.method, learns=learns, stem=stem, params=params, like=like if shares else None
    )


if __name__ == "__main__":
    sys.exit(main())
