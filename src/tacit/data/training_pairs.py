"""Training data of rankers as pairs of a query and a document: judgments and click logs."""

from __future__ import annotations

import numpy as np

from tacit.core import ClickedLinks, Collection, DataError, Judgments, Links, UsageError, checked
from tacit.data.clicks import read_click_log
from tacit.data.files import FilePath
from tacit.data.formats.source import ReadOptions
from tacit.data.trec import check_known


@checked
def judged_pairs(
    judgments: Judgments,
    queries: Collection,
    docs: Collection,
    *,
    relevant: bool = True,
    skip_unknown: bool = False,
    path: object = None,
) -> Links:
    """Return relevant pairs (grade >= 1) as links from query rows to document rows, weighted by grade.

    Parameters
    ----------
    judgments : Judgments
        Judgments.
    queries : Collection
        Queries.
    docs : Collection
        Documents.
    relevant : bool, default=True
        False: return the pairs judged not relevant, each with weight 1; there may be none.
    skip_unknown : bool, default=False
        Skip judgments with an unknown id and log their number, instead of raising an error.
    path : path, default=None
        Source of the judgments, for messages.

    Returns
    -------
    Links
    """
    known = check_known(judgments, queries, docs, skip_unknown=skip_unknown, path=path)
    query_rows = np.array([queries.row_of[query_id] for query_id in known.query_ids], np.int64)
    doc_rows = np.array([docs.row_of.get(doc_id, -1) for doc_id in known.doc_ids], np.int64)
    kept = (known.grade >= 1) == relevant
    if relevant and not kept.any():
        raise DataError(f"no judgment (of {len(known.grade)}) is relevant, want grades >= 1", path=path)
    sources, targets = query_rows[known.query[kept]], doc_rows[known.doc[kept]]
    weights = known.grade[kept] if relevant else np.ones(len(sources))
    return Links(sources, targets, len(queries), len(docs), weights.astype(np.float32))


@checked
def read_clicks(
    path: FilePath,
    docs: Collection,
    queries: Collection | None = None,
    *,
    position_one: bool = False,
    skip_unknown: bool = False,
    options: ReadOptions | None = None,
) -> tuple[Collection, ClickedLinks]:
    """Read clicks as training pairs: the distinct queries, and their clicked documents with weights.

    Parameters
    ----------
    path : path
        Sessions in JSON, or lines of `query<TAB>doc_id[<TAB>count]` (see `clicks`).
    docs : Collection
        Documents.
    queries : Collection, default=None
        Queries named by id or text in the log; None: the log names queries by text.
    position_one : bool, default=False
        Use only clicks on the first result of a session.
    skip_unknown : bool, default=False
        Skip clicks with an unknown id and log their number, instead of raising an error.
    options : ReadOptions or None, default=None
        Encoding of the file, and table of an SQLite database.

    Returns
    -------
    queries : Collection
    links : ClickedLinks
        Their attribute `shown` contains all shown documents.
    """
    log = read_click_log(path, options)
    if queries is not None:
        log = log.named_by(queries, texts=True, skip_unknown=skip_unknown)
    if position_one and not log.ordered:
        raise UsageError(f"{log.name}: only JSON sessions record the first result, want a log of these")
    return log.pairs(docs, position_one=position_one, skip_unknown=skip_unknown)
