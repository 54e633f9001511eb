"""Bodies of requests, checked before a route sees them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

MAX_DOCUMENTS = 100_000  # of one request
MAX_CHARACTERS = 1_000_000  # of one document: a book, and less than a second of work
MAX_FIELDS = 200  # of one document
MAX_OFFSET = 100_000
TAGS = ("<one>", "<many>")  # of a body that may be a list; they are no part of a place

Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Id = Annotated[str, Field(min_length=1, max_length=1_000)]
Kind = Literal["person", "program"]  # of a judge
VectorEntry = Annotated[float, Field(ge=-1e30, le=1e30)]  # float32 with room for products


class Body(BaseModel):
    """A JSON object; a key that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_many_names(cls, value: Any) -> Any:
        """One error instead of one for each of many unknown names."""
        most = 2 * len(cls.model_fields)
        if isinstance(value, dict) and len(value) > most:
            raise PydanticCustomError("too_many_names", f"{len(value)} names, want at most {len(cls.model_fields)}")
        return value


class SearchBody(Body):
    """A query with the parameters of `GET /search`, and its vector."""

    query: Text
    k: int = Field(default=10, ge=1, le=1_000)
    model: Annotated[str, Field(max_length=20)] | None = None
    filter: Annotated[str, Field(max_length=20_000)] | None = None
    facets: list[Id] = Field(default_factory=list, max_length=100, fail_fast=True)
    sort: Id | None = None
    group: Id | None = None
    offset: int = Field(default=0, ge=0, le=MAX_OFFSET)
    snippets: bool = True
    vector: Annotated[list[VectorEntry], Field(max_length=100_000, fail_fast=True)] | None = None


class FeedbackBody(Body):
    """Documents that are good or bad answers to a query."""

    query: Text
    liked: list[Id] = Field(default_factory=list, max_length=1_000, fail_fast=True)
    disliked: list[Id] = Field(default_factory=list, max_length=1_000, fail_fast=True)
    k: int = Field(default=10, ge=1, le=1_000)
    model: Annotated[str, Field(max_length=20)] | None = None


class JudgmentBody(Body):
    """One judgment; grade None means that the document cannot be judged."""

    query: Text
    document: Id
    grade: Annotated[float | None, Field(ge=0, le=1_000)]
    judge: Annotated[str, Field(min_length=1, max_length=100)]
    kind: Kind = "person"
    decision: bool = Field(default=False, description="a person decided between judges whose grades differ")
    ticket: Annotated[str, Field(max_length=20_000)] | None = None

    @model_validator(mode="after")
    def _is_decided_by_a_person(self) -> JudgmentBody:
        if self.decision and self.kind != "person":
            raise PydanticCustomError("program_decision", "a decision of a program, want one of a person")
        return self


class WithdrawalBody(Body):
    """A judgment that its judge takes back."""

    query: Text
    document: Id
    judge: Annotated[str, Field(min_length=1, max_length=100)]
    kind: Kind = "person"


Value = Annotated[str, Field(max_length=MAX_CHARACTERS)] | bool | int | float | list[str] | None


class ContentBody(Body):
    """What a document holds; its id is in the path."""

    title: Annotated[str, Field(max_length=20_000)] = ""
    text: Annotated[str, Field(max_length=MAX_CHARACTERS)]
    fields: Annotated[dict[Id, Value], Field(max_length=MAX_FIELDS)] = Field(default_factory=dict)


class DocumentBody(ContentBody):
    """One document."""

    id: Id


class QueryBody(Body):
    """One query to be judged."""

    text: Text
    id: Id | None = None
    topic: Annotated[str, Field(max_length=200)] | None = None


class QueryChangeBody(Body):
    """What is changed of a query; None: it stays as it is. An empty topic takes the query out of its group."""

    text: Text | None = None
    topic: Annotated[str, Field(max_length=200)] | None = None


class GuidelinesBody(Body):
    """What counts as relevant."""

    text: Annotated[str, Field(max_length=20_000)]


class ImportBody(Body):
    """A text with queries or judgments; `judge` and `topic` are for lines that name none, `kind` is for all judges."""

    text: Annotated[str, Field(min_length=1, max_length=32 << 20)]
    judge: Annotated[str, Field(min_length=1, max_length=100)] = "import"
    kind: Kind = "person"
    topic: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    preview: bool = False


FeatureRow = Annotated[list[Annotated[float, Field(allow_inf_nan=False)] | None], Field(fail_fast=True)]


class RankBody(Body):
    """Rows of features of one list."""

    features: list[FeatureRow] = Field(min_length=1, max_length=100_000, fail_fast=True)
    documents: Annotated[list[Id], Field(max_length=100_000, fail_fast=True)] | None = None


class TrainBody(Body):
    """How to train."""

    method: Annotated[str, Field(max_length=100)] | None = None
    judge: Annotated[str, Field(max_length=100)] | None = None
    assist: Annotated[str, Field(max_length=100)] | None = None
    params: dict[str, Any] = Field(default_factory=dict)


class SwitchBody(Body):
    """The version to make live; one without a verdict needs `confirm`."""

    version: Annotated[str, Field(max_length=20)]
    confirm: bool = False


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
