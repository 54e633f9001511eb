"""Results of a query for users: hits with snippets, and the terms of a score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import MissingExtraError
from tacit.core.collection import html_table
from tacit.search.snippets import Snippet, find_matches, make_snippets

if TYPE_CHECKING:
    from tacit.search.query.expansion import Added
    from tacit.search.querying import SearchAnswers

Matches = tuple[tuple[int, int], ...]  # start and end of each match within a text
MAX_JOINED_WORDS = 64  # of a query; explaining the hits of longer queries would take longer than finding them
N_JOINED_WORDS = 8
COMMON_IDF = 0.4  # ln(n / df): a word that two of three documents have does not explain why one was found


@dataclass(frozen=True)
class Hit:
    """One result of a query.

    Attributes
    ----------
    rank : int
        1 for the best result.
    id : str
        Id of the document.
    score : float
        Score of the ranker; higher is better.
    title : str
        Title of the document, "" if it has no title.
    snippet : Snippet
        Passage of the document with the query's words.
    fields : dict of str to object
        Further fields of the document that have a value.
    title_matches : tuple of (int, int)
        Start and end of each match within the title.
    """

    rank: int
    id: str
    score: float
    title: str
    snippet: Snippet
    fields: dict[str, Any] = field(default_factory=dict)
    title_matches: Matches = ()

    def to_json(self) -> dict[str, object]:
        """Return the hit as written by the command line and the service, with the snippet's text and matches."""
        matches = [list(span) for span in self.snippet.matches]
        found = {name: value for name, value in vars(self).items() if name != "fields" or value}
        found["title_matches"] = [list(span) for span in self.title_matches]
        return found | {"snippet": self.snippet.text, "matches": matches}


class Hits(list[Hit]):
    """Results of a query, best first.

    Parameters
    ----------
    hits : iterable of Hit, default=()
        Results.
    total : int or None, default=None
        Number of all matches, if known: with facets or a sort order, or if all were examined.
    facets : dict of str to dict, default={}
        Counts of the values of fields over all matches, by field and value, the most frequent first.

    Attributes
    ----------
    suggestion : str or None
        The query with corrected words, if some are in no document.
    added : tuple of Added
        Words searched in addition to or instead of typed ones (`search.query.expansion`).
    """

    suggestion: str | None = None
    added: Sequence[Added] = ()

    def __init__(
        self, hits: Iterable[Hit] = (), total: int | None = None, facets: dict[str, dict[Any, int]] | None = None
    ) -> None:
        super().__init__(hits)
        self.total, self.facets = total, {} if facets is None else facets

    def to_json(self) -> dict[str, Any]:
        """Return the hits as written by the command line and the service, with total and facets if there are any."""
        found: dict[str, Any] = {"hits": [hit.to_json() for hit in self]}
        found |= {} if self.suggestion is None else {"did_you_mean": self.suggestion}
        if self.added:
            names = ("typed", "used", "kind", "weight")
            found["added"] = [{name: getattr(word, name) for name in names} for word in self.added]
        found |= {} if self.total is None else {"total": self.total}
        if self.facets:
            found["facets"] = {
                name: [{"value": value, "count": count} for value, count in counts.items()]
                for name, counts in self.facets.items()
            }
        return found

    def to_frame(self) -> Any:
        """Return the hits as a pandas frame: rank, id, score, title, snippet, and a column for each field."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("to_frame", "pandas", "frames") from None
        columns = [
            "rank",
            "id",
            "score",
            "title",
            "snippet",
            *dict.fromkeys(name for hit in self for name in hit.fields),
        ]
        rows = [hit.fields | vars(hit) | {"snippet": hit.snippet.text} for hit in self]
        return pd.DataFrame(rows, columns=[*columns])

    def __repr__(self) -> str:
        lines = [] if self.suggestion is None else [f"did you mean: {self.suggestion}"]
        lines += [f"{hit.rank:>3}  {hit.score:7.3f}  {hit.title or hit.id}" for hit in self]
        return "\n".join(lines) or "no hits"

    def _repr_html_(self) -> str:
        """Return an HTML table, for notebooks."""
        names = list(dict.fromkeys(name for hit in self for name in hit.fields))
        rows = [[h.rank, h.score, h.id, h.title, h.snippet.text, *(h.fields.get(n) for n in names)] for h in self]
        total = "" if self.total is None else f" of {self.total:,}"
        return html_table(["rank", "score", "id", "title", "snippet", *names], rows, f"{len(self)}{total} hits")


class Reason(NamedTuple):
    """One term of a score.

    Attributes
    ----------
    kind : str
        "word": a word that query and document share; "pair": a word of the query and a word of the document;
        "item": this document as a whole, with or without a word of the query; "vector": the vectors of query and
        document; "clicks": clicks on the document for the same query; "similar": judgments of the document for
        similar queries; "title": the title equals the typed text; "stage": the second stage;
        "feedback": liked and disliked documents.
    query_word : str
        Word of the query, as it was typed; "" for a term that does not depend on the query.
    document_word : str
        Word of the document, in its most frequent form there; "" for the document as a whole.
    value : float
        Contribution to the score.
    member : str
        Ranker inside a blend that the term comes from, "" for a ranker alone. The words of "feedback" come from the
        first results, whether the query has them or not.
    heading : str
        What the term is about, in words, such as "Words of the title". Terms of several rankers can have the same.
    """

    kind: str
    query_word: str
    document_word: str
    value: float
    member: str = ""
    heading: str = ""


def make_hits(
    searcher: SearchAnswers,
    query: str,
    row: sp.csr_array,
    items: np.ndarray,
    scores: np.ndarray,
    *,
    offset: int = 0,
    snippets: bool = True,
) -> Hits:
    """Return hits for rows of documents and their scores, best first; snippets show the words that match the query.

    `row` is the query's word row for the ranker, `offset` the number of hits before these.
    """
    rows, documents = items.tolist(), searcher.documents_
    nothing: tuple[Snippet, Matches] = Snippet(""), ()
    shown = _snippets(searcher, query, row, rows) if snippets else [nothing] * len(rows)
    return Hits(
        Hit(rank, documents.ids[item], score, documents.titles[item], snippet, documents.fields(item), marked)
        for rank, (item, score, (snippet, marked)) in enumerate(
            zip(rows, scores.tolist(), shown, strict=True), offset + 1
        )
    )


def _snippets(
    searcher: SearchAnswers, query: str, row: sp.csr_array, items: list[int]
) -> list[tuple[Snippet, Matches]]:
    """Return the snippet of each document, and the matches in its title."""
    documents, tokenizer = searcher.documents_, searcher.vectorizer_.tokenizer_
    texts, titles = ([column[item] for item in items] for column in (documents.texts, documents.titles))
    if not searcher.is_across:
        words = _rare_words(searcher, query, row)
        marked = find_matches(titles, words, tokenizer)
        return list(zip(make_snippets(texts, words, tokenizer), marked, strict=True))
    found = []
    for item, text, title in zip(items, texts, titles, strict=True):
        words = _joined_words(searcher, row, item)
        found.append((make_snippets([text], words, tokenizer)[0], find_matches([title], words, tokenizer)[0]))
    return found


def _rare_words(searcher: SearchAnswers, query: str, row: sp.csr_array) -> set[str]:
    """Return the query words without those that most documents contain, unless there are no others."""
    vectorizer, columns = searcher.vectorizer_, row.indices
    rare = {vectorizer.vocabulary_[column] for column in columns if vectorizer.idf_[column] > COMMON_IDF}
    return rare or set(vectorizer.tokenizer_(query))


def _joined_words(searcher: SearchAnswers, query: sp.csr_array, item: int) -> set[str]:
    """Return the document words with the highest weights for the words of a query in another language."""
    if query.nnz > MAX_JOINED_WORDS:
        return set()
    terms = searcher.ranker_.explain(query, item).terms
    pairs = [term.item_word for term in terms if term.kind == "pair" and term.value > 0]
    return {searcher.vectorizer_.vocabulary_[word] for word in pairs[:N_JOINED_WORDS]}
