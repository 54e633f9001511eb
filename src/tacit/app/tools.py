"""Tools of a model for assistants: search, explain, judge and evaluate, as functions of plain values.

`tacit mcp` offers them as tools, with these signatures and docstrings as their descriptions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.core import TacitError, check_number, plural

if TYPE_CHECKING:
    from tacit.core import Collection, Judgments, Run
    from tacit.judge import JudgmentStore
    from tacit.search import Searcher

MAX_HITS = 100
MAX_OFFSET = 10_000
N_TERMS = 20
DEPTH = 1000
MEASURES = ("nDCG@10", "AP", "P@10", "Judged@10")
SAMPLED_MEASURES = ("P@10", "DCG@10")
FEW = 10  # with fewer judged queries, a mean says little


@dataclass(frozen=True)
class FoundDocument:
    """One hit."""

    rank: int
    id: str
    score: float
    title: str
    snippet: str
    fields: dict[str, Any]


@dataclass(frozen=True)
class FacetCount:
    """Number of matches with a value."""

    value: Any
    count: int


@dataclass(frozen=True)
class SearchResult:
    """Hits of a query, best first; `total` is null where not all matches were counted."""

    hits: list[FoundDocument]
    total: int | None
    facets: dict[str, list[FacetCount]]
    did_you_mean: str | None


@dataclass(frozen=True)
class ScoreTerm:
    """One term of a score: a word of the query, the word of the document that it matched, and its contribution.

    `heading` says what the term is about; it is all there is for terms without words.
    """

    kind: str
    query_word: str
    document_word: str
    value: float
    member: str
    heading: str


@dataclass(frozen=True)
class Explanation:
    """Terms of a score, largest first; `others` is the sum of the unlisted ones, `total` the sum of all."""

    total: float
    terms: list[ScoreTerm]
    others: float


@dataclass(frozen=True)
class StoredJudgment:
    """A judgment that is on disk."""

    query: str
    document: str
    grade: float | None
    judge: str
    kind: str
    time: str


@dataclass(frozen=True)
class MeasuredMean:
    """A mean over queries with its 95% interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Measured:
    """Measures of a model; `missing` says in sentences what they do not cover."""

    queries: int
    judges: list[str]
    measures: dict[str, MeasuredMean]
    missing: list[str]


class Tools:
    """The tools of one model.

    Parameters
    ----------
    searcher : Searcher
        Fitted searcher.
    store : JudgmentStore or None, default=None
        Store of all grades; without it, the tools to judge and evaluate are not available.
    judge : str, default="assistant"
        Name under which grades are stored, as a program's.
    """

    def __init__(self, searcher: Searcher, store: JudgmentStore | None = None, judge: str = "assistant") -> None:
        self.searcher, self._store, self.judge_name = searcher, store, judge
        person = store and next((j for j in store.judges() if j.name == judge and j.kind == "person"), None)
        if person:
            raise TacitError(
                f"judge {judge!r} is a person in {self.store.path}; an assistant needs another name (--judge)"
            )

    @property
    def store(self) -> JudgmentStore:
        """The judgment store."""
        if self._store is None:
            raise TacitError("there is no judgment store, want one: tacit mcp MODEL --judgments STORE")
        return self._store

    def functions(self) -> list[Callable[..., Any]]:
        """Return the available tools."""
        found: list[Callable[..., Any]] = [self.search, self.explain]
        return found if self._store is None else [*found, self.judge, self.evaluate]

    def search(
        self, query: str, k: int = 10, filter: str | None = None, offset: int = 0, facet: list[str] | None = None
    ) -> SearchResult:
        """Search the documents and return the best hits with ids, scores, titles, snippets and fields.

        The query is plain text; "two words" in quotes must occur in sequence, -word must not occur, title:word must
        occur in the title, word* matches all words with this prefix. Scores are comparable within one query only.

        Parameters
        ----------
        query : str
            Text of the query.
        k : int, default=10
            Number of hits, 1 to 100.
        filter : str or None, default=None
            Condition on fields of the documents, such as "category = shoes and price < 50" or "brand in (Acme, Bolt)".
        offset : int, default=0
            Number of first hits to skip, for further pages.
        facet : list of str or None, default=None
            Fields whose values are counted over all matches.
        """
        check_number("k", k, low=1, high=MAX_HITS, whole=True)
        check_number("offset", offset, low=0, high=MAX_OFFSET, whole=True)
        found = self.searcher.search(query, k, filter=filter, offset=offset, facets=facet or [])
        hits = [FoundDocument(h.rank, h.id, h.score, h.title, h.snippet.text, dict(h.fields)) for h in found]
        facets = {name: [FacetCount(*pair) for pair in counts.items()] for name, counts in found.facets.items()}
        return SearchResult(hits, found.total, facets, found.suggestion)

    def explain(self, query: str, document: str, other: str | None = None) -> Explanation:
        """Explain why a document has its score for a query, or why it is ranked above or below another document.

        The terms sum to the score, or to the difference of the two scores.

        Parameters
        ----------
        query : str
            Text of the query.
        document : str
            Id of the document, as `search` returns it.
        other : str or None, default=None
            Id of a second document; the terms then explain the score of the first minus the score of the second.
        """
        self._check_known(document, *([] if other is None else [other]))
        terms = [ScoreTerm(*reason) for reason in self.searcher.explain(query, document, other)]
        others = float(sum(term.value for term in terms[N_TERMS:]))
        return Explanation(float(sum(term.value for term in terms)), terms[:N_TERMS], others)

    def judge(self, query: str, document: str, grade: float | None) -> StoredJudgment:
        """Store how relevant a document is to a query; it is on disk when this returns.

        The grade is stored as a program's, apart from people's. A later grade of the same pair replaces this one.

        Parameters
        ----------
        query : str
            Text of the query, or the id of one in the judgment store.
        document : str
            Id of the document, as `search` returns it.
        grade : float or None
            0 for not relevant, higher is more relevant, usually up to 3; null if it cannot be judged.
        """
        self._check_known(document)
        record = self.store.record(query, document, grade, self.judge_name, kind="program")
        return StoredJudgment(record.query, record.document, record.grade, record.judge, record.kind, record.time)

    def evaluate(self) -> Measured:
        """Measure how well the model ranks the queries that people have judged, by people's grades alone.

        Grades of programs, including the tool `judge`, are never used. Read `missing` before relying on the means.
        """
        from tacit.metrics import is_sampled

        people, judgments = self._peoples_judgments()
        texts = self.store.queries()
        queries = texts.take([row for name in judgments.query_ids if texts.texts[row := texts.row_of[name]]])
        if not len(queries):
            raise TacitError(f"{self.store.path}: no judged query has a text, so there is nothing to search for")
        run = self.searcher.run(queries, DEPTH)
        measured = _kept(judgments, set(queries.ids))
        means, missing = _estimates(measured, run) if is_sampled(judgments) else _means(measured, run)
        missing = [*self._left_out(judgments, queries), *missing]
        return Measured(len(queries), people, means, missing)

    def _peoples_judgments(self) -> tuple[list[str], Judgments]:
        from tacit.judge import merged_judgments

        kinds = self.store.kinds()
        people = [name for name, kind in kinds.items() if kind == "person"]
        if not people:
            found = ", ".join(kinds) or "no one"
            raise TacitError(f"{self.store.path}: judged by {found}, want a person's judgments to measure by")
        return people, merged_judgments(self.store, people, "last")

    def _left_out(self, judgments: Judgments, queries: Collection) -> list[str]:
        """Return notes on the queries that were measured or left out."""
        no_text = len(judgments.query_ids) - len(queries)
        by_programs = len({record.query for record in self.store.current()} - set(judgments.query_ids))
        trained = len(self.searcher.learned_from(queries))
        unknown = sum(name not in self.searcher.documents_.row_of for name in judgments.doc_ids)
        few = len(queries) if len(queries) < FEW else 0
        return _sentences(
            (no_text, "judged query", "left out, because the store has no text"),
            (by_programs, "query", "left out, because only programs have judged"),
            (trained, "query", "also used to train the model, so these measures are too high"),
            (unknown, "judged document", "not in the model"),
            (few, "judged query", f"measured; differences between models need at least {FEW}"),
        )

    def _check_known(self, *documents: str) -> None:
        for document in documents:
            if document not in self.searcher.documents_.row_of:
                raise TacitError(f"no document has the id {document!r}, want one that search returns")


def _kept(judgments: Judgments, names: set[str]) -> Judgments:
    """Return the judgments of some queries."""
    import numpy as np

    queries = np.array([name in names for name in judgments.query_ids])
    return judgments.select(queries, queries[judgments.query])


def _means(judgments: Judgments, run: Run) -> tuple[dict[str, MeasuredMean], list[str]]:
    """Return means with bootstrap intervals, and notes on their limits."""
    from tacit.metrics import evaluate

    found = evaluate(judgments, run, MEASURES)
    means, ends = found.means(), found.intervals()
    unjudged = f"{1 - means['Judged@10']:.0%} of the first 10 results are unjudged and count as not relevant"
    missing = _sentences(
        (found.n_without_relevant, "query", "without a relevant document, counted as 0"),
        (found.n_missing, "query", "without a result, counted as 0"),
    )
    shown = {name: MeasuredMean(means[name], *ends[name]) for name in means}
    return shown, [*missing, *([unjudged] if means["Judged@10"] < 1 else [])]


def _estimates(judgments: Judgments, run: Run) -> tuple[dict[str, MeasuredMean], list[str]]:
    """Return estimates from judgments that were drawn with known probabilities."""
    from tacit.metrics import estimate

    found = estimate(judgments, run, SAMPLED_MEASURES)
    shown = {name: MeasuredMean(e.value, e.low, e.high) for name, e in found.items()}
    return shown, ["the judgments are a sample with known probabilities, so these are estimates"]


def _sentences(*counted: tuple[int, str, str]) -> list[str]:
    """Return one sentence for each count that is not 0.

    >>> _sentences((2, "query", "left out"), (0, "query", "lost"))
    ['2 queries left out']
    """
    return [f"{plural(n, noun)} {what}" for n, noun, what in counted if n]
