"""Experiment `links`: given a document, rank all others so that those it links to come first.

The supervised tables of HTR (2 and 3) and SSI (1 to 4) on our corpora. Every system sees the same
split, the same words and the same candidates; choices are made on validation links only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Collection, Features, Links, UsageError, check_choice, cut, map_blocks, track
from tacit.data import read_collection, read_links
from tacit.experiments.cells import CellCache
from tacit.experiments.link_splits import SPLITS, LinkSplit, split_links
from tacit.experiments.report import Report, Row
from tacit.features import TextVectorizer
from tacit.metrics import full_ranking_measures
from tacit.retrieve import CollectionRanker, System, get_system

CORPORA = ("mdn_ja_en", "wikispeedia", "debian_ja_en", "foldoc")
SYSTEMS = (
    "tfidf", "bm25", "qe", "lsi", "lsi+tfidf",
    "ssi-d", "ssi-uu", "ssi-uv-noi", "ssi-uv", "ssi-uv-d",
    "htr-gamma0", "htr", "htr-identity", "htr-residual",
)  # fmt: skip
MAX_TEST_QUERIES = 1000
MEASURES = {"rank_loss": "rank_loss", "AP": "MAP", "P@10": "P@10"}  # per query name -> name of the mean
SETTINGS = ("split", "words", "seed", "k", "dim")
FULL_DIMS = (100, 200, 500)


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
    """A corpus ready for any system: features of items and queries of every kind, the split, the test queries.

    Query row i and item row i are the same document; where documents are the queries, so are their rows.
    """

    items: Mapping[str, Features]
    queries: Mapping[str, Features]
    split: LinkSplit
    rows: np.ndarray
    threads: int | None

    def fit(self, system: System, dim: int | None, seed: int) -> CollectionRanker:
        """A fitted ranker of the candidates; what learns from pairs has not seen test documents as items."""
        ranker, split = system.make(dim, seed), self.split
        items, queries = self.items[system.features], self.queries[system.features]
        if split.candidates is None or not system.needs_pairs:
            return ranker.fit(queries, items, split.train, split.validation, same=True)
        ranker.check_new_items()
        seen = np.setdiff1d(np.arange(items.shape[0]), split.candidates)
        train, validation = (_renumber(part, seen) for part in (split.train, split.validation))
        ranker.fit(queries[seen], items[seen], train, validation, same=True)
        return ranker.add_items(items[split.candidates])

    def measure(self, ranker: CollectionRanker, system: System) -> dict[str, np.ndarray]:
        """Per query values over the test queries, all candidates ranked."""
        relevant, excluded = self.split.relevant(self.rows), self.split.excluded(self.rows)
        queries, columns = self.queries[system.features], self._columns(ranker, system)

        def one_block(block: slice) -> dict[str, np.ndarray]:
            scores = ranker.scores(queries[self.rows[block]])
            return full_ranking_measures(scores[:, columns], relevant[block], excluded[block])

        pieces = map_blocks(one_block, cut(len(self.rows), 50), self.threads)
        return {mean: np.concatenate([piece[name] for piece in pieces]) for name, mean in MEASURES.items()}

    def _columns(self, ranker: CollectionRanker, system: System) -> slice | np.ndarray:
        """Where the candidates stand among the ranker's items."""
        candidates = self.split.candidates
        if candidates is None:
            return slice(None)
        return slice(ranker.n_items_ - len(candidates), None) if system.needs_pairs else candidates


def run(options: LinkOptions) -> Report:
    """Measure the systems; `full` adds both splits, three seeds and the dimensions of LSI."""
    check_choice("corpus", options.corpus, CORPORA)
    for system in options.systems:
        get_system(system)
    documents, links = read_linked_corpus(options.data, options.corpus)
    counts, tfidf = _vectorize(documents, options.words)
    cache = CellCache(options.cells if options.full else None)
    features = {"counts": counts, "tfidf": tfidf}

    @lru_cache(maxsize=1)  # cells of one split come one after the other
    def task_of(name: str, seed: int) -> LinkTask:
        split = split_links(links, name, seed)
        return LinkTask(features, features, split, split.test_queries(options.n_queries, seed), options.threads)

    rows, notes = [], _notes(documents, links, counts, options)
    for cell in track(list(_cells(options)), f"links on {options.corpus}"):
        try:
            rows.append(cache.row(cell, partial(measure_cell, cell, task_of)))
        except UsageError as reason:
            notes.append(f"{cell['system']} cannot run on the split {cell['split']}: {reason}")
    return Report("links", options.corpus, options.seed, rows, notes)


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
    splits = SPLITS if options.full else (options.split,)
    seeds = (options.seed, options.seed + 1, options.seed + 2) if options.full else (options.seed,)
    for split in splits:
        for seed in seeds:
            for system in options.systems:
                dims = _dims(system, options)
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


def _dims(system: str, options: LinkOptions) -> tuple[int | None, ...]:
    if not system.startswith(("lsi", "ssi-u", "htr")):
        return (None,)
    if options.full:
        return FULL_DIMS
    return (50,) if options.quick else (200,) if system.startswith("lsi") else (100,)


def measure_cell(cell: dict[str, Any], task_of: Callable[[str, int], LinkTask]) -> Row:
    """Fit and measure one system under one setting."""
    task = task_of(cell["split"], cell["seed"])
    start = time.perf_counter()
    system = get_system(cell["system"])
    ranker = task.fit(system, cell["dim"], cell["seed"])
    values = task.measure(ranker, system)
    setting = {name: cell[name] for name in SETTINGS if cell.get(name) is not None}
    return Row(cell["system"], values, time.perf_counter() - start, setting, ranker.chosen())


def _renumber(links: Links, kept: np.ndarray) -> Links:
    """The links under the row numbers that documents have among those kept."""
    new = np.full(links.n_sources, -1)
    new[kept] = np.arange(len(kept))
    return Links(new[links.sources], new[links.targets], len(kept), len(kept), links.weights)


def _notes(documents: Collection, links: Links, counts: Features, options: LinkOptions) -> list[str]:
    return [
        f"{options.corpus}: {len(documents):,} documents, {len(links):,} links, {counts.shape[1]:,} words",
        f"at most {options.n_queries} test queries, every other document but known links a candidate",
        "seconds: choosing, fitting and ranking all test queries; reading and counting words apart",
    ]
