"""Collections with text queries and judgments, split into folds of queries, and measured over the whole collection.

Related queries are kept in one fold: claims or questions about one document, use cases of one project. Documents are in
a fixed random order, because ties are ranked by row, and some files are sorted by query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tacit.core import Collection, DataError, Features, Judgments, Links, check_choice, cut, map_blocks, plural
from tacit.data import judged_pairs, read_collection, read_qrels, read_queries
from tacit.features import find_language, has_stemmer
from tacit.judge.advise.procedure import make_folds
from tacit.metrics import evaluate_rows
from tacit.retrieve import CollectionRanker
from tacit.search.encoders import load_encoder
from tacit.search.rows import RankerRows, TextRows
from tacit.search.vector_cache import VectorCache
from tacit.search.vectors import WordVectors, encode_documents, make_probes

N_FOLDS = 5
MEASURES = ("AP", "nDCG@10")
JUDGED_ONLY = ("AP-judged", "nDCG-judged@10")  # added if some judgments are 0

# How queries of a collection are related: by a shared relevant document, by project, or not at all.
RELATED_BY = {
    "cranfield": None, "cacm": None, "cisi": None, "cystic_fibrosis": None, "chorus_products": None,
    "scifact": "document", "cosqa_code": "document", "stackfaq": "document", "xquad_12lang": "document",
    "traceability": "project",
}  # fmt: skip
CORPORA = tuple(RELATED_BY)
MULTILINGUAL = ("xquad_12lang",)  # documents and queries have a language, English first


@dataclass(frozen=True)
class Fold:
    """Rows of the training queries, in random order, and of the test queries."""

    train: np.ndarray
    test: np.ndarray


class Encoded(NamedTuple):
    """The encoder's vectors for a task: arguments of `BlendRanker.fit`, and vectors of the queries."""

    given: dict[str, Any]
    queries: np.ndarray


@dataclass(frozen=True)
class QuestionTask:
    """Documents, the judged queries, and their judgments.

    Parameters
    ----------
    documents : Collection
        The items.
    queries : Collection
        Judged queries only.
    judgments : Judgments
        All judgments; a pair that is absent is unjudged.
    groups : ndarray of shape (n_queries,), int64
        Queries of one group are related.
    parts : tuple of two int64 arrays, default=None
        Part of each query and of each document, if only documents of a query's own part are candidates.
    words : int, default=30000
        Size of the dictionary; None keeps all words.
    threads : int, default=None
        Number of threads.
    language : str, default="en"
        Language of documents and queries, as `TextVectorizer` knows it.
    """

    documents: Collection
    queries: Collection
    judgments: Judgments
    groups: np.ndarray
    parts: tuple[np.ndarray, np.ndarray] | None = None
    words: int | None = 30_000
    threads: int | None = None
    language: str = "en"

    @property
    def summary(self) -> str:
        """Return sizes in one line."""
        relevant = np.unique(self.pairs.sources)
        return (
            f"{self.documents.name}: {len(self.documents):,} documents, {len(self.queries):,} judged queries in "
            f"{len(np.unique(self.groups)):,} groups of related ones, {len(self.judgments):,} judgments; "
            f"{len(self.queries) - len(relevant)} queries have no relevant document and count 0"
        )

    @cached_property
    def pairs(self) -> Links:
        """Return relevant pairs, weighted by grade."""
        return judged_pairs(self.judgments, self.queries, self.documents)

    @cached_property
    def zeros(self) -> Links:
        """Return pairs judged not relevant."""
        return judged_pairs(self.judgments, self.queries, self.documents, relevant=False)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """Return the names of the measures."""
        return MEASURES + (JUDGED_ONLY if (self.judgments.grade == 0).any() else ())

    @cached_property
    def rows(self) -> TextRows:
        """Return the documents as rows, shared by all systems."""
        return TextRows(self.documents, self.words, self.language)

    @cached_property
    def members(self) -> dict[tuple[int, bool], CollectionRanker]:
        """Return blends by seed, without and with an encoder; their members that learn from no pair are reused."""
        return {}

    @cached_property
    def encoded(self) -> dict[str, Encoded]:
        """Return vectors of documents and queries by encoder."""
        return {}

    def encode(self, name: str, read: RankerRows) -> Encoded:
        """Return vectors by the encoder with that name, computed once."""
        if name not in self.encoded:
            encoder, texts = load_encoder(name), list(self.documents.full_texts())
            words = WordVectors(texts)
            given: dict[str, Any] = encode_documents(encoder, texts)
            given |= {"references": words.encode(texts), "probes": make_probes(encoder, self.documents, read, words)}
            queries = VectorCache(encoder).look_up(list(self.queries.full_texts()), "query").astype(np.float32)
            self.encoded[name] = Encoded(given, queries)
        return self.encoded[name]

    def read(self, ranker: CollectionRanker, stem: bool) -> RankerRows:
        """Return documents and queries in the form for a ranker."""
        return self.rows.read(ranker, stem and has_stemmer(self.rows.language))

    def ungrouped(self) -> QuestionTask:
        """Return the same task without related queries."""
        return replace(self, groups=np.arange(len(self.queries)))

    def folds(self, seed: int) -> list[Fold]:
        """Return five folds of queries (fewer if there are fewer groups), drawn by the seed."""
        n_folds = min(N_FOLDS, len(np.unique(self.groups)))
        number = make_folds(len(self.queries), n_folds, seed, self.groups.tolist())
        rng = np.random.default_rng([seed, 1])
        return [
            Fold(rng.permutation(np.flatnonzero(number != fold)), np.flatnonzero(number == fold))
            for fold in range(n_folds)
        ]

    def training_pairs(self, rows: np.ndarray, *, relevant: bool = True) -> Links:
        """Return relevant pairs of some queries, or pairs judged not relevant, with new row numbers."""
        new = np.full(len(self.queries), -1)
        new[rows] = np.arange(len(rows))
        pairs = self.pairs if relevant else self.zeros
        kept = pairs.take(new[pairs.sources] >= 0)
        return Links(new[kept.sources], kept.targets, len(rows), kept.n_targets, kept.weights)

    def measure(self, ranker: Any, queries: Features, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return values of each measure for some queries, all candidates ranked."""

        def one_block(block: slice) -> dict[str, np.ndarray]:
            chosen = rows[block]
            candidates = self._candidates(chosen)
            exclude = None if candidates is None else sp.csr_array(~candidates)
            scores, grades = ranker.scores(queries[chosen], exclude=exclude), self._grades(chosen)
            kept = slice(None) if candidates is None else candidates.ravel()
            number = np.repeat(np.arange(len(chosen)), scores.shape[1])
            return evaluate_rows(grades.ravel()[kept], scores.ravel()[kept], number[kept], self.measures).values

        pieces = map_blocks(one_block, cut(len(rows), 50), self.threads)
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in self.measures}

    def _candidates(self, rows: np.ndarray) -> np.ndarray | None:
        return None if self.parts is None else self.parts[0][rows][:, None] == self.parts[1][None, :]

    def _grades(self, rows: np.ndarray) -> np.ndarray:
        """Return grades of all documents for some queries; NaN: unjudged."""
        table = np.full((len(rows), len(self.documents)), np.nan)
        place, of_document, grades = self._judged
        new = np.full(len(self.queries), -1)
        new[rows] = np.arange(len(rows))
        kept = new[place] >= 0
        table[new[place[kept]], of_document[kept]] = grades[kept]
        return table

    @cached_property
    def _judged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return query row, document row and grade of each judgment."""
        found = self.judgments
        query = np.array([self.queries.row_of[name] for name in found.query_ids], np.int64)
        document = np.array([self.documents.row_of[name] for name in found.doc_ids], np.int64)
        return query[found.query], document[found.doc], found.grade


def read_questions(data: Path, corpus: str, words: int | None = 30_000, threads: int | None = None) -> QuestionTask:
    """Read a collection by its name below the folder of real collections, or by the path of a similar folder.

    Of a collection in several languages, read the English part.
    """
    return next(iter(read_languages(data, corpus, words, threads).values()))


def read_languages(
    data: Path, corpus: str, words: int | None = 30_000, threads: int | None = None
) -> dict[str, QuestionTask]:
    """Read the parts of a collection by language, as named in its files; a collection in one language is one part.

    Words are split and stemmed by the language detected in the documents, as in `tacit fit`.
    """
    folder = data / "text" / corpus if corpus in CORPORA else Path(corpus)
    if corpus not in CORPORA and not folder.is_dir():
        check_choice("corpus", corpus, CORPORA)
    extras = ("lang",) if corpus in MULTILINGUAL else ("project",) if RELATED_BY.get(corpus) == "project" else ()
    documents = read_collection(folder, extras=extras, name=folder.name)
    queries = read_queries(folder, extras=extras)
    documents = documents.take(np.random.default_rng(0).permutation(len(documents)))
    judgments = read_qrels(folder / "qrels.txt")
    if corpus not in MULTILINGUAL:
        return {"en": _make_task(corpus, documents, queries, judgments, words, threads)}
    parts = {}
    for name in sorted(set(documents.extras["lang"]), key=lambda name: (name != "en", name)):
        own, asked = _of_language(documents, name), _of_language(queries, name)
        task = _make_task(corpus, own, asked, _among(judgments, asked), words, threads)
        parts[name] = replace(task, language=find_language(own))
    return parts


def _make_task(
    corpus: str,
    documents: Collection,
    queries: Collection,
    judgments: Judgments,
    words: int | None,
    threads: int | None,
) -> QuestionTask:
    """Make the task of the judged queries, with related ones in one group."""
    judged = set(judgments.query_ids)
    queries = queries.take([row for row, name in enumerate(queries.ids) if name in judged])
    if len(queries) < N_FOLDS:
        raise DataError(f"found {plural(len(queries), 'judged query')}, want at least {N_FOLDS}", path=corpus)
    task = QuestionTask(documents, queries, judgments, np.arange(len(queries)), None, words, threads)
    if RELATED_BY.get(corpus) == "project":
        parts = _projects(queries, documents)
        return replace(task, groups=parts[0], parts=parts)
    return replace(task, groups=shared_documents(task.pairs)) if RELATED_BY.get(corpus) == "document" else task


def shared_documents(pairs: Links) -> np.ndarray:
    """Group queries that share relevant documents, directly or through other queries."""
    relevant = pairs.to_csr()
    return connected_components(relevant @ relevant.T, directed=False)[1].astype(np.int64)


def _projects(queries: Collection, documents: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of the projects of queries and documents."""
    names = {name: number for number, name in enumerate(sorted(set(documents.extras["project"])))}
    found = (np.array([names[name] for name in part.extras["project"]], np.int64) for part in (queries, documents))
    return next(found), next(found)


def _of_language(collection: Collection, name: str) -> Collection:
    return collection.take([row for row, language in enumerate(collection.extras["lang"]) if language == name])


def _among(judgments: Judgments, queries: Collection) -> Judgments:
    known = judgments.to_dict()
    return Judgments.from_dict({name: known[name] for name in queries.ids if name in known})
