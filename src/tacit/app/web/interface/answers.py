"""Responses of the routes, for the API description: names, types, descriptions and examples.

Routes return plain dicts, because FastAPI would copy and check models again; tests check them against these models.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from tacit.app.web.interface.examples import EXAMPLES
from tacit.retrieve.explanation import HEADINGS

Span = tuple[int, int]
Kind = Literal["person", "program"]
Outcome = Literal["better", "worse", "no difference shown", "identical", "unproven"]


class Answer(BaseModel):
    """A JSON object with exactly these names."""

    model_config = ConfigDict(extra="forbid")


def returns(model: Any, status: int = 200, description: str = "") -> dict[int | str, dict[str, Any]]:
    """Return the `responses` entry of a route."""
    told = {"model": model, "description": description or (model.__doc__ or "").split("\n")[0]}
    example = EXAMPLES[(get_args(model) or (model,))[0].__name__]  # of several models, the first one's example
    return {status: told | {"content": {"application/json": {"example": example}}}}


class Problem(Answer):
    """A one-line error: the place, the value found, and the value expected."""

    error: str = Field(examples=['k is "0", want a number greater than or equal to 1'], description="the error")


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
    """Number of matches with a value."""

    value: Any = Field(description="value of the field")
    count: int = Field(description="number of matches with this value")


class AddedWord(Answer):
    """A word that was searched in addition to a word of the query."""

    typed: str = Field(description="word of the query")
    used: str = Field(description="word that was searched")
    kind: str = Field(description="why, such as synonym or spelling")
    weight: float = Field(description="its weight; typed words have weight 1")


class SearchAnswer(Answer):
    """The best documents for a query."""

    model: str = Field(description="version used for ranking", examples=["1"])
    query: str = Field(description="the query")
    hits: list[Hit] = Field(description="results, best first")
    total: int | None = Field(None, description="total number of matches, if known")
    facets: dict[str, list[FacetCount]] = Field({}, description="counts of values by field")
    did_you_mean: str | None = Field(None, description="another spelling of the query that has matches")
    added: list[AddedWord] = Field([], description="words searched in addition to the query's words")


class SuggestAnswer(Answer):
    """Completions of a partial query."""

    query: str = Field(description="the partial query")
    suggestions: list[str] = Field(description="completions, best first")


class Term(Answer):
    """One term of a score."""

    kind: str = Field(description=f"{', '.join(HEADINGS)} or feedback")
    query_word: str = Field(description="word of the query, as typed; empty if none")
    document_word: str = Field(description="word of the document; empty if the term is about the full document")
    value: float = Field(description="contribution to the score")
    member: str = Field(description="the blend's member ranker with this term")
    heading: str = Field(description="what the term is about, such as Words of the title; groups the terms of the page")


class Explanation(Answer):
    """Terms that sum to a score, or to the difference of two scores."""

    model: str = Field(description="version used for scoring")
    query: str = Field(description="the query")
    id: str = Field(description="the document")
    other: str | None = Field(description="the document to compare with")
    total: float = Field(description="the score, or the difference of two: the sum of all terms")
    terms: list[Term] = Field(description="the terms, largest first; at most 200")


class DocumentAnswer(Answer):
    """One document."""

    id: str = Field(description="id of the document")
    title: str = Field(description="its title")
    text: str = Field(description="its text")
    fields: dict[str, Any] = Field({}, description="its further fields")


class DocumentsChanged(Answer):
    """Result of a change of documents."""

    added: int = Field(description="number of new documents")
    replaced: int = Field(description="number of documents that were replaced")
    documents: int = Field(description="number of documents after the change")


class DocumentPut(DocumentsChanged):
    """Result of adding or replacing one document."""

    id: str = Field(description="id of the document")


class DocumentRemoved(Answer):
    """The id of the removed document, and the number of documents after the change."""

    removed: str = Field(description="id of the document")
    documents: int = Field(description="number of documents after the change")


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
    grade: float | None = Field(description="the grade; null: cannot be judged")
    time: str = Field(description="time when it was stored, in UTC")


class JudgmentsRecorded(Answer):
    """Number of judgments stored on disk: all of a list."""

    recorded: int = Field(description="number of judgments")


class JudgmentWithdrawn(Answer):
    """A withdrawn judgment."""

    query: str = Field(description="id of the query")
    document: str = Field(description="id of the document")
    time: str = Field(description="time of the withdrawal, in UTC")


class JudgmentRow(Answer):
    """One current judgment."""

    query: str = Field(description="id of the query")
    text: str | None = Field(description="text of the query, if known")
    document: str = Field(description="id of the document")
    grade: float | None = Field(description="the grade; null: cannot be judged")
    judge: str = Field(description="name of the judge")
    kind: Kind = Field(description="a person, or a program such as a language model")
    time: str = Field(description="time when it was stored, in UTC")
    rank: int | None = Field(description="rank of the document in the results, if known")
    model: str | None = Field(description="version that found it, if known")
    probability: float | None = Field(description="probability that the pair was shown")


class JudgeRow(Answer):
    """One judge."""

    name: str = Field(description="name of the judge")
    kind: Kind = Field(description="a person, or a program such as a language model")
    n_judgments: int = Field(description="number of current judgments")


class JudgmentsAnswer(Answer):
    """Current judgments and their judges."""

    judgments: list[JudgmentRow] = Field(description="judgments on this page")
    judges: list[JudgeRow] = Field(description="all judges")
    total: int = Field(description="number of judgments on all pages")
    queries: int = Field(description="number of their queries")
    next: int | None = Field(description="cursor of the next page")


class Score(Answer):
    """nDCG@10 of one version."""

    version: str = Field(description="the version")
    value: float = Field(description="nDCG@10, as last measured")


class NextQuery(Answer):
    """The query of an offered pair."""

    id: str = Field(description="id of the query")
    text: str = Field(description="its text")


class QueryRow(NextQuery):
    """One query to judge."""

    topic: str | None = Field(description="its group")
    judged: int = Field(description="number of its judgments")
    scores: list[Score] = Field(description="its nDCG@10 by version, oldest first")


class QueriesAnswer(Answer):
    """Queries to judge."""

    queries: list[QueryRow] = Field(description="queries on this page")
    total: int = Field(description="number of queries on all pages")
    next: int | None = Field(description="cursor of the next page")


class QueriesAdded(Answer):
    """Numbers of new and known queries, and their ids."""

    added: int = Field(description="number of new queries")
    known: int = Field(description="number of queries that already existed")
    ids: list[str] = Field(description="ids of all of them, in the order of the request")


class QueryChanged(Answer):
    """The query that was changed."""

    id: str = Field(description="id of the query")


class QueryDeleted(Answer):
    """The query that was deleted."""

    deleted: str = Field(description="id of the query")


class ImportCounts(Answer):
    """Queries of an import."""

    new: int = Field(description="queries not stored yet")
    known: int = Field(description="queries already stored")
    repeated: int = Field(description="lines that repeat a query")


class ImportedJudgments(Answer):
    """Judgments of an import."""

    new: int = Field(description="judgments not stored yet")
    known: int = Field(description="judgments already stored")
    unknown_documents: int = Field(description="judgments skipped, because the model has no such document")


class ImportRow(Answer):
    """One line of an import."""

    number: int = Field(description="number of the line")
    id: str = Field(description="id of the query; empty: derived from its text")
    text: str = Field(description="text of the query")
    topic: str | None = Field(description="its group")
    document: str = Field(description="id of the document; empty for a query alone")
    grade: float | None = Field(description="the grade, if the line has one")
    judge: str = Field(description="the judge, if the line names one")


class ImportAnswer(Answer):
    """Contents of a text, and whether they were stored."""

    form: str = Field(examples=["CSV with a header"], description="the detected format")
    queries: ImportCounts = Field(description="counts of queries")
    judgments: ImportedJudgments = Field(description="counts of judgments")
    rows: list[ImportRow] = Field(description="the first lines as parsed")
    problems: list[str] = Field(description="skipped lines, with reasons")
    stored: bool = Field(description="false for a preview")


class AgreementPair(Answer):
    """Two judges."""

    first: str = Field(description="one judge")
    second: str = Field(description="another judge")
    both: int = Field(description="documents judged by both")
    same: float = Field(description="share of equal grades")
    kappa: float | None = Field(description="Cohen's kappa with linear weights")


class GradeOfJudge(Answer):
    """The grade of one judge."""

    judge: str = Field(description="name of the judge")
    kind: Kind = Field(description="a person or a program")
    grade: float = Field(description="the grade")


class DisagreementRow(Answer):
    """A document that judges graded differently."""

    query: str = Field(description="id of the query")
    text: str | None = Field(description="its text, if known")
    document: str = Field(description="id of the document")
    title: str = Field(description="title of the document")
    snippet: str = Field(description="a passage with words of the query; empty if the model has no such document")
    matches: list[Span] = Field(description="start and end of the matching words in the snippet")
    grades: list[GradeOfJudge] = Field(description="all grades of the pair")
    spread: float = Field(description="largest difference of two grades")


class PeopleAgreement(Answer):
    """Agreement with all other people, on the documents that both graded."""

    both: int = Field(description="documents graded by both")
    same: float = Field(description="share of equal grades")
    kappa: float | None = Field(description="Cohen's kappa with linear weights; null if undefined")


class JudgeAgreement(JudgeRow):
    """One judge, and its agreement with people."""

    people: PeopleAgreement | None = Field(
        description="agreement with the other people; null without a shared document"
    )


class AgreementAnswer(Answer):
    """Agreement between judges."""

    judges: list[JudgeAgreement] = Field(description="all judges")
    pairs: list[AgreementPair] = Field(description="agreement of every two judges with a document in common")
    disagreements: list[DisagreementRow] = Field(description="undecided disagreements, the largest first")
    unsettled: int = Field(description="number of disagreements that no person has decided")
    settled: int = Field(description="number of disagreements that a person has decided")


class Guidelines(Answer):
    """Guidelines for all judges."""

    text: str = Field(description="the guidelines")


class NextDocument(Answer):
    """The document of an offered pair."""

    id: str = Field(description="id of the document")
    title: str = Field(description="its title")
    text: str = Field(description="its full text")
    snippet: str = Field(description="a passage with words of the query")
    matches: list[Span] = Field(description="start and end of the matching words in the snippet")


class NextProgress(Answer):
    """Progress of a judge."""

    judged: int = Field(description="pairs judged by this judge")
    left: int = Field(description="planned pairs left")


class NextAnswer(Answer):
    """A pair to judge with its ticket, or the reason why there is none."""

    finished: bool = Field(description="true if there is nothing to judge")
    progress: NextProgress = Field(description="progress of this judge")
    reason: str | None = Field(None, description="why there is nothing to judge")
    ticket: str | None = Field(None, description="send it with the judgment; it records how the pair was shown")
    query: NextQuery | None = Field(None, description="the query")
    document: NextDocument | None = Field(None, description="the document")
    rank: int | None = Field(None, description="rank of the document; null if it was drawn at random")
    model: str | None = Field(None, description="version that found it")


class Used(Answer):
    """The judgments used by a training."""

    judgments: int = Field(description="number of judgments")
    judged: int = Field(description="number of judged queries")
    queries: int = Field(description="number of queries used")
    left_out: dict[str, int] = Field(description="number of unused queries by reason")
    program: str | None = Field(None, description="the program whose grades are used instead of people's")


class Assist(Answer):
    """Gain of a program judge's grades over people's grades alone, measured by people's grades."""

    used: bool = Field(description="whether they were used to train the version")
    text: str = Field(description="the result as text")
    queries: int = Field(description="number of queries it was measured on")
    help: bool = Field(description="whether they measurably help")
    gain: float = Field(description="difference in nDCG@10")
    interval: tuple[float, float] = Field(description="95% interval of the difference")
    p: float = Field(description="p of the paired test")
    reason: str = Field("", description="reason why no gain is claimed")


class Mean(Answer):
    """A mean with its 95% interval."""

    mean: float = Field(description="mean over the judged queries")
    interval: tuple[float, float] = Field(description="95% interval of the mean")


class CurvePoint(Mean):
    """The mean at a number of judged training queries."""

    queries: int = Field(description="number of judged training queries")


class Compared(Answer):
    """Comparison of one version with another."""

    version: str = Field(description="the version")
    against: str = Field(description="the version to compare with")
    measure: str = Field(examples=["nDCG@10"], description="the measure")
    status: Outcome = Field(description="the verdict as one label")
    gain: float = Field(description="mean difference in the measure")
    interval: tuple[float, float] = Field(description="95% interval of the difference")
    p: float = Field(description="p of the paired test")
    reason: str = Field(description="reason why no gain is claimed")
    wins: int = Field(description="queries with a higher value")
    losses: int = Field(description="queries with a lower value")
    ties: int = Field(description="queries with the same value")
    more_queries: int = Field(description="further judged queries needed to show a gain of 0.02")
    queries: int = Field(description="number of judged queries")
    headline: str = Field("", description="the verdict as one sentence, without numbers")
    advice: str = Field("", description="what to do")
    text: str = Field(description="the headline, the numbers and the advice")


class Verdict(Compared):
    """The verdict after a training."""

    measured: dict[str, dict[str, Mean]] = Field(description="means by version and measure")
    has_zeros: bool = Field(description="whether any document was judged not relevant")
    fingerprint: str = Field(description="equal for equal judgments")
    curve: list[CurvePoint] = Field(description="learning curve; empty until measured")
    used: Used = Field(description="judgments used")
    method: str = Field(description="method of the version")
    time: str | None = Field(None, description="time of the verdict, in UTC")
    assist: Assist | None = Field(None, description="result for the program named as `assist`")


class QueryDifference(NextQuery):
    """One query under two versions."""

    before: float = Field(description="value of the other version")
    after: float = Field(description="value of this version")


class ComparisonByQuery(Compared):
    """Comparison of one version with another, query by query."""

    by_query: list[QueryDifference] = Field(description="values of every query, the largest loss first")


class VersionComparison(Answer):
    """Comparison of two versions; null if they were never measured on the same judgments."""

    version: str = Field(description="the version")
    against: str = Field(description="the version to compare with")
    comparison: ComparisonByQuery | None = Field(description="the comparison")


class QueryValue(NextQuery):
    """One query under one version."""

    value: float = Field(description="nDCG@10")


class MeasuredNow(Answer):
    """Measures of a version on the current judgments."""

    version: str = Field(description="the version")
    measures: dict[str, Mean] = Field(description="nDCG@10, AP and Judged@10; empty if it was not measured")
    queries: int = Field(description="number of judged queries")
    program: str | None = Field(description="the program whose judgments were used, if no person has judged")
    reason: str | None = Field(description="reason why it was not measured")
    by_query: list[QueryValue] = Field(description="the value of every judged query")


class VersionRow(Answer):
    """One version on the scoreboard."""

    version: str = Field(description="name of the version")
    label: str = Field(description="what it is, in words")
    saved: str | None = Field(description="when it was saved, in UTC")
    status: Literal["live", Outcome] = Field(description="live, or the result of the comparison with the live version")
    measures: dict[str, Mean] = Field(description="nDCG@10, AP and Judged@10, as last measured")
    queries: int = Field(description="number of judged queries it was measured on")
    comparison: Compared | None = Field(description="comparison with the live version")
    verdict: Verdict | None = Field(description="verdict of its training")


class VersionsAnswer(Answer):
    """The versions of the model, and which one is live."""

    active: str = Field(description="the live version")
    versions: list[VersionRow] = Field(description="all versions, oldest first")


class Switched(Answer):
    """The live version."""

    active: str = Field(description="the live version")


class TrainingState(Answer):
    """State of the current training, or of the last one."""

    state: Literal["idle", "running", "cancelling", "done", "failed", "cancelled"] = Field(
        description="the state as one word"
    )
    message: str = Field(description="the current stage, or the outcome")
    version: str | None = Field(description="the version being trained")
    verdict: Verdict | None = Field(description="the verdict, once both versions are measured")
    used: Used | None = Field(description="judgments used")
    stages: list[str] = Field(description="all stages in order; `message` is the current one during training")
    done: int = Field(description="finished fits, up to the verdict; then fits of the learning curve")
    total: int = Field(description="total number of these fits; 0 until known")
    elapsed: float = Field(description="seconds since the start")
    seconds_left: float | None = Field(description="estimated seconds until all fits are done; null before the first")


class Health(Answer):
    """Status of the service, and what it serves."""

    status: Literal["ok"] = Field(description="always ok")
    tacit: str = Field(description="version of tacit")
    model: str = Field(description="the live version")
    method: str = Field(description="its method")
    documents: int = Field(description="number of documents")
    fields: dict[str, str] = Field(description="fields for filters: keyword, keywords, number, boolean, date or text")
    read_only: str | None = Field(description="reason why changes are refused")
    about: str | None = Field(description="what is served, for people who open the page")
