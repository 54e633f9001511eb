"""What a ranker may learn from, as pairs of a query and a document: judgments and click logs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np

from tacit.core import Collection, DataError, Judgments, Links, UsageError
from tacit.data.clicks import clicked_pairs, parse_sessions
from tacit.data.columns import UnknownIds, is_header, parse_weight, report_header, split_tabs
from tacit.data.files import FilePath, display_name, read_lines
from tacit.data.trec import check_known


def judged_pairs(
    judgments: Judgments, queries: Collection, docs: Collection, *, skip_unknown: bool = False, path: object = None
) -> Links:
    """Relevant pairs (grade >= 1) as links from query rows to document rows, weighted by grade.

    Parameters
    ----------
    judgments : Judgments
        Judgments.
    queries : Collection
        Queries.
    docs : Collection
        Documents.
    skip_unknown : bool, default=False
        Leave out what names an unknown id and log the number, instead of raising an error.
    path : path, default=None
        Source of the judgments, for messages.

    Returns
    -------
    Links
    """
    known = check_known(judgments, queries, docs, skip_unknown=skip_unknown, path=path)
    query_rows = np.array([queries.row_of[query_id] for query_id in known.query_ids], np.int64)
    doc_rows = np.array([docs.row_of.get(doc_id, -1) for doc_id in known.doc_ids], np.int64)
    relevant = known.grade >= 1
    if not relevant.any():
        raise DataError(f"none of {len(known.grade)} judgments is relevant, want grades >= 1", path=path)
    sources, targets = query_rows[known.query[relevant]], doc_rows[known.doc[relevant]]
    return Links(sources, targets, len(queries), len(docs), known.grade[relevant].astype(np.float32))


def read_clicks(
    path: FilePath, docs: Collection, *, position_one: bool = False, skip_unknown: bool = False
) -> tuple[Collection, Links]:
    """Read clicks as training pairs: the distinct queries, and their clicked documents with counts added up.

    Parameters
    ----------
    path : path
        Lines of `query text<TAB>doc_id[<TAB>count]`, or sessions in JSON (see `clicks`).
    docs : Collection
        Documents.
    position_one : bool, default=False
        Of sessions, take only clicks on the first answer.
    skip_unknown : bool, default=False
        Leave out what names an unknown id and log the number, instead of raising an error.

    Returns
    -------
    queries : Collection
    links : Links
    """
    place, lines = display_name(path), read_lines(path)
    first = next(((number, line) for number, line in lines if line and not line.isspace()), None)
    if first is not None and first[1].lstrip().startswith("{"):
        log = parse_sessions(chain([first], lines), place)
        return log.pairs(docs, position_one=position_one, skip_unknown=skip_unknown)
    if position_one:
        raise UsageError(f"{place}: only sessions in JSON record what was shown first, want a log of them")
    return _counted_clicks(chain([] if first is None else [first], lines), place, docs, skip_unknown)


def _counted_clicks(
    lines: Iterable[tuple[int, str]], place: str, docs: Collection, skip_unknown: bool
) -> tuple[Collection, Links]:
    unknown = UnknownIds(place)
    counts: dict[tuple[int, int], float] = {}
    row_of_text: dict[str, int] = {}
    for number, line in lines:
        if not line or line.isspace():
            continue
        fields = split_tabs(line, "query<TAB>document, or these and <TAB>count", (2, 3), place, number)
        if number == 1 and is_header(fields) and fields[1] not in docs.row_of:
            report_header(fields, place, number)
            continue
        text, doc = fields[0].strip(), docs.row_of.get(fields[1], -1)
        if not text:
            raise DataError("the query is empty, want its text", path=place, line=number)
        count = parse_weight(fields[2], place, number) if len(fields) == 3 else 1.0
        if doc < 0:
            unknown.add(number, "document", fields[1])
            continue
        pair = row_of_text.setdefault(text, len(row_of_text)), doc
        counts[pair] = counts.get(pair, 0.0) + count
    unknown.settle(len(counts), skip=skip_unknown)
    if not counts:
        raise DataError("holds no clicks, want query<TAB>document[<TAB>count]", path=place)
    return clicked_pairs(row_of_text, counts, len(docs))
