"""Judgments: the store that keeps them, exchange with other tools, agreement of judges, what to judge next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.core.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.judge.records import Judgment as Judgment
    from tacit.judge.records import typed_query_id as typed_query_id
    from tacit.judge.store import Judge as Judge
    from tacit.judge.store import JudgmentStore as JudgmentStore

__getattr__, __dir__, __all__ = lazy_names(
    globals(),
    {
        "Judge": "store",
        "Judgment": "records",
        "JudgmentStore": "store",
        "typed_query_id": "records",
    },
)
