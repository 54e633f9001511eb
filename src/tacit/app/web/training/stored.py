"""Verdicts stored next to a version; they are read only if complete."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from tacit.app.web.interface.answers import Answer, Verdict
from tacit.app.web.training.verdicts import MEASURES, SHOWN
from tacit.store.strict_json import parse_json

Name = Annotated[str, Field(pattern="^[1-9][0-9]{0,8}$")]


class ByQuery(Answer):
    """Values of the measures by version, in the order of the queries."""

    ids: list[str] = Field(min_length=1)
    texts: list[str]
    values: dict[Name, dict[str, list[Annotated[float, Field(ge=0, le=1)]]]]


class StoredVerdict(Verdict):
    """A verdict with the values of every query."""

    version: Name
    against: Name
    by_query: ByQuery

    @model_validator(mode="after")
    def _is_whole(self) -> StoredVerdict:
        found, n = self.by_query, len(self.by_query.ids)
        for name in (self.version, self.against):
            assert {*SHOWN} <= {*self.measured.get(name, {})}
            assert {*MEASURES} <= {*found.values.get(name, {})}
        assert {len(found.texts), *(len(v) for by_measure in found.values.values() for v in by_measure.values())} == {n}
        assert all(MEASURES[0] in by_measure for by_measure in found.values.values())
        return self


def read_verdict(data: bytes) -> dict[str, Any] | None:
    """Return the verdict in a file; None if it is damaged."""
    try:
        found: dict[str, Any] = parse_json(data)
        StoredVerdict.model_validate_json(data, strict=True)
    except (ValueError, ValidationError):
        return None
    return found
