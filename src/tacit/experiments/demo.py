"""The demonstration on the embedded corpus: how well each system finds held-out links, and answers to questions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.core import Collection, Links
from tacit.experiments.links.splits import split_links
from tacit.experiments.links.task import LinkTask, count_words
from tacit.experiments.report import Report, Row
from tacit.retrieve import get_method
from tacit.search import Searcher

DEMO_METHODS = ("tfidf", "bm25", "lsi", "lsi+tfidf", "ssi-uv", "htr-residual")
QUESTIONS = (
    "pseudo inverse of a singular matrix",
    "interpolate scattered points",
    "cross validation that keeps groups together",
    "how likely is it that two samples come from the same distribution",
    "remove noise from a signal without shifting it",
)


@dataclass(frozen=True)
class Demo:
    """Results of the demonstration: the comparison, and the searchers that were compared."""

    report: Report
    searchers: dict[str, Searcher]

    def best(self) -> str:
        """Name of the system with the highest mean average precision."""
        return max(self.report.rows, key=lambda row: row.metrics["MAP"]).system


def run_demo(documents: Collection, links: Links, *, quick: bool = False, seed: int = 0) -> Demo:
    """Compare the methods of `DEMO_METHODS` on held-out links, and keep the fitted ones.

    Questions are also answered by the default method, which learns from no link and comes first.
    """
    corpus = count_words(documents, links)
    split = split_links(links, "queries", seed)
    rows = split.test_queries(200 if quick else 1000, seed)
    task = LinkTask(corpus.features, corpus.features, split, rows, None)
    default = Searcher().fit(documents)
    table, searchers = [], {default.method: default}
    for method in map(get_method, DEMO_METHODS):
        start = time.perf_counter()
        ranker = task.fit(method, 50 if quick else None, seed)
        values = task.measure(ranker)
        table.append(Row(method.name, values, time.perf_counter() - start, chosen=ranker.chosen()))
        searchers[method.name] = Searcher.from_parts(method.name, documents, corpus.vectorizer, ranker)
    return Demo(Report("demo", "pydocs", seed, table), searchers)


def answers(demo: Demo, questions: Sequence[str] = QUESTIONS, k: int = 3) -> dict[str, dict[str, list[str]]]:
    """The ids that each system ranks first, for each question."""
    return {
        question: {name: [hit.id for hit in searcher.search(question, k)] for name, searcher in demo.searchers.items()}
        for question in questions
    }
