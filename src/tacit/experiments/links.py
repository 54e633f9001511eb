"""Experiment `links`: given a document, rank all others so that those it links to come first.

The supervised tables of HTR (2 and 3) and SSI (1 to 4) on our corpora. Every system sees the same
split, the same words and the same candidates; choices are made on validation links only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Collection, Features, Links, check_choice, map_blocks, track
from tacit.data import read_collection, read_links
from tacit.experiments.cells import CellCache
from tacit.experiments.link_splits import LinkSplit, split_links
from tacit.experiments.report import Report, Row
from tacit.features import TextVectorizer
from tacit.metrics import full_ranking_measures
from tacit.retrieve import CollectionRanker, get_system

CORPORA = ("mdn_ja_en", "wikispeedia", "debian_ja_en", "foldoc")
SYSTEMS = ("tfidf", "bm25", "qe", "lsi", "lsi+tfidf")
MAX_TEST_QUERIES = 1000
MEASURES = {"rank_loss": "rank_loss", "AP": "MAP", "P@10": "P@10"}  # per query name -> name of the mean
FULL_DIMS = (50, 100, 200, 500)


@dataclass(frozen=True)
class LinkOptions:
    """What `tacit reproduce links` can be asked for."""

    data: Path
    corpus: str = "mdn_ja_en"
    split: str = "queries"
    words: int | None = 30_000
    systems: Sequence[str] = SYSTEMS
    seed: int = 0
    quick: bool = False
    full: bool = False
    cells: Path | None = None
    threads: int | None = None

    @property
    def n_queries(self) -> int:
        """How many test queries are asked at most."""
        return 200 if self.quick else MAX_TEST_QUERIES


@dataclass(frozen=True)
class LinkTask:
    """A corpus ready for any system: features of every kind, the split, the test queries."""

    features: dict[str, Features]
    split: LinkSplit
    queries: np.ndarray
    threads: int | None

    def measure(self, ranker: CollectionRanker, rows: Features) -> dict[str, np.ndarray]:
        """Per query values over the test queries, all candidates ranked."""
        relevant, excluded = self.split.relevant(self.queries), self.split.excluded(self.queries)

        def one_block(block: slice) -> dict[str, np.ndarray]:
            picked = rows[self.queries[block]]
            return full_ranking_measures(ranker.scores(picked), relevant[block], excluded[block])

        blocks = [slice(start, start + 50) for start in range(0, len(self.queries), 50)]
        pieces = map_blocks(one_block, blocks, self.threads)
        return {mean: np.concatenate([piece[name] for piece in pieces]) for name, mean in MEASURES.items()}


def run(options: LinkOptions) -> Report:
    """Measure the systems; `full` adds both splits, three seeds and the dimensions of LSI."""
    check_choice("corpus", options.corpus, CORPORA)
    for system in options.systems:
        get_system(system)
    documents, links = read_linked_corpus(options.data, options.corpus)
    counts, tfidf = _vectorize(documents, options.words)
    cache = CellCache(options.cells if options.full else None)
    rows, splits = [], {}
    for cell in track(list(_cells(options)), f"links on {options.corpus}"):
        where = (cell["split"], cell["seed"])
        if where not in splits:
            split = split_links(links, *where)
            queries = split.test_queries(options.n_queries, cell["seed"])
            splits = {where: LinkTask({"counts": counts, "tfidf": tfidf}, split, queries, options.threads)}
        rows.append(cache.row(cell, partial(_measure_cell, cell, splits[where])))
    return Report("links", options.corpus, options.seed, rows, _notes(documents, links, counts, options))


def read_linked_corpus(data: Path, corpus: str) -> tuple[Collection, Links]:
    """Documents and links of one of the corpora; what is known to be no real link is dropped."""
    folder = data / "linked" / corpus
    documents = read_collection(folder / "docs.jsonl.gz", name=corpus)
    links = read_links(folder / "links.tsv.gz", documents)
    if corpus == "foldoc":
        # A note of origin in a quarter of the entries, not a reference that a reader would follow.
        jargon = [row for row, title in enumerate(documents.titles) if title == "Jargon File"]
        links = links.take(~np.isin(links.targets, jargon))
    return documents, links


def _vectorize(documents: Collection, words: int | None) -> tuple[Features, Features]:
    vectorizer = TextVectorizer(words=words)
    counts = vectorizer.fit_counts(track(documents.full_texts(), "reading words", len(documents)))
    return counts, vectorizer.tfidf(counts)


def _cells(options: LinkOptions) -> Iterator[dict[str, Any]]:
    splits = ("queries", "links") if options.full else (options.split,)
    seeds = (options.seed, options.seed + 1, options.seed + 2) if options.full else (options.seed,)
    for split in splits:
        for seed in seeds:
            for system in options.systems:
                dims: tuple[int | None, ...] = (None,)
                if system.startswith("lsi"):
                    dims = FULL_DIMS if options.full else (50 if options.quick else 200,)
                for dim in dims:
                    yield {
                        "experiment": "links",
                        "corpus": options.corpus,
                        "split": split,
                        "words": "all" if options.words is None else options.words,
                        "seed": seed,
                        "system": system,
                        "dim": dim,
                        "n_queries": options.n_queries,
                    }


def _measure_cell(cell: dict[str, Any], task: LinkTask) -> Row:
    start = time.perf_counter()
    system = get_system(cell["system"])
    rows = task.features[system.features]
    ranker = system.make(cell["dim"], cell["seed"]).fit(rows, rows, task.split.train, task.split.validation)
    values = task.measure(ranker, rows)
    setting = {name: cell[name] for name in ("split", "words", "seed")}
    if cell["dim"] is not None:
        setting["dim"] = cell["dim"]
    return Row(cell["system"], values, time.perf_counter() - start, setting, ranker.chosen())


def _notes(documents: Collection, links: Links, counts: Features, options: LinkOptions) -> list[str]:
    return [
        f"{options.corpus}: {len(documents):,} documents, {len(links):,} links, {counts.shape[1]:,} words",
        f"at most {options.n_queries} test queries, every other document but known links a candidate",
        "seconds: choosing, fitting and ranking all test queries; reading and counting words apart",
    ]
