"""Request bodies, validated before they reach a route."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from tacit.app.web.interface.examples import REQUESTS
from tacit.core import shown

MAX_DOCUMENTS = 100_000  # of one request
MAX_CHARACTERS = 1_000_000  # of one document: about a book, in less than a second
MAX_FIELDS = 200  # of one document
MAX_OFFSET = 100_000
TAGS = ("<one>", "<many>")  # pydantic's tags for bodies that may be a list; not part of a place

Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Long = Annotated[str, Field(max_length=20_000)]
Id = Annotated[str, Field(min_length=1, max_length=1_000)]
Kind = Literal["person", "program"]  # of a judge
Judge = Annotated[str, Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(max_length=100)]
Topic = Annotated[str, Field(max_length=200)]
VersionName = Annotated[str, Field(max_length=20)]
VectorEntry = Annotated[float, Field(ge=-1e30, le=1e30)]  # float32 with room for products


def _add_example(schema: dict[str, Any], model: type[BaseModel]) -> None:
    if model.__name__ in REQUESTS:
        schema["examples"] = [REQUESTS[model.__name__]]


class Body(BaseModel):
    """A JSON object; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_add_example)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_names(cls, value: Any) -> Any:
        """Raise one error, with the names that are known, instead of one for each unknown name."""
        names = value if isinstance(value, dict) else ()
        unknown = next((name for name in names if name not in cls.model_fields), None)
        if unknown is not None:
            raise PydanticCustomError("unknown_name", f"{shown(unknown)}, want one of {', '.join(cls.model_fields)}")
        return value


class SearchBody(Body):
    """A query with the parameters of `GET /search`, and its vector."""

    query: Text = Field(description="the query")
    k: int = Field(default=10, ge=1, le=1_000, description="number of results")
    model: VersionName | None = Field(default=None, description="version to rank with; null: the live one")
    filter: Long | None = Field(default=None, description="filter of documents, such as `price < 50 and kind = shoes`")
    facets: list[Id] = Field(
        default_factory=list, max_length=100, fail_fast=True, description="fields whose values are counted"
    )
    sort: Id | None = Field(default=None, description="field to sort by; `-price` sorts descending")
    group: Id | None = Field(default=None, description="field whose values are each shown once")
    offset: int = Field(default=0, ge=0, le=MAX_OFFSET, description="number of results to skip")
    snippets: bool = Field(default=True, description="whether results have snippets")
    vector: Annotated[list[VectorEntry], Field(max_length=100_000, fail_fast=True)] | None = Field(
        default=None, description="vector of the query, for models with vectors"
    )


class FeedbackBody(Body):
    """Documents marked as good or bad results of a query."""

    query: Text = Field(description="the query")
    liked: list[Id] = Field(default_factory=list, max_length=1_000, fail_fast=True, description="ids of good results")
    disliked: list[Id] = Field(default_factory=list, max_length=1_000, fail_fast=True, description="ids of bad results")
    k: int = Field(default=10, ge=1, le=1_000, description="number of results")
    model: VersionName | None = Field(default=None, description="version to rank with; null: the live one")


class JudgmentBody(Body):
    """One judgment; a grade of null means that the document cannot be judged."""

    query: Text = Field(description="id of a query, or the text of a new one")
    document: Id = Field(description="id of the document")
    grade: Annotated[float | None, Field(ge=0, le=1_000)] = Field(
        description="0 is not relevant, higher is better; null: cannot be judged"
    )
    judge: Judge = Field(description="name of the judge")
    kind: Kind = Field(default="person", description="a person, or a program such as a language model")
    decision: bool = Field(default=False, description="true: a person decides between judges with different grades")
    ticket: Long | None = Field(default=None, description="ticket of `GET /next`, if the pair was offered")

    @model_validator(mode="after")
    def _is_decided_by_a_person(self) -> JudgmentBody:
        if self.decision and self.kind != "person":
            raise PydanticCustomError("program_decision", "a decision of a program, want one of a person")
        return self


class WithdrawalBody(Body):
    """A judgment to withdraw."""

    query: Text = Field(description="id of the query, or its text")
    document: Id = Field(description="id of the document")
    judge: Judge = Field(description="name of the judge")
    kind: Kind = Field(default="person", description="a person or a program")


Value = Annotated[str, Field(max_length=MAX_CHARACTERS)] | bool | int | float | list[str] | None


class ContentBody(Body):
    """The contents of a document; its id is in the path."""

    title: Long = Field(default="", description="title")
    text: Annotated[str, Field(max_length=MAX_CHARACTERS)] = Field(description="text")
    fields: Annotated[dict[Id, Value], Field(max_length=MAX_FIELDS)] = Field(
        default_factory=dict, description="further fields, for filters and facets"
    )


class DocumentBody(ContentBody):
    """One document."""

    id: Id = Field(description="id of the document")


class QueryBody(Body):
    """One query to judge."""

    text: Text = Field(description="text of the query")
    id: Id | None = Field(default=None, description="its id; null: derived from its text")
    topic: Topic | None = Field(default=None, description="its group")


class QueryChangeBody(Body):
    """The changes of a query; null: no change. An empty topic removes the query from its group."""

    text: Text | None = Field(default=None, description="new text, if the query has no judgments")
    topic: Topic | None = Field(default=None, description="new group")


class GuidelinesBody(Body):
    """Guidelines for judges."""

    text: Long = Field(description="the guidelines")


class ImportBody(Body):
    """A text with queries or judgments; `judge` and `topic` apply to lines without one, `kind` to all judges."""

    text: Annotated[str, Field(min_length=1, max_length=32 << 20)] = Field(
        description="lines of queries; CSV, TSV or jsonl with queries or judgments; TREC qrels"
    )
    judge: Judge = Field(default="import", description="judge for lines without one")
    kind: Kind = Field(default="person", description="a person or a program, for all judges")
    topic: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="group for queries without one"
    )
    preview: bool = Field(default=False, description="true: only report what would be stored")


FeatureRow = Annotated[list[Annotated[float, Field(allow_inf_nan=False)] | None], Field(fail_fast=True)]


class RankBody(Body):
    """Feature rows of one list."""

    features: list[FeatureRow] = Field(
        min_length=1, max_length=100_000, fail_fast=True, description="one row of features for each document"
    )
    documents: Annotated[list[Id], Field(max_length=100_000, fail_fast=True)] | None = Field(
        default=None, description="ids of the rows"
    )


class TrainBody(Body):
    """Training options."""

    method: Name | None = Field(
        default=None, description="method of the new version; null: the live version's if it learns, else blend"
    )
    judge: Name | None = Field(default=None, description="judge to learn from; null: all people")
    assist: Name | None = Field(default=None, description="program judge whose grades are added if they help")
    params: dict[str, Any] = Field(default_factory=dict, description="parameters of the method")


class SwitchBody(Body):
    """The version to make live; one without a verdict needs `confirm`."""

    version: VersionName = Field(description="name of the version")
    confirm: bool = Field(default=False, description="make it live without a verdict")


Documents = Annotated[
    list[DocumentBody],
    Field(max_length=MAX_DOCUMENTS, fail_fast=True),
    BeforeValidator(lambda body: body if isinstance(body, list) else [body]),
]
Judgments = Annotated[
    Annotated[JudgmentBody, Tag(TAGS[0])]
    | Annotated[list[JudgmentBody], Field(min_length=1, max_length=MAX_DOCUMENTS, fail_fast=True), Tag(TAGS[1])],
    Discriminator(lambda body: TAGS[isinstance(body, list)]),
]
Queries = Annotated[list[QueryBody], Field(max_length=MAX_DOCUMENTS, fail_fast=True)]
