"""Relevance feedback: rerank the candidates of a query by results that were marked as liked or disliked.

For the candidates of a query, with z() for scores standardised to mean 0 and standard deviation 1:

    similarity  product of a candidate's tf-idf row with (mean of the liked rows) - 0.2 (mean of the disliked rows)
    first       z(score of the searcher) + 2 z(similarity); with nothing liked, z(score) - 0.3 z(similarity to disliked)
    score       (1 - 0.5) (I - 0.5 S)^-1 first, with the mean and the standard deviation of the searcher's scores

S is the graph of the 5 nearest candidates by words (`rerank.propagation.manifold`): scores spread to unmarked
neighbours. The constants were chosen among about forty settings on validation queries (every third of Cranfield, CACM
and CISI; 2, 5 and 10 judged). Mean nDCG@10 and MAP on all queries, for BM25, without the last step, and in full:

    Cranfield   .266 .223    .407 .364    .431 .389
    CACM        .253 .201    .426 .339    .406 .342
    CISI        .233 .201    .375 .302    .379 .324

Nearly all of the gain comes from the similarity; the last step helps on Cranfield and lowers nDCG on the 17 queries of
CACM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, TacitError, UsageError, check_kind
from tacit.rerank.propagation.manifold import propagate, smooth_graph
from tacit.search.shares import standardized

if TYPE_CHECKING:
    from tacit.search.querying import SearchAnswers

N_CANDIDATES = 200
SIMILARITY, DISLIKED, ONLY_DISLIKED = 2.0, 0.2, 0.3
SPREAD, N_NEIGHBOURS = 0.5, 5
_SMALLEST = 1e-6  # spread of scores that are all equal


def rerank(
    searcher: SearchAnswers, features: sp.csr_array, liked: Sequence[str], disliked: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Rerank the candidates of a query.

    Parameters
    ----------
    searcher : Searcher
        Fitted searcher.
    features : csr_array of shape (1, n_features)
        The query as the ranker reads it.
    liked, disliked : sequence of str
        Ids of marked documents; liked ones are ranked first, disliked ones last.

    Returns
    -------
    items : ndarray of shape (n_candidates,), int64
        Rows of documents, best first.
    scores : ndarray of shape (n_candidates,), float64
        Their scores, on the scale of the searcher's scores.
    """
    good, bad = _marked_rows(searcher.documents_, liked, disliked)
    found = searcher.ranker_.rank(features, min(N_CANDIDATES, len(searcher.documents_))).of(0)[0]
    items = np.concatenate([found, np.setdiff1d(np.concatenate([good, bad]), found)])
    first = searcher.ranker_.scores(features)[0, items].astype(np.float64)
    content = searcher.vectorizer_.transform(searcher.documents_.full_text(item) for item in items.tolist())
    is_good, is_bad = np.isin(items, good), np.isin(items, bad)
    scores = first.mean() + max(float(first.std()), _SMALLEST) * feedback_scores(first, content, is_good, is_bad)
    span = 1.25 * float(np.ptp(scores)) + _SMALLEST
    scores = scores + span * is_good - span * is_bad
    order = np.lexsort((items, -scores))
    return items[order], scores[order]


def feedback_term(
    searcher: SearchAnswers,
    rows: sp.csr_array,
    document: str,
    other: str | None,
    marks: tuple[Sequence[str], Sequence[str]],
) -> float:
    """Return the effect of feedback on a document's score, or on its difference from another document's score."""
    items, scores = rerank(searcher, rows, *marks)
    plain = searcher.ranker_.scores(rows)[0].astype(np.float64)
    place = {item: number for number, item in enumerate(items.tolist())}

    def added(name: str) -> float:
        item = searcher.documents_.row_of[name]
        if item not in place:
            raise TacitError(f"document {name!r} is not among the {len(items)} that feedback ranks, want one of them")
        return float(scores[place[item]] - plain[item])

    return added(document) - (0.0 if other is None else added(other))


def feedback_scores(first: np.ndarray, content: sp.csr_array, liked: np.ndarray, disliked: np.ndarray) -> np.ndarray:
    """Scores of candidates by feedback.

    Parameters
    ----------
    first : ndarray of shape (n,), float64
        Scores of the searcher.
    content : sparse array of shape (n, n_words)
        Tf-idf rows of the candidates.
    liked, disliked : ndarray of shape (n,), bool
        Masks of the marked candidates.

    Returns
    -------
    scores : ndarray of shape (n,), float64

    Examples
    --------
    >>> content = sp.csr_array(np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]]))
    >>> marks = np.array([True, False, False, False]), np.zeros(4, bool)
    >>> feedback_scores(np.array([4.0, 3, 2, 1]), content, *marks).argsort()[::-1].tolist()
    [0, 2, 1, 3]
    """
    scores = standardized(first)
    if liked.any():
        wanted = _mean_row(content, liked) - (DISLIKED * _mean_row(content, disliked) if disliked.any() else 0.0)
        scores = scores + SIMILARITY * standardized(content @ wanted)
    elif disliked.any():
        scores = scores - ONLY_DISLIKED * standardized(content @ _mean_row(content, disliked))
    return propagate(smooth_graph(content, N_NEIGHBOURS), scores, SPREAD)


def _mean_row(content: sp.csr_array, chosen: np.ndarray) -> np.ndarray:
    return np.asarray(content[np.flatnonzero(chosen)].mean(axis=0), np.float64).ravel()


def _marked_rows(documents: Collection, liked: Sequence[str], disliked: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    for name, ids in (("liked", liked), ("disliked", disliked)):
        check_kind(name, ids, list | tuple | set | frozenset, "a list of ids of documents")
        for doc_id in ids:
            check_kind(f"an id in {name}", doc_id, str, "text")
    if not len(liked) and not len(disliked):
        raise UsageError("nothing is marked: name at least one document as liked or disliked")
    both = sorted(set(liked) & set(disliked))
    if both:
        raise UsageError(f"document {both[0]!r} is both liked and disliked, want one of them")
    unknown = [doc_id for doc_id in (*liked, *disliked) if doc_id not in documents.row_of]
    if unknown:
        raise TacitError(f"no document has the id {unknown[0]!r}, want one that the model has")
    good, bad = (np.array([documents.row_of[doc_id] for doc_id in ids], np.int64) for ids in (liked, disliked))
    return good, bad
