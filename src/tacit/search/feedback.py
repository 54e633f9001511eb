"""Relevance feedback: rerank the candidates of a query by answers that were marked as liked or disliked.

For the candidates of a query, with z() for scores standardised to mean 0 and standard deviation 1:

    similarity  product of a candidate's tf-idf row with (mean of the liked rows) - 0.2 (mean of the disliked rows)
    first       z(score of the searcher) + 2 z(similarity); with nothing liked, z(score) - 0.3 z(similarity to disliked)
    score       (1 - 0.5) (I - 0.5 S)^-1 first

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

from tacit.core import Collection, TacitError, UsageError
from tacit.rerank.propagation.manifold import propagate, smooth_graph

if TYPE_CHECKING:
    from tacit.search.querying import SearchAnswers

N_CANDIDATES = 200
SIMILARITY, DISLIKED, ONLY_DISLIKED = 2.0, 0.2, 0.3
SPREAD, N_NEIGHBOURS = 0.5, 5


def rerank(
    searcher: SearchAnswers,
    query: str,
    liked: Sequence[str],
    disliked: Sequence[str],
    vectors: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Rerank the candidates of a query.

    Parameters
    ----------
    searcher : Searcher
        Fitted searcher.
    query : str
        Query.
    liked, disliked : sequence of str
        Ids of marked documents; liked ones are ranked first, disliked ones last.
    vectors : ndarray of shape (1, dim) or None, default=None
        Vector of the query, for a model with vectors.

    Returns
    -------
    items : ndarray of shape (n_candidates,), int64
        Rows of documents, best first.
    scores : ndarray of shape (n_candidates,), float64
        Their scores.
    """
    good, bad = _marked_rows(searcher.documents_, liked, disliked)
    features = searcher.query_rows([query], vectors)
    found = searcher.ranker_.rank(features, min(N_CANDIDATES, len(searcher.documents_))).of(0)[0]
    items = np.concatenate([found, np.setdiff1d(np.concatenate([good, bad]), found)])
    first = searcher.ranker_.scores(features)[0, items].astype(np.float64)
    content = searcher.vectorizer_.transform(searcher.documents_.full_text(item) for item in items.tolist())
    is_good, is_bad = np.isin(items, good), np.isin(items, bad)
    scores = feedback_scores(first, content, is_good, is_bad)
    span = float(np.ptp(scores)) + 1.0
    scores = scores + span * is_good - span * is_bad
    order = np.lexsort((items, -scores))
    return items[order], scores[order]


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
    scores = _standardised(first)
    if liked.any():
        wanted = _mean_row(content, liked) - (DISLIKED * _mean_row(content, disliked) if disliked.any() else 0.0)
        scores = scores + SIMILARITY * _standardised(content @ wanted)
    elif disliked.any():
        scores = scores - ONLY_DISLIKED * _standardised(content @ _mean_row(content, disliked))
    return propagate(smooth_graph(content, N_NEIGHBOURS), scores, SPREAD)


def _mean_row(content: sp.csr_array, chosen: np.ndarray) -> np.ndarray:
    return np.asarray(content[np.flatnonzero(chosen)].mean(axis=0), np.float64).ravel()


def _standardised(scores: np.ndarray) -> np.ndarray:
    spread = scores.std()
    return (scores - scores.mean()) / (spread if spread > 1e-12 else 1.0)


def _marked_rows(documents: Collection, liked: Sequence[str], disliked: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
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
