"""What routes return, for the description of the interface: names, types, meanings and examples.

Routes return plain dicts, which FastAPI would copy and check again; tests check that they are as described here.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Number = float | int
Span = tuple[int, int]


class Answer(BaseModel):
    """A JSON object with these names only."""

    model_config = ConfigDict(extra="forbid")


def returns(model: Any, status: int = 200, description: str = "") -> dict[int | str, dict[str, Any]]:
    """The entry of a route about what it returns."""
    return {status: {"model": model, "description": description or (model.__doc__ or "").split("\n")[0]}}


class Problem(Answer):
    """A mistake in one line: where it is, what was found, what is wanted."""

    error: str = Field(examples=['k is "0", want a number greater than or equal to 1'])


class Hit(Answer):
    """One result."""

    rank: int = Field(description="1 for the best result")
    id: str
    score: float = Field(description="higher is better; comparable within one query only")
    title: str
    title_matches: list[Span] = Field([], description="start and end of the matching words in the title")
    snippet: str = Field(description="a passage with words of the query")
    matches: list[Span] = Field(description="start and end of the matching words in the snippet")
    fields: dict[str, Any] = Field({}, description="further fields of the document")


class FacetCount(Answer):
    """How many matches have a value."""

    value: Any
    count: int


class AddedWord(Answer):
    """A word that was searched for beside one of the query."""

    typed: str
    used: str
    kind: str
    weight: float


class SearchAnswer(Answer):
    """The best documents for a query."""

    model: str = Field(description="the version that ranked", examples=["1"])
    query: str
    hits: list[Hit]
    total: int | None = Field(None, description="number of all matches, where it is known")
    facets: dict[str, list[FacetCount]] = Field({}, description="counts of values by field")
    did_you_mean: str | None = Field(None, description="another spelling of the query that has matches")
    added: list[AddedWord] = Field([], description="words that were searched for beside those of the query")


class SuggestAnswer(Answer):
    """Completions of what is being typed."""

    query: str
    suggestions: list[str]


class Term(Answer):
    """One term of a score."""

    kind: str = Field(description="word, pair, item, vector, clicks, stage or feedback")
    query_word: str
    document_word: str
    value: float
    member: str = Field(description="ranker inside a blend that the term comes from")


class Explanation(Answer):
    """Terms that add up to a score, or to the difference of two."""

    model: str
    query: str
    id: str
    other: str | None
    total: float
    terms: list[Term]


class DocumentAnswer(Answer):
    """One document."""

    id: str
    title: str
    text: str
    fields: dict[str, Any] = {}


class DocumentsChanged(Answer):
    """What a change of documents did."""

    added: int
    replaced: int
    documents: int = Field(description="number of documents then")


class DocumentPut(DocumentsChanged):
    """What adding or replacing one document did."""

    id: str


class DocumentRemoved(Answer):
    """The id that was removed, and the number of documents then."""

    removed: str
    documents: int


class Ranked(Answer):
    """One row of a list."""

    rank: int
    id: str
    score: float


class RankAnswer(Answer):
    """The rows of a list, best first."""

    ranking: list[Ranked]


class JudgmentRecorded(Answer):
    """A judgment that is on disk."""

    query: str = Field(description="id of the query")
    document: str
    grade: float | None
    time: str


class JudgmentsRecorded(Answer):
    """How many judgments of a list are on disk: all of them."""

    recorded: int


class JudgmentWithdrawn(Answer):
    """A judgment that was taken back."""

    query: str
    document: str
    time: str


class JudgmentRow(Answer):
    """One current judgment."""

    query: str
    text: str | None
    document: str
    grade: float | None = Field(description="null: the judge could not judge")
    judge: str
    kind: Literal["person", "program"]
    time: str
    rank: int | None
    model: str | None
    probability: float | None = Field(description="how likely the pair was to be shown")


class JudgeRow(Answer):
    """One judge."""

    name: str
    kind: Literal["person", "program"]
    n_judgments: int


class JudgmentsAnswer(Answer):
    """Current judgments, and who judged."""

    judgments: list[JudgmentRow]
    judges: list[JudgeRow]
    total: int
    queries: int = Field(description="number of their queries")
    next: int | None = Field(description="cursor of the next page")


class Score(Answer):
    """nDCG@10 of one version."""

    version: str
    value: float


class QueryRow(Answer):
    """One query to be judged."""

    id: str
    text: str
    topic: str | None
    judged: int
    scores: list[Score]


class QueriesAnswer(Answer):
    """Queries to be judged."""

    queries: list[QueryRow]
    total: int
    next: int | None = Field(description="cursor of the next page")


class QueriesAdded(Answer):
    """How many queries are new, how many were known, and their ids."""

    added: int
    known: int
    ids: list[str]


class QueryChanged(Answer):
    """The query that was changed."""

    id: str


class QueryDeleted(Answer):
    """The query that was deleted."""

    deleted: str


class ImportCounts(Answer):
    """Queries of an import."""

    new: int
    known: int
    repeated: int


class ImportedJudgments(Answer):
    """Judgments of an import."""

    new: int
    known: int
    unknown_documents: int


class ImportRow(Answer):
    """One line of an import."""

    number: int
    id: str
    text: str
    topic: str | None
    document: str
    grade: float | None
    judge: str


class ImportAnswer(Answer):
    """What a text holds, and whether it was stored."""

    form: str = Field(examples=["CSV with a header"])
    queries: ImportCounts
    judgments: ImportedJudgments
    rows: list[ImportRow] = Field(description="the first lines as they were read")
    problems: list[str] = Field(description="lines that were left out, and why")
    stored: bool


class AgreementPair(Answer):
    """Two judges."""

    first: str
    second: str
    both: int = Field(description="documents that both judged")
    same: float = Field(description="share of equal grades")
    kappa: float | None = Field(description="Cohen's kappa with linear weights")


class GradeOfJudge(Answer):
    """The grade of one judge."""

    judge: str
    kind: Literal["person", "program"]
    grade: float


class DisagreementRow(Answer):
    """A document that judges graded differently."""

    query: str
    text: str | None
    document: str
    title: str
    snippet: str = Field(description="a passage with words of the query; empty if the model has no such document")
    matches: list[Span]
    grades: list[GradeOfJudge]
    spread: float = Field(description="largest difference of two grades")


class PeopleAgreement(Answer):
    """Agreement with the people other than this judge, on the documents that both graded."""

    both: int
    same: float = Field(description="share of equal grades")
    kappa: float | None = Field(description="Cohen's kappa with linear weights; null where it is not defined")


class JudgeAgreement(JudgeRow):
    """One judge, and how far it agrees with people."""

    people: PeopleAgreement | None


class AgreementAnswer(Answer):
    """Agreement between judges."""

    judges: list[JudgeAgreement]
    pairs: list[AgreementPair]
    disagreements: list[DisagreementRow]
    unsettled: int = Field(description="number of disagreements that no person has decided")
    settled: int


class Guidelines(Answer):
    """Guidelines for all judges."""

    text: str


class NextQuery(Answer):
    """The query of an offered pair."""

    id: str
    text: str


class NextDocument(Answer):
    """The document of an offered pair."""

    id: str
    title: str
    text: str
    snippet: str
    matches: list[Span]


class NextProgress(Answer):
    """How far a judge has got."""

    judged: int
    left: int


class NextAnswer(Answer):
    """A pair to judge with its ticket, or why there is none."""

    finished: bool
    progress: NextProgress
    reason: str | None = None
    ticket: str | None = None
    query: NextQuery | None = None
    document: NextDocument | None = None
    rank: int | None = None
    model: str | None = None


class Used(Answer):
    """Which judgments a training uses."""

    judgments: int
    judged: int = Field(description="number of judged queries")
    queries: int = Field(description="number of queries that are used")
    left_out: dict[str, int] = Field(description="number of the other queries by reason")
    program: str | None = Field(None, description="the program whose grades are used in place of people's")


class Assist(Answer):
    """What the grades of a program judge add to people's, measured by people's grades."""

    used: bool
    text: str
    queries: int
    help: bool
    gain: float
    interval: tuple[float, float]
    p: float
    reason: str = ""


class Mean(Answer):
    """A mean with its 95 % interval."""

    mean: float
    interval: tuple[float, float]


class CurvePoint(Mean):
    """The mean by the number of judged queries to learn from."""

    queries: int


class Compared(Answer):
    """How one version compares with another."""

    version: str
    against: str
    measure: str = Field(examples=["nDCG@10"])
    status: Literal["better", "worse", "no difference shown", "identical", "unproven"]
    gain: float
    interval: tuple[float, float]
    p: float
    reason: str = Field(description="why no gain is claimed")
    wins: int
    losses: int
    ties: int
    more_queries: int = Field(description="judged queries that would be needed beyond these to show a gain of 0.02")
    queries: int
    text: str = Field(description="the verdict in words")


class Verdict(Compared):
    """The comparison after a training."""

    measured: dict[str, dict[str, Mean]] = Field(description="means by version and measure")
    has_zeros: bool
    fingerprint: str = Field(description="the same for the same judgments")
    curve: list[CurvePoint]
    used: Used
    method: str
    assist: Assist | None = Field(None, description="of the program that was named as `assist`")


class QueryDifference(Answer):
    """One query under two versions."""

    id: str
    text: str
    before: float
    after: float


class ComparisonByQuery(Compared):
    """How one version compares with another, query by query."""

    by_query: list[QueryDifference]


class VersionComparison(Answer):
    """One version against another; null where they were never measured on the same judgments."""

    version: str
    against: str
    comparison: ComparisonByQuery | None


class VersionRow(Answer):
    """One version on the scoreboard."""

    version: str
    label: str
    status: Literal["live", "better", "worse", "no difference shown", "identical", "unproven"]
    measures: dict[str, Mean]
    queries: int
    comparison: Compared | None = Field(description="with the live version")
    verdict: Verdict | None = Field(description="of the training")


class VersionsAnswer(Answer):
    """The versions of the model, and which one is live."""

    active: str
    versions: list[VersionRow]


class Switched(Answer):
    """The version that is live now."""

    active: str


class TrainingState(Answer):
    """What the training is doing, or how the last one ended."""

    state: Literal["idle", "running", "cancelling", "done", "failed", "cancelled"]
    message: str
    version: str | None
    verdict: Verdict | None
    used: Used | None
    done: int = Field(description="fits that are done")
    total: int = Field(description="all fits; 0 until they are known")
    elapsed: float = Field(description="seconds since the start")
    seconds_left: float | None


class Health(Answer):
    """Whether the service works, and what it serves."""

    status: Literal["ok"]
    tacit: str
    model: str
    method: str
    documents: int
    read_only: str | None = Field(description="why changes are refused")
