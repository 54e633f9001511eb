"""Bodies of requests, checked before a route sees them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Id = Annotated[str, Field(min_length=1, max_length=1_000)]


class Body(BaseModel):
    """A JSON object; a key that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class FeedbackBody(Body):
    """Documents that are good or bad answers to a query."""

    query: Text
    liked: list[Id] = Field(default_factory=list, max_length=1_000)
    disliked: list[Id] = Field(default_factory=list, max_length=1_000)
    k: int = Field(default=10, ge=1, le=1_000)


class JudgmentBody(Body):
    """One judgment; grade None means that the document cannot be judged."""

    query: Text
    document: Id
    grade: Annotated[float | None, Field(ge=0, le=1_000)]
    judge: Annotated[str, Field(min_length=1, max_length=100)]
    ticket: Annotated[str, Field(max_length=20_000)] | None = None


class WithdrawalBody(Body):
    """A judgment that its judge takes back."""

    query: Text
    document: Id
    judge: Annotated[str, Field(min_length=1, max_length=100)]


class DocumentBody(Body):
    """One document."""

    id: Id
    title: str = ""
    text: str


class QueryBody(Body):
    """One query to be judged."""

    text: Text
    id: Id | None = None
    topic: Annotated[str, Field(max_length=200)] | None = None


class RankBody(Body):
    """Rows of features of one list."""

    features: list[list[float | None]] = Field(min_length=1, max_length=100_000)
    documents: list[Id] | None = None


class TrainBody(Body):
    """How to train."""

    method: Annotated[str, Field(max_length=100)] | None = None
    judge: Annotated[str, Field(max_length=100)] | None = None
    params: dict[str, Any] = Field(default_factory=dict)


class SwitchBody(Body):
    """The version that shall answer."""

    version: Annotated[str, Field(max_length=20)]
