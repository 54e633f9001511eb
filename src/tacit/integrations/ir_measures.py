"""Judgments and runs in the form of ir-measures (and trec_eval's wrappers), and back. Extra `eval`.

In ir-measures a judgment is `Qrel(query_id, doc_id, relevance, iteration)` and a line of a run is
`ScoredDoc(query_id, doc_id, score)`; its functions take iterables of these. Its relevance is an integer, and a document
without a `Qrel` is unjudged, as in `Judgments`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tacit.core import Judgments, MissingExtraError, Run, TacitError

if TYPE_CHECKING:
    from ir_measures import Qrel, ScoredDoc


def to_qrels(judgments: Judgments) -> list[Qrel]:
    """Return judgments as a list of `ir_measures.Qrel`.

    Parameters
    ----------
    judgments : Judgments
        Judgments with integer grades, because ir-measures has no others.
    """
    fractions = judgments.grade != judgments.grade.astype(int)
    if fractions.any():
        row = int(fractions.argmax())
        raise TacitError(
            f"grade {judgments.grade[row]:g} of query {judgments.query_ids[judgments.query[row]]!r} and document "
            f"{judgments.doc_ids[judgments.doc[row]]!r}: ir-measures wants whole numbers"
        )
    make = _library().Qrel
    return [make(*pair, int(grade)) for *pair, grade in _entries(judgments, judgments.grade)]


def to_scored_docs(run: Run) -> list[ScoredDoc]:
    """Return a run as a list of `ir_measures.ScoredDoc`."""
    make = _library().ScoredDoc
    return [make(*entry) for entry in _entries(run, run.score)]


def from_qrels(qrels: Iterable[Any]) -> Judgments:
    """Return judgments from objects with `query_id`, `doc_id` and `relevance`; a negative relevance means unjudged.

    Parameters
    ----------
    qrels : iterable
        `ir_measures.Qrel`, or the qrels of ir_datasets. A query with only unjudged documents is kept.
    """
    grades: dict[str, dict[str, float]] = {}
    for entry in qrels:
        found = grades.setdefault(str(entry.query_id), {})
        if entry.relevance >= 0:
            _add(found, entry, float(entry.relevance))
    return Judgments.from_dict(grades)


def from_scored_docs(scored: Iterable[Any], name: str = "tacit") -> Run:
    """Return a run from objects with `query_id`, `doc_id` and `score`.

    Parameters
    ----------
    scored : iterable
        `ir_measures.ScoredDoc`, or the scoreddocs of ir_datasets.
    name : str, default="tacit"
        Name of the run.
    """
    scores: dict[str, dict[str, float]] = {}
    for entry in scored:
        _add(scores.setdefault(str(entry.query_id), {}), entry, float(entry.score))
    return Run.from_dict(scores, name)


def _add(found: dict[str, float], entry: Any, value: float) -> None:
    if str(entry.doc_id) in found:
        raise TacitError(f"query {entry.query_id!r} has document {entry.doc_id!r} twice, want it once")
    found[str(entry.doc_id)] = value


def _entries(table: Judgments | Run, values: Any) -> list[tuple[str, str, float]]:
    rows = zip(table.query.tolist(), table.doc.tolist(), values.tolist(), strict=True)
    return [(table.query_ids[query], table.doc_ids[doc], value) for query, doc, value in rows]


def _library() -> Any:
    try:
        import ir_measures
    except ImportError:
        raise MissingExtraError("ir-measures' structures", "ir-measures", "eval") from None
    return ir_measures
