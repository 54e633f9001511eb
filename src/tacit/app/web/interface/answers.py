"""What routes return, for the description of the interface: names, types, meanings and examples.

Routes return plain dicts, which FastAPI would copy and check again; tests check that they are as described here.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from tacit.app.web.interface.examples import EXAMPLES

Number = float | int
Span = tuple[int, int]


class Answer(BaseModel):
    """A JSON object with these names only."""

    model_config = ConfigDict(extra="forbid")


def returns(model: Any, status: int = 200, description: str = "") -> dict[int | str, dict[str, Any]]:
    """The entry of a route about what it returns."""
    told = {"model": model, "description": description or (model.__doc__ or "").split("\n")[0]}
    example = EXAMPLES[(get_args(model) or (model,))[0].__name__]  # of several models, the first one's
    return {status: told | {"content": {"application/json": {"example": example}}}}


class Problem(Answer):
    """A mistake in one line: where it is, what was found, what is wanted."""

    error: str = Field(examples=['k is "0", want a number greater than or equal to 1'])


class Hit(Answer):
    """One result."""

    rank: int = Field(description="1 for the best result")
    id: str = Field(description="id of the document")
    score: float = Field(description="higher is better; comparable within one query only")
    title: str = Field(description="title of the document")
    title_matches: list[Span] = Field([], description="start and end of the matching words in the title")
    snippet: str = Field(description="a passage with words of the query")
    matches: list[Span] = Field(description="start and end of the matching words in the snippet")
    fields: dict[str, Any] = Field({}, description="further fields of the document")


class FacetCount(Answer):
    """How many matches have a value."""

    value: Any = Field(description="value of the field")
    count: int = Field(description="number of matches that have it")


class AddedWord(Answer):
    """A word that was searched for beside one of the query."""

    typed: str = Field(description="word of the query")
    used: str = Field(description="word that was searched for")
    kind: str = Field(description="why, such as synonym or spelling")
    weight: float = Field(description="its weight; 1 is that of a typed word")


class SearchAnswer(Answer):
    """The best documents for a query."""

    model: str = Field(description="the version that ranked", examples=["1"])
    query: str = Field(description="the query")
    hits: list[Hit] = Field(description="results, best first")
    total: int | None = Field(None, description="number of all matches, where it is known")
    facets: dict[str, list[FacetCount]] = Field({}, description="counts of values by field")
    did_you_mean: str | None = Field(None, description="another spelling of the query that has matches")
    added: list[AddedWord] = Field([], description="words that were searched for beside those of the query")


class SuggestAnswer(Answer):
    """Completions of what is being typed."""

    query: str = Field(description="what was typed")
    suggestions: list[str] = Field(description="completions, best first")


class Term(Answer):
    """One term of a score."""

    kind: str = Field(description="word, pair, item, vector, clicks, stage or feedback")
    query_word: str = Field(description="word of the query, as typed; empty where none is meant")
    document_word: str = Field(description="word of the document; empty where all of it is meant")
    value: float = Field(description="what the term adds to the score")
    member: str = Field(description="ranker inside a blend that the term comes from")


class Explanation(Answer):
    """Terms that add up to a score, or to the difference of two."""

    model: str = Field(description="the version that scored")
    query: str = Field(description="the query")
    id: str = Field(description="the document")
    other: str | None = Field(description="the document that it is compared with")
    total: float = Field(description="the score, or the difference of two: the sum of all terms")
    terms: list[Term] = Field(description="the terms, largest first; at most 200")


class DocumentAnswer(Answer):
    """One document."""

    id: str = Field(description="id of the document")
    title: str = Field(description="its title")
    text: str = Field(description="its text")
    fields: dict[str, Any] = Field({}, description="its further fields")


class DocumentsChanged(Answer):
    """What a change of documents did."""

    added: int = Field(description="number of new documents")
    replaced: int = Field(description="number of documents that were replaced")
    documents: int = Field(description="number of documents then")


class DocumentPut(DocumentsChanged):
    """What adding or replacing one document did."""

    id: str = Field(description="id of the document")


class DocumentRemoved(Answer):
    """The id that was removed, and the number of documents then."""

    removed: str = Field(description="id of the document")
    documents: int = Field(description="number of documents then")


class Ranked(Answer):
    """One row of a list."""

    rank: int = Field(description="1 for the best row")
    id: str = Field(description="id of the row, or its number")
    score: float = Field(description="higher is better")


class RankAnswer(Answer):
    """The rows of a list, best first."""

    ranking: list[Ranked] = Field(description="rows, best first")


class JudgmentRecorded(Answer):
    """A judgment that is on disk."""

    query: str = Field(description="id of the query")
    document: str = Field(description="id of the document")
    grade: float | None = Field(description="the grade; null: the document cannot be judged")
    time: str = Field(description="when it was stored, in UTC")


class JudgmentsRecorded(Answer):
    """How many judgments of a list are on disk: all of them."""

    recorded: int = Field(description="number of judgments")


class JudgmentWithdrawn(Answer):
    """A judgment that was taken back."""

    query: str = Field(description="id of the query")
    document: str = Field(description="id of the document")
    time: str = Field(description="when it was taken back, in UTC")


class JudgmentRow(Answer):
    """One current judgment."""

    query: str = Field(description="id of the query")
    text: str | None = Field(description="text of the query, where it is known")
    document: str = Field(description="id of the document")
    grade: float | None = Field(description="null: the judge could not judge")
    judge: str = Field(description="name of the judge")
    kind: Literal["person", "program"] = Field(description="a person, or a program such as a language model")
    time: str = Field(description="when it was stored, in UTC")
    rank: int | None = Field(description="rank at which the document was found, where it is known")
    model: str | None = Field(description="version that found it, where it is known")
    probability: float | None = Field(description="how likely the pair was to be shown")


class JudgeRow(Answer):
    """One judge."""

    name: str = Field(description="name of the judge")
    kind: Literal["person", "program"] = Field(description="a person, or a program such as a language model")
    n_judgments: int = Field(description="number of current judgments")


class JudgmentsAnswer(Answer):
    """Current judgments, and who judged."""

    judgments: list[JudgmentRow] = Field(description="judgments of this page")
    judges: list[JudgeRow] = Field(description="all judges")
    total: int = Field(description="number of judgments on all pages")
    queries: int = Field(description="number of their queries")
    next: int | None = Field(description="cursor of the next page")


class Score(Answer):
    """nDCG@10 of one version."""

    version: str = Field(description="the version")
    value: float = Field(description="nDCG@10 as it was last measured")


class QueryRow(Answer):
    """One query to be judged."""

    id: str = Field(description="id of the query")
    text: str = Field(description="its text")
    topic: str | None = Field(description="its group")
    judged: int = Field(description="number of its judgments")
    scores: list[Score] = Field(description="its nDCG@10 by version, oldest first")


class QueriesAnswer(Answer):
    """Queries to be judged."""

    queries: list[QueryRow] = Field(description="queries of this page")
    total: int = Field(description="number of queries on all pages")
    next: int | None = Field(description="cursor of the next page")


class QueriesAdded(Answer):
    """How many queries are new, how many were known, and their ids."""

    added: int = Field(description="number of new queries")
    known: int = Field(description="number of queries that were there already")
    ids: list[str] = Field(description="ids of all of them, in the order of the request")


class QueryChanged(Answer):
    """The query that was changed."""

    id: str = Field(description="id of the query")


class QueryDeleted(Answer):
    """The query that was deleted."""

    deleted: str = Field(description="id of the query")


class ImportCounts(Answer):
    """Queries of an import."""

    new: int = Field(description="queries that are not stored yet")
    known: int = Field(description="queries that are stored already")
    repeated: int = Field(description="lines that repeat a query")


class ImportedJudgments(Answer):
    """Judgments of an import."""

    new: int = Field(description="judgments that are not stored yet")
    known: int = Field(description="judgments that are stored already")
    unknown_documents: int = Field(description="judgments left out, because the model has no such document")


class ImportRow(Answer):
    """One line of an import."""

    number: int = Field(description="number of the line")
    id: str = Field(description="id of the query; empty: made from its text")
    text: str = Field(description="text of the query")
    topic: str | None = Field(description="its group")
    document: str = Field(description="id of the document; empty for a query alone")
    grade: float | None = Field(description="the grade, if the line has one")
    judge: str = Field(description="the judge, if the line names one")


class ImportAnswer(Answer):
    """What a text holds, and whether it was stored."""

    form: str = Field(examples=["CSV with a header"], description="the form that was recognized")
    queries: ImportCounts = Field(description="counts of queries")
    judgments: ImportedJudgments = Field(description="counts of judgments")
    rows: list[ImportRow] = Field(description="the first lines as they were read")
    problems: list[str] = Field(description="lines that were left out, and why")
    stored: bool = Field(description="false for a preview")


class AgreementPair(Answer):
    """Two judges."""

    first: str = Field(description="one judge")
    second: str = Field(description="another judge")
    both: int = Field(description="documents that both judged")
    same: float = Field(description="share of equal grades")
    kappa: float | None = Field(description="Cohen's kappa with linear weights")


class GradeOfJudge(Answer):
    """The grade of one judge."""

    judge: str = Field(description="name of the judge")
    kind: Literal["person", "program"] = Field(description="a person or a program")
    grade: float = Field(description="the grade")


class DisagreementRow(Answer):
    """A document that judges graded differently."""

    query: str = Field(description="id of the query")
    text: str | None = Field(description="its text, where it is known")
    document: str = Field(description="id of the document")
    title: str = Field(description="title of the document")
    snippet: str = Field(description="a passage with words of the query; empty if the model has no such document")
    matches: list[Span] = Field(description="start and end of the matching words in the snippet")
    grades: list[GradeOfJudge] = Field(description="all grades of the pair")
    spread: float = Field(description="largest difference of two grades")


class PeopleAgreement(Answer):
    """Agreement with the people other than this judge, on the documents that both graded."""

    both: int = Field(description="documents that both graded")
    same: float = Field(description="share of equal grades")
    kappa: float | None = Field(description="Cohen's kappa with linear weights; null where it is not defined")


class JudgeAgreement(JudgeRow):
    """One judge, and how far it agrees with people."""

    people: PeopleAgreement | None = Field(
        description="agreement with the other people; null where no document is shared"
    )


class AgreementAnswer(Answer):
    """Agreement between judges."""

    judges: list[JudgeAgreement] = Field(description="all judges")
    pairs: list[AgreementPair] = Field(description="agreement of every two judges who share a document")
    disagreements: list[DisagreementRow] = Field(description="those that no person has decided, the widest first")
    unsettled: int = Field(description="number of disagreements that no person has decided")
    settled: int = Field(description="number of disagreements that a person has decided")


class Guidelines(Answer):
    """Guidelines for all judges."""

    text: str = Field(description="what counts as relevant")


class NextQuery(Answer):
    """The query of an offered pair."""

    id: str = Field(description="id of the query")
    text: str = Field(description="its text")


class NextDocument(Answer):
    """The document of an offered pair."""

    id: str = Field(description="id of the document")
    title: str = Field(description="its title")
    text: str = Field(description="its whole text")
    snippet: str = Field(description="a passage with words of the query")
    matches: list[Span] = Field(description="start and end of the matching words in the snippet")


class NextProgress(Answer):
    """How far a judge has got."""

    judged: int = Field(description="pairs that this judge has judged")
    left: int = Field(description="pairs that are planned")


class NextAnswer(Answer):
    """A pair to judge with its ticket, or why there is none."""

    finished: bool = Field(description="whether there is nothing to judge")
    progress: NextProgress = Field(description="how far this judge has got")
    reason: str | None = Field(None, description="why there is nothing to judge")
    ticket: str | None = Field(None, description="to be sent with the judgment: it records how the pair was shown")
    query: NextQuery | None = Field(None, description="the query")
    document: NextDocument | None = Field(None, description="the document")
    rank: int | None = Field(None, description="rank of the document; null if it was drawn at random")
    model: str | None = Field(None, description="version that found it")


class Used(Answer):
    """Which judgments a training uses."""

    judgments: int = Field(description="number of judgments")
    judged: int = Field(description="number of judged queries")
    queries: int = Field(description="number of queries that are used")
    left_out: dict[str, int] = Field(description="number of the other queries by reason")
    program: str | None = Field(None, description="the program whose grades are used in place of people's")


class Assist(Answer):
    """What the grades of a program judge add to people's, measured by people's grades."""

    used: bool = Field(description="whether the version learned from them")
    text: str = Field(description="the finding in words")
    queries: int = Field(description="number of queries it was measured on")
    help: bool = Field(description="whether they measurably help")
    gain: float = Field(description="difference in nDCG@10")
    interval: tuple[float, float] = Field(description="95 % interval of the difference")
    p: float = Field(description="p of the paired test")
    reason: str = Field("", description="why no gain is claimed")


class Mean(Answer):
    """A mean with its 95 % interval."""

    mean: float = Field(description="mean over the judged queries")
    interval: tuple[float, float] = Field(description="95 % interval of the mean")


class CurvePoint(Mean):
    """The mean by the number of judged queries to learn from."""

    queries: int = Field(description="number of judged queries that were learned from")


class Compared(Answer):
    """How one version compares with another."""

    version: str = Field(description="the version")
    against: str = Field(description="the version that it is compared with")
    measure: str = Field(examples=["nDCG@10"], description="the measure")
    status: Literal["better", "worse", "no difference shown", "identical", "unproven"] = Field(
        description="the verdict in a word"
    )
    gain: float = Field(description="mean difference in the measure")
    interval: tuple[float, float] = Field(description="95 % interval of the difference")
    p: float = Field(description="p of the paired test")
    reason: str = Field(description="why no gain is claimed")
    wins: int = Field(description="queries with a higher value")
    losses: int = Field(description="queries with a lower value")
    ties: int = Field(description="queries with the same value")
    more_queries: int = Field(description="judged queries that would be needed beyond these to show a gain of 0.02")
    queries: int = Field(description="number of judged queries")
    text: str = Field(description="the verdict in words")


class Verdict(Compared):
    """The comparison after a training."""

    measured: dict[str, dict[str, Mean]] = Field(description="means by version and measure")
    has_zeros: bool = Field(description="whether documents were judged not relevant")
    fingerprint: str = Field(description="the same for the same judgments")
    curve: list[CurvePoint] = Field(description="learning curve; empty until it is measured")
    used: Used = Field(description="judgments that were used")
    method: str = Field(description="method of the version")
    time: str | None = Field(None, description="when it was found, in UTC")
    assist: Assist | None = Field(None, description="of the program that was named as `assist`")


class QueryDifference(Answer):
    """One query under two versions."""

    id: str = Field(description="id of the query")
    text: str = Field(description="its text")
    before: float = Field(description="value of the other version")
    after: float = Field(description="value of this version")


class ComparisonByQuery(Compared):
    """How one version compares with another, query by query."""

    by_query: list[QueryDifference] = Field(description="values of every query, the largest loss first")


class VersionComparison(Answer):
    """One version against another; null where they were never measured on the same judgments."""

    version: str = Field(description="the version")
    against: str = Field(description="the version that it is compared with")
    comparison: ComparisonByQuery | None = Field(description="the comparison")


class VersionRow(Answer):
    """One version on the scoreboard."""

    version: str = Field(description="name of the version")
    label: str = Field(description="what it is, in words")
    saved: str | None = Field(description="when it was saved, in UTC")
    status: Literal["live", "better", "worse", "no difference shown", "identical", "unproven"] = Field(
        description="live, or how it compares with the live version"
    )
    measures: dict[str, Mean] = Field(description="nDCG@10, AP and Judged@10, as last measured")
    queries: int = Field(description="number of judged queries it was measured on")
    comparison: Compared | None = Field(description="with the live version")
    verdict: Verdict | None = Field(description="of the training")


class VersionsAnswer(Answer):
    """The versions of the model, and which one is live."""

    active: str = Field(description="the live version")
    versions: list[VersionRow] = Field(description="all versions, oldest first")


class Switched(Answer):
    """The version that is live now."""

    active: str = Field(description="the live version")


class TrainingState(Answer):
    """What the training is doing, or how the last one ended."""

    state: Literal["idle", "running", "cancelling", "done", "failed", "cancelled"] = Field(
        description="the state in a word"
    )
    message: str = Field(description="the present stage, or how it ended")
    version: str | None = Field(description="the version that is trained")
    verdict: Verdict | None = Field(description="the verdict, once both versions are measured")
    used: Used | None = Field(description="judgments that are used")
    stages: list[str] = Field(description="all stages in order; `message` is the present one while it runs")
    done: int = Field(description="fits that are done, up to the verdict; then those of the learning curve")
    total: int = Field(description="all these fits; 0 until they are known")
    elapsed: float = Field(description="seconds since the start")
    seconds_left: float | None = Field(
        description="estimate of the seconds left for `total` fits; null until one is done"
    )


class Health(Answer):
    """Whether the service works, and what it serves."""

    status: Literal["ok"] = Field(description="always ok")
    tacit: str = Field(description="version of tacit")
    model: str = Field(description="the live version")
    method: str = Field(description="its method")
    documents: int = Field(description="number of documents")
    fields: dict[str, str] = Field(description="fields for filters: keyword, keywords, number, boolean, date or text")
    read_only: str | None = Field(description="why changes are refused")
