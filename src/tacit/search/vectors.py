"""Vectors of documents and queries for `Searcher`: arrays, or an encoder of texts.

To measure the quality of an encoder without labels, queries are taken from documents (`make_probes`): a title or a
sentence, whose relevant document is the rest of its document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, UsageError
from tacit.retrieve import CollectionRanker
from tacit.retrieve.latent.lsi import find_concepts, unit_rows
from tacit.retrieve.training_data import FEWEST_PROBES, Probes
from tacit.retrieve.vectors import check_vectors, join_vectors, spread_rows
from tacit.search.encoders import Encoder
from tacit.search.rows import RankerRows
from tacit.search.vector_cache import VectorCache

N_CUT = 100  # titles, and as many sentences
N_FIRST_WORDS = 8  # of a document that is too short to cut
SENTENCE_END = re.compile(r"(?<=[.!?;|])\s+|\n+|(?<=[。！？])")
SHORTEST_TITLE, SHORTEST_SENTENCE, LONGEST_SENTENCE = 8, 20, 200  # characters
MAX_SAMPLED, MAX_WORDS, N_CONCEPTS = 20_000, 30_000, 200  # documents, words and dimensions of `WordVectors`
SHORTEST_REST = 80  # characters that a document has without its title or sentence


@dataclass(frozen=True)
class CutText:
    """A document without a title or sentence, which serves as a query for it."""

    row: int
    query: str
    title: str
    text: str
    is_title: bool = False

    @property
    def rest(self) -> str:
        """The document without the query."""
        return f"{self.title} {self.text}".strip()


def check_vector_sources(method: str, ranker: CollectionRanker, **given: Any) -> None:
    """Raise if vectors are given and the ranker does not use vectors."""
    named = [name for name, value in given.items() if value is not None]
    if named and "vectors" not in ranker.reads:
        raise UsageError(f"{method} reads no vectors of another model, want blend for {' and '.join(named)}")
    if named == ["query_vectors"]:
        raise UsageError("query_vectors are given without vectors, want vectors of the documents too")


def encode_documents(encoder: Encoder, texts: Sequence[str]) -> dict[str, Any]:
    """Encode documents for a ranker: `vectors`, and `passages` if a document has several."""
    parts = [encoder.passages(text) for text in texts]
    vectors = VectorCache(encoder).look_up([part for text in parts for part in text], "document").astype(np.float32)
    if all(len(text) == 1 for text in parts):
        return {"vectors": vectors}
    return {"vectors": vectors, "passages": np.cumsum([0, *(len(text) for text in parts)])}


class WordVectors:
    """Truncated singular value decompositions of the word counts of a collection.

    One is of logarithmic tf-idf (LSI), one of plain counts, both of words without stemming. Given vectors that these
    explain add no information to the words.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

        sample = [texts[row] for row in spread_rows(len(texts), MAX_SAMPLED)]
        self._counter = CountVectorizer(max_features=MAX_WORDS, dtype=np.float32, token_pattern=r"(?u)\b\w+\b")
        try:
            counts = self._counter.fit_transform(sample)
        except ValueError:  # no word at all
            self._models = []
            return
        weight = TfidfTransformer(sublinear_tf=True).fit(counts)
        dim = min(N_CONCEPTS, min(counts.shape) - 1)
        forms = [weight.transform, lambda rows: rows]
        found = [find_concepts(sp.csr_array(form(counts)), dim, 2, 0) for form in forms] if dim > 0 else []
        self._models = list(zip(forms, found, strict=False))

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Return vectors of texts by each decomposition, of length 1, float32."""
        counts = self._counter.transform(texts) if self._models else None
        return [unit_rows(form(counts) @ concepts) for form, concepts in self._models]


def make_probes(
    encoder: Encoder, documents: Collection, read: RankerRows, words: WordVectors | None = None
) -> Probes | None:
    """Return queries taken from documents, with vectors; None if documents have no text."""
    cut = cut_texts(documents)
    cut = cut if len(cut) >= FEWEST_PROBES else uncut_texts(documents)
    if not cut:
        return None
    queries, rest = [found.query for found in cut], [found.rest for found in cut]
    cache = VectorCache(encoder)
    asked = join_vectors(read.queries(queries), cache.look_up(queries, "query").astype(np.float32))
    vectors = cache.look_up([encoder.passages(text)[0] for text in rest], "document").astype(np.float32)
    titles = read.vectorizer.counts([found.title for found in cut]) if any(documents.titles) else None
    rows = np.array([found.row for found in cut], np.int64)
    unit = check_vectors("vectors", vectors, len(cut))
    references = [] if words is None else list(zip(words.encode(queries), words.encode(rest), strict=True))
    of_title = np.array([found.is_title for found in cut])
    return Probes(rows, asked, read.vectorizer.counts(rest), titles, unit, of_title, references)


def uncut_texts(documents: Collection) -> list[CutText]:
    """Return documents that are too short to split, with their titles or first words as queries."""
    found = list[CutText]()
    for row in spread_rows(len(documents), 2 * N_CUT).tolist():
        title, text = documents.titles[row].strip(), documents.texts[row].strip()
        query = title or " ".join(text.split()[:N_FIRST_WORDS])
        if query:
            found.append(CutText(row, query, title, text))
    return found


def cut_texts(documents: Collection, n_each: int = N_CUT) -> list[CutText]:
    """Return documents without their titles, and as many without a sentence; always the same ones.

    >>> text = "Cats purr when they are content with the world. " * 2 + "They sleep for most of the day, and at night."
    >>> [(cut.query, cut.title) for cut in cut_texts(Collection(["a"], ["About cats"], [text]))]
    [('About cats', ''), ('They sleep for most of the day, and at night.', 'About cats')]
    """
    rng = np.random.default_rng(0)
    titles, sentences = list[CutText](), list[CutText]()
    for row in rng.permutation(len(documents)).tolist():
        title, text = documents.titles[row].strip(), documents.texts[row].strip()
        body = text.removeprefix(title).strip() if title else text
        if len(body) < SHORTEST_REST:
            continue
        if len(titles) < n_each and len(title) >= SHORTEST_TITLE:
            titles.append(CutText(row, title, "", body, is_title=True))
        if len(sentences) < n_each:
            found = [part.strip() for part in SENTENCE_END.split(body[:20_000])]
            fitting = [part for part in found if SHORTEST_SENTENCE <= len(part) <= LONGEST_SENTENCE]
            once = [part for part in dict.fromkeys(fitting) if body.count(part) == 1]
            rest = [(part, body.replace(part, " ", 1)) for part in once if len(body) - len(part) >= SHORTEST_REST]
            if rest:
                sentence, remaining = rest[int(rng.integers(len(rest)))]
                sentences.append(CutText(row, sentence, title, remaining.strip()))
        if len(titles) == len(sentences) == n_each:
            break
    return titles + sentences
