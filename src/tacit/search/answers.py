"""Answers to a query as users see them: hits with snippets, and the terms of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.search.snippets import Snippet, make_snippet

if TYPE_CHECKING:
    from tacit.search.querying import SearchAnswers

MAX_JOINED_WORDS = 64  # of a query; explaining every hit of a whole page would take longer than finding them
N_JOINED_WORDS = 8
COMMON_IDF = 0.4  # ln(n / df): a word that two of three documents have does not tell why one was found


@dataclass(frozen=True)
class Hit:
    """One answer to a query.

    Attributes
    ----------
    rank : int
        1 for the best answer.
    id : str
        Id of the document.
    score : float
        Score of the ranker; higher is better.
    title : str
        Title of the document, "" if it has none.
    snippet : Snippet
        Passage of the document with the query's words.
    """

    rank: int
    id: str
    score: float
    title: str
    snippet: Snippet

    def to_json(self) -> dict[str, object]:
        """The hit as the command line and the service write it, with the text of the snippet and its matches."""
        matches = [list(span) for span in self.snippet.matches]
        return vars(self) | {"snippet": self.snippet.text, "matches": matches}


class Reason(NamedTuple):
    """One term of a score.

    Attributes
    ----------
    kind : str
        "word": a word that query and document share; "pair": a word of the query and a word of the document;
        "item": a word of the query and this document as a whole; "vector": the vectors of query and document;
        "clicks": clicks on the document when the query was asked before; "stage": what a second stage adds.
    query_word : str
        Word of the query; "" for a term that does not depend on the query.
    document_word : str
        Word of the document; "" where the document as a whole is meant.
    value : float
        Contribution to the score.
    member : str
        Ranker inside a blend that the term comes from, "" for a ranker alone. Words of "feedback" are those of the
        first answers, whether the query has them or not.
    """

    kind: str
    query_word: str
    document_word: str
    value: float
    member: str = ""


def make_hits(
    searcher: SearchAnswers, query: str, row: sp.csr_array, items: np.ndarray, scores: np.ndarray
) -> list[Hit]:
    """Hits for rows of documents and their scores, best first; snippets show the words that match the query.

    `row` is what the ranker reads of the query's words.
    """
    wanted = set() if searcher.is_across else _rare_words(searcher, query, row)
    hits = []
    for rank, (item, score) in enumerate(zip(items.tolist(), scores.tolist(), strict=True), start=1):
        document = searcher.documents_[item]
        matched = _joined_words(searcher, row, item) if searcher.is_across else wanted
        snippet = make_snippet(document.text, matched, searcher.vectorizer_.tokenizer_)
        hits.append(Hit(rank, document.id, score, document.title, snippet))
    return hits


def _rare_words(searcher: SearchAnswers, query: str, row: sp.csr_array) -> set[str]:
    """The words of a query without those that most documents have, unless there are no others."""
    vectorizer, columns = searcher.vectorizer_, row.indices
    rare = {vectorizer.vocabulary_[column] for column in columns if vectorizer.idf_[column] > COMMON_IDF}
    return rare or set(vectorizer.tokenizer_(query))


def _joined_words(searcher: SearchAnswers, query: sp.csr_array, item: int) -> set[str]:
    """Words of a document with the highest weights for the words of a query in another language."""
    if query.nnz > MAX_JOINED_WORDS:
        return set()
    terms = searcher.ranker_.explain(query, item).terms
    pairs = [term.item_word for term in terms if term.kind == "pair" and term.value > 0]
    return {searcher.vectorizer_.vocabulary_[word] for word in pairs[:N_JOINED_WORDS]}
