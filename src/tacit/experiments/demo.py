"""The demo on the embedded corpus: held-out links, summaries as queries, and results for sample queries."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.core import Collection, Links
from tacit.experiments.collections.link_task import LinkedCorpus, LinkTask, count_words, split_links
from tacit.experiments.report import Report, Row
from tacit.retrieve import get_method
from tacit.search import Searcher

DEFAULT = "blend"
DEMO_METHODS = (DEFAULT, "tfidf", "bm25", "lsi", "lsi+tfidf", "ssi-uv", "htr-residual")
TYPED: dict[str, tuple[str, dict[str, Any]]] = {
    "bm25": ("bm25", {"stem": False}),
    "bm25 on stems": ("bm25", {"stem": True}),
    "blend": (DEFAULT, {}),
    "blend with links": (DEFAULT, {}),
}
FEWEST_WORDS = 4  # minimum for a summary used as a query
SHORTEST_TEXT = 200  # minimum characters of an object's text without its summary
DEPTH = 100  # a summary whose object is not among so many results counts 0
QUESTIONS = (
    "pseudo inverse of a singular matrix",
    "interpolate scattered points",
    "cross validation that keeps groups together",
    "how likely is it that two samples come from the same distribution",
    "filter a signal without shifting it",
)


@dataclass(frozen=True)
class Demo:
    """Results of the demo.

    Parameters
    ----------
    links : Report
        Systems compared on held-out links.
    typed : Report
        Systems compared on summaries as queries.
    searchers : dict of str to Searcher
        The systems compared on links.
    """

    links: Report
    typed: Report
    searchers: dict[str, Searcher]


def run_demo(documents: Collection, links: Links, *, quick: bool = False, seed: int = 0) -> Demo:
    """Compare the methods of `DEMO_METHODS` on held-out links, and keep them fitted; compare some on summaries."""
    corpus = count_words(documents, links)
    split = split_links(links, "queries", seed)
    rows = split.test_queries(200 if quick else 1000, seed)
    task = LinkTask(corpus.features, corpus.features, split, rows, None)
    table, searchers = [], {}
    for name in DEMO_METHODS:
        start = time.perf_counter()
        searcher = _fit(name, corpus, task, 50 if quick else None, seed)
        ranker = searcher.ranker_
        if name == DEFAULT:
            read: dict[str, Any] = {ranker.features: searcher.features(documents.full_texts())}
            task_of = replace(task, items=read, queries=read)
        else:
            task_of = task
        table.append(Row(name, task_of.measure(ranker), time.perf_counter() - start, chosen=ranker.chosen()))
        searchers[name] = searcher
    typed = compare_on_summaries(documents, split.train, 200 if quick else 1000, seed)
    return Demo(Report("demo", "pydocs", seed, table), typed, searchers)


def _fit(name: str, corpus: LinkedCorpus, task: LinkTask, dim: int | None, seed: int) -> Searcher:
    """Return a method fitted on the training links: the default as `tacit fit` does it, others on the same words."""
    documents = corpus.documents
    if name == DEFAULT:
        params: dict[str, Any] = {"seed": seed} if dim is None else {"seed": seed, "dim": dim}
        return Searcher(name, **params).fit(documents, links=task.split.train)
    return Searcher.from_parts(name, documents, corpus.vectorizer, task.fit(get_method(name), dim, seed))


def compare_on_summaries(documents: Collection, links: Links, n_most: int, seed: int) -> Report:
    """How well the summary of an object finds it when it is removed from the document; one system learns from links."""
    names = documents.ids
    summaries = [title.removeprefix(f"{name}: ") for name, title in zip(names, documents.titles, strict=True)]
    times = Counter(summaries)
    usable = [
        row
        for row, summary in enumerate(summaries)
        if times[summary] == 1 and summary.count(" ") >= FEWEST_WORDS - 1 and len(documents.texts[row]) >= SHORTEST_TEXT
    ]
    rows = np.sort(np.random.default_rng(seed).permutation(usable)[:n_most])
    queries = Collection([names[row] for row in rows], [""] * len(rows), [summaries[row] for row in rows])
    cut = Collection(names, names, documents.texts, name=documents.name)
    table = []
    for name, (method, options) in TYPED.items():
        start = time.perf_counter()
        searcher = Searcher(method, **options).fit(cut, links=links if "links" in name else None)
        found = searcher.rank(queries, DEPTH).items == rows[:, None]
        values = {"MRR": (found / np.arange(1, found.shape[1] + 1)).sum(axis=1)}
        table.append(Row(name, values, time.perf_counter() - start))
    return Report("demo", "pydocs", seed, table)


def answers(demo: Demo, questions: Sequence[str] = QUESTIONS, k: int = 3) -> dict[str, dict[str, list[str]]]:
    """Return the ids that each system ranks first, for each question."""
    return {
        question: {name: [hit.id for hit in searcher.search(question, k)] for name, searcher in demo.searchers.items()}
        for question in questions
    }
