"""Experiment `content`: match a page to short texts of another kind (SSI, section 4.4 and table 11).

The paper matches web pages to clicked advertisements. Here the query is the body of a page, a target is the title and
first sentence of a page, and the targets of linked pages are relevant. Bodies and targets share a dictionary, but each
side has its own document frequencies. All other targets are negatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Features, UsageError
from tacit.experiments.content.cost import cost_section
from tacit.experiments.links.dice_tables import SENTENCE_END
from tacit.experiments.links.experiment import check_systems, run_cells
from tacit.experiments.links.plan import Cell, make_cell, with_printed
from tacit.experiments.links.splits import split_links
from tacit.experiments.links.task import CORPORA, LinkedCorpus, LinkTask, read_linked_corpus
from tacit.experiments.report import Report
from tacit.experiments.request import Request
from tacit.features import TextVectorizer
from tacit.features.text.weighting import best_words, inverse_document_frequency

SYSTEMS = ("tfidf", "hash-1m", "hash-10m", "ssi-uv")
DICTIONARIES = (30_000, 20_000, 10_000)
DIM = 50  # as in the paper
MOST_WORDS = 24  # maximum length of a first sentence
MOST_QUERY_WORDS = 100  # a page of the paper has 87 on average


@dataclass(frozen=True)
class ContentTexts:
    """Bodies and targets of the same pages over one dictionary; tf-idf with the document frequencies of each side."""

    bodies: sp.csr_array
    targets: sp.csr_array

    @property
    def features(self) -> tuple[Mapping[str, Features], Mapping[str, Features]]:
        """Items and queries by kind, as `LinkTask` reads them."""
        items, queries = (dict.fromkeys(("tfidf", "pairs"), rows) for rows in (self.targets, self.bodies))
        return items, queries


def run(request: Request) -> Report:
    """Measure the systems with dictionaries of 10,000 to 30,000 words, and the cost of scoring 100,000 targets."""
    if request.words is None:
        raise UsageError("content has dictionaries of 10,000, 20,000 and 30,000 words; leave out --words")
    request = replace(request, split="queries")
    check_systems(request, request.systems_of(SYSTEMS))
    corpus = read_linked_corpus(request.corpus_folder("linked", CORPORA), max(DICTIONARIES))

    @lru_cache(maxsize=1)  # cells of one dictionary are consecutive
    def texts(words: int) -> ContentTexts:
        return content_texts(corpus, words)

    @lru_cache(maxsize=1)
    def task(words: int, seed: int) -> LinkTask:
        parts = split_links(corpus.links, "queries", seed)
        items, queries = texts(words).features
        return LinkTask(items, queries, parts, parts.test_queries(request.n_queries, seed), request.threads)

    report = run_cells(
        "content", request, corpus, plan_content(request), lambda cell: task(cell["words"], cell["seed"])
    )
    largest = texts(DICTIONARIES[-1] if request.quick else DICTIONARIES[0])
    notes = [*report.notes, *_notes(largest)]
    return replace(report, notes=notes, sections=[cost_section(largest.bodies, largest.targets, DIM, request.seed)])


def plan_content(request: Request) -> list[Cell]:
    """Return cells for every dictionary and system; quick: only the smallest dictionary and one size of kernels."""
    systems = request.systems_of(SYSTEMS)
    cells = [
        make_cell(request, "content", system, seed, words=words, dim=DIM if system.startswith("ssi") else None)
        for words in (DICTIONARIES[-1:] if request.quick else DICTIONARIES)
        for seed in request.seeds
        for system in systems
        if not (request.quick and system == "hash-10m")
    ]
    return with_printed(request, cells)


def content_texts(corpus: LinkedCorpus, words: int) -> ContentTexts:
    """Bodies and targets over the most frequent words of the pages."""
    vocabulary = corpus.vectorizer.vocabulary_[:words]
    documents = corpus.documents
    bodies = _rows(documents.texts, vocabulary)
    return ContentTexts(best_words(bodies, MOST_QUERY_WORDS), _rows(short_texts(documents), vocabulary))


def short_texts(documents: Collection) -> list[str]:
    """Return title and first sentence of each page.

    >>> short_texts(Collection(["a"], ["Array"], ["Holds elements. In a row."]))
    ['Array\\nHolds elements.']
    """
    return [f"{title}\n{first_sentence(text)}" for title, text in zip(documents.titles, documents.texts, strict=True)]


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop before whitespace, at most MOST_WORDS words.

    >>> first_sentence("Since version 2.0 it works! See below.")
    'Since version 2.0 it works!'
    """
    sentence = SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    return " ".join(sentence.split()[:MOST_WORDS])


def _rows(texts: Sequence[str], vocabulary: list[str]) -> sp.csr_array:
    """Return tf-idf over the vocabulary, with document frequencies of these texts; unseen words have weight 0."""
    ones = np.ones(len(vocabulary), np.float32)
    counts = TextVectorizer.from_vocabulary(vocabulary, ones, len(texts)).counts(texts)
    frequency = np.maximum(np.bincount(counts.indices, minlength=len(vocabulary)), 1)
    idf = inverse_document_frequency(frequency, len(texts))
    return TextVectorizer.from_vocabulary(vocabulary, idf, len(texts)).tfidf(counts)


def _notes(texts: ContentTexts) -> list[str]:
    lengths = [rows.nnz / rows.shape[0] for rows in (texts.bodies, texts.targets)]
    return [
        f"query: the {MOST_QUERY_WORDS} best words of a page's body ({lengths[0]:.0f} on average); "
        f"target: title and first sentence ({lengths[1]:.0f} different words on average)",
        f"ssi-uv has vectors of {DIM} numbers, as in the paper",
    ]
