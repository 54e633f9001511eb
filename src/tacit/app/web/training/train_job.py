"""One training: fit a new version on the judgments, and compare it with the live one.

It runs as a process started by `trainer`. It reads its job as one line of JSON from standard input, and writes messages
to standard output, one JSON object per line. It ends when standard input is closed, because its result is then not
needed. Both versions are measured by cross-validation over the judged queries: a version that learned from judgments is
fitted again without its test queries. The verdict is reported when both are measured; the learning curve, which takes
most of the fits, follows.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from tacit.app.web.training.verdicts import MEASURE, MEASURES, SAME, fingerprint_of, make_verdict
from tacit.core import Collection, Judgments, TacitError, plural
from tacit.judge import JudgmentStore, judgments_about, merged_judgments
from tacit.judge.advise.advice import CURVE
from tacit.judge.advise.assisted import assisted_candidate
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask
from tacit.judge.advise.procedure import CrossValidation
from tacit.judge.advise.verdict import cautious_interval
from tacit.judge.program.collections import fit_assisted
from tacit.retrieve import BlendRanker
from tacit.search import Searcher

N_FOLDS = 5
READING = "Reading the model and the judgments"
SAME_DEPTH = 100  # results to compare to find out whether training changed anything
NICENESS = 10
OWN_PARAMS = ("method", "words", "language", "stem", "query_language", "seed", "threads")


def main() -> int:
    """Run the job read from standard input."""
    os.nice(NICENESS)
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_service, daemon=True).start()
    try:
        train(job)
    except (TacitError, OSError) as error:
        say(problem=" ".join(str(error).split()))
        return 1
    return 0


def _end_with_the_service() -> None:
    os.read(sys.stdin.fileno(), 1)  # returns when the other end is closed
    os._exit(1)


def say(**what: Any) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def train(job: dict[str, Any]) -> None:
    """Fit, save, compare."""
    say(stage=READING)
    running = Searcher.load(job["model"])
    with JudgmentStore(job["store"], read_only=True) as store:
        judgments = merged_judgments(store, [job["judge"]] if job["judge"] else [], "last")
        judgments = judgments_about(judgments, running.documents_)
        program = merged_judgments(store, [job["assist"]]) if job.get("assist") else None
        queries = store.queries()
        by_program = (job["judge"], "program") in [(judge.name, judge.kind) for judge in store.judges()]
    known = queries.take([row for row, query in enumerate(queries.ids) if queries.texts[row]])
    shared = {"words": running.words, "language": running.vectorizer_.language}
    encoded = encoded_by(running)
    task = CollectionTask.of(running.documents_, known, judgments, MEASURES, **shared, **encoded, threads=1)
    used = used_queries(judgments, known, task.queries) | {"program": job["judge"] if by_program else None}
    say(used=used)
    params = {"stem": running.vectorizer_.stem, "synonyms": running.synonyms} | shared | job["params"]
    searcher = with_vectors_of(running, Searcher(job["method"], **params))
    progress = Progress(task, running, job["version"], job["against"])
    progress.begin(1)
    vectors, of_program = kept_vectors(running, searcher), None
    if program is None:
        searcher.fit(running.documents_, queries=task.queries, qrels=task.judgments, **vectors)
    else:
        _, of_program = fit_assisted(searcher, running.documents_, known, judgments, program, vectors)
    searcher.save(job["out"])
    progress.one_done()
    assisted = (known, program) if program is not None and of_program is not None and of_program.used else None
    names = {"version": job["version"], "against": job["against"], "program": used["program"]}
    verdict, measure_curve = compare(task, running, searcher, names, progress, assisted)
    verdict |= {} if of_program is None else {"assist": of_program.to_json()}
    say(
        verdict=verdict
        | {"used": used, "method": job["method"], "time": datetime.now(UTC).isoformat(timespec="seconds")}
    )
    if verdict["status"] != SAME:
        say(curve=measure_curve())


def used_queries(judgments: Judgments, known: Collection, used: Collection) -> dict[str, Any]:
    """Return the number of judgments, the number of their queries used, and why the others are not used."""
    judged = list(judgments.to_dict())
    without_text = [query for query in judged if query not in known.row_of]
    unhelpful = [query for query in judged if query in known.row_of and query not in used.row_of]
    reasons = {"have no document of grade 1 or more": len(unhelpful), "have no known text": len(without_text)}
    left_out = {reason: count for reason, count in reasons.items() if count}
    return {"judgments": len(judgments), "judged": len(judged), "queries": len(used), "left_out": left_out}


class Progress:
    """Stages of a training, and counts of fits: first up to the verdict, then of the learning curve."""

    def __init__(self, task: CollectionTask, running: Searcher, version: str, against: str) -> None:
        n = len(task.queries)
        self.folds = min(N_FOLDS, n)
        n_train = n - -(-n // self.folds)
        self.points = [point for point in CURVE if point < n_train]
        self.stages = [
            READING,
            f"Training version {version} on {plural(n, 'query')}",
            f"Measuring version {against}",
            f"Measuring version {version}",
            "Learning curve",
        ]
        self.done, self.total = 0, 1 + (self.folds if running.n_pairs_ else 1) + self.folds
        say(stages=self.stages)

    def begin(self, place: int) -> None:
        """Enter a stage; the last one has its own counts."""
        self.stage = self.stages[place]
        if place == len(self.stages) - 1:
            self.done, self.total = 0, self.folds * len(self.points)
        self.tell()

    def one_done(self) -> None:
        """Note that one more fit is finished."""
        self.done = min(self.done + 1, self.total)
        self.tell()

    def tell(self) -> None:
        """Write one message: the stage, the finished fits, and all fits."""
        say(stage=self.stage, done=self.done, total=self.total)


def encoded_by(running: Searcher) -> dict[str, Any]:
    """Return the encoder and the vectors for the comparison, if the live version has both."""
    ranker = running.first_stage
    if not isinstance(ranker, BlendRanker) or not ranker.vectors_dim or running.model_of_texts is None:
        return {}
    return {"encoder": running.model_of_texts, "given": ranker.given_vectors()}


def with_vectors_of(running: Searcher, searcher: Searcher) -> Searcher:
    """Make the new version use vectors like the live one: by its encoder, or else with the same weight."""
    ranker = running.first_stage
    if isinstance(ranker, BlendRanker) and ranker.vectors_dim and "vectors" in searcher.unfitted().reads:
        if running.model_of_texts is not None:
            searcher.encode, searcher.encoder = running.model_of_texts, running.encoder
        elif "vectors" not in searcher.params:
            searcher.set_params(vectors=ranker.weights_["vectors"])
    return searcher


def kept_vectors(running: Searcher, searcher: Searcher) -> dict[str, Any]:
    """Return vectors of the documents, if the live version has vectors and the new one uses them."""
    ranker = running.first_stage
    if not isinstance(ranker, BlendRanker) or "vectors" not in searcher.unfitted().reads:
        return {}
    return ranker.given_vectors()


def compare(
    task: CollectionTask,
    running: Searcher,
    trained: Searcher,
    names: dict[str, Any],
    progress: Progress,
    assisted: tuple[Collection, Judgments] | None = None,
) -> tuple[dict[str, Any], Callable[[], list[dict[str, Any]]]]:
    """Return the verdict on a new version, and a function that measures its learning curve.

    `names` are the version, the one to compare it with, and the program whose grades alone are used, if any. If the
    version learned from a program's grades as well, `assisted` has all queries and these grades.
    """
    before = _candidate(f"version {names['against']}", task, running, learns=bool(running.n_pairs_))
    after = _candidate(f"version {names['version']}", task, trained, learns=True)
    if assisted is not None:
        after = assisted_candidate(after.name, after, *assisted)
    systems = [before, after]
    validation = CrossValidation(
        systems, len(task.queries), MEASURE, n_folds=progress.folds, progress=lambda _: progress.one_done()
    )
    progress.begin(2)
    values = validation.values(before)
    identical = has_same_results(running, trained, task.queries)
    progress.begin(3)
    new_values = values if identical else validation.values(after)
    texts = dict(zip(task.queries.ids, task.queries.full_texts(), strict=True))
    fingerprint = fingerprint_of(task.judgments.to_dict())
    shared: dict[str, Any] = {"has_zeros": task.has_zeros, "identical": identical, "fingerprint": fingerprint}
    verdict = make_verdict(queries=texts, before=values, after=new_values, **names, **shared)

    def measure_curve() -> list[dict[str, Any]]:
        progress.begin(4)
        return learning_curve(validation, after, new_values, progress.points)

    return verdict | {"curve": []}, measure_curve


def has_same_results(running: Searcher, trained: Searcher, queries: Collection) -> bool:
    """Return whether two versions of one method return the same results for all queries."""
    if running.method != trained.method:
        return False
    first, second = (searcher.rank(queries, SAME_DEPTH, threads=1).items for searcher in (running, trained))
    return bool(np.array_equal(first, second))


def learning_curve(
    validation: CrossValidation, learned: CollectionCandidate, values: dict[str, np.ndarray], points: list[int]
) -> list[dict[str, Any]]:
    """Return mean and interval by number of judged training queries; 0 is the method without judgments."""
    found = [(n, validation.values_of_fewer(learned, n)[MEASURE]) for n in points]
    if learned.like is not None:
        found.insert(0, (0, learned.like.values(np.empty(0, np.int64), np.arange(validation.n_queries))[MEASURE]))
    found.append((int(validation.n_queries - np.bincount(validation.fold_of).max()), values[MEASURE]))
    return [{"queries": n, "mean": float(v.mean()), "interval": list(cautious_interval(v))} for n, v in found]


def _candidate(name: str, task: CollectionTask, searcher: Searcher, *, learns: bool) -> CollectionCandidate:
    """Return a version as a candidate that can be fitted again; parts that need no judgments are fitted once."""
    params = {key: value for key, value in searcher.params.items() if key not in OWN_PARAMS}
    stem = searcher.vectorizer_.stem
    encoded = task.encoder is not None and searcher.ranker_.vectors_dim > 0
    how: dict[str, Any] = {"stem": stem, "params": params, "encoded": encoded}
    like = CollectionCandidate(name, task, searcher.method, **how)
    shares = learns and "members" in searcher.ranker_.reads
    return CollectionCandidate(name, task, searcher.method, learns=learns, like=like if shares else None, **how)


if __name__ == "__main__":
    sys.exit(main())
