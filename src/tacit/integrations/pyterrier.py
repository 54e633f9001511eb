"""Searchers and rankers of lists in PyTerrier pipelines. Extra `pyterrier`; Java only if PyTerrier needs it.

    pipeline = Retrieve(searcher) >> features >> Rerank(StandingRanker())
    pipeline.fit(train_topics, train_qrels, validation_topics, validation_qrels)

`features` is any transformer that adds the column `features`. In `fit`, documents that are not in the qrels are
unjudged; PyTerrier's own learning to rank counts them as judged 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.core import Collection, Lists, MissingExtraError, TacitError, check_number
from tacit.rerank import ListRanker
from tacit.search import Searcher

try:
    import pandas as pd
    import pyterrier as pt
except ImportError:
    raise MissingExtraError("pipelines", "pyterrier", "pyterrier") from None


class Retrieve(pt.Transformer):
    """Searches the documents of a fitted searcher: queries to results.

    Parameters
    ----------
    searcher : Searcher
        Fitted searcher, or one loaded by `tacit.load`.
    num_results : int, default=1000
        Maximum number of results of a query.
    """

    def __init__(self, searcher: Searcher, num_results: int = 1000) -> None:
        super().__init__()
        searcher._check_fitted()
        self.searcher = searcher
        self.num_results = int(check_number("num_results", num_results, low=1, whole=True))

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return results of queries: the columns of the queries, and docno, score and rank (from 0)."""
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        if not len(inp):
            return inp.assign(docno=pd.Series(dtype=object), score=pd.Series(dtype=float), rank=pd.Series(dtype=int))
        texts = inp["query"].astype(str).tolist()
        queries = Collection([str(row) for row in range(len(texts))], [""] * len(texts), texts)
        ranking = self.searcher.rank(queries, self.num_results)
        row, place = np.nonzero(ranking.items >= 0)
        found = inp.iloc[row].reset_index(drop=True)
        ids = self.searcher.documents_.ids
        found["docno"] = [ids[item] for item in ranking.items[row, place].tolist()]
        found["score"] = ranking.scores[row, place].astype(np.float64)
        found["rank"] = place
        return found

    def fuse_rank_cutoff(self, k: int) -> Retrieve | None:
        """Make `Retrieve(...) % k` search for k documents only."""
        return Retrieve(self.searcher, k) if k < self.num_results else None

    def __repr__(self) -> str:
        return f"Retrieve({self.searcher!r}, num_results={self.num_results})"


class Rerank(pt.Estimator):
    """Reranks results by their features, with any ranker of lists: results with features to results.

    Parameters
    ----------
    ranker : ListRanker
        Fitted or not; `fit` refits it.
    """

    def __init__(self, ranker: ListRanker) -> None:
        super().__init__()
        self.ranker = ranker

    def fit(
        self,
        topics_or_res_tr: pd.DataFrame,
        qrels_tr: pd.DataFrame,
        topics_or_res_va: pd.DataFrame | None = None,
        qrels_va: pd.DataFrame | None = None,
    ) -> Rerank:
        """Fit the ranker on results with features and their qrels; validation is optional.

        Parameters
        ----------
        topics_or_res_tr : data frame
            Training results: qid, docno and features.
        qrels_tr : data frame
            Judgments: qid, docno and label. Results without a label, or with a negative one, are unjudged.
        topics_or_res_va, qrels_va : data frame, default=None
            The same for validation queries, for the choice of parameters.
        """
        pt.validate.result_frame(topics_or_res_tr, extra_columns=["features"], context=self)
        if not len(topics_or_res_tr):
            raise TacitError("there are no results to fit on")
        validation = None
        if topics_or_res_va is not None and qrels_va is not None and len(topics_or_res_va):
            pt.validate.result_frame(topics_or_res_va, extra_columns=["features"], context=self)
            validation = make_lists(topics_or_res_va, qrels_va)
        self.ranker.fit(make_lists(topics_or_res_tr, qrels_tr), validation=validation)
        return self

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the results with new scores and ranks."""
        pt.validate.result_frame(inp, extra_columns=["features"], context=self)
        found = inp.copy()
        scores = self.ranker.predict(_features(inp), inp["qid"].to_numpy()) if len(inp) else np.zeros(0)
        found["score"] = np.asarray(scores, np.float64)
        return pt.model.add_ranks(found)

    def __repr__(self) -> str:
        return f"Rerank({self.ranker!r})"


def make_lists(results: pd.DataFrame, qrels: pd.DataFrame) -> Lists:
    """Return lists of results with features; documents that are not in the qrels are unjudged.

    Parameters
    ----------
    results : data frame
        qid, docno and features.
    qrels : data frame
        qid, docno and label.
    """
    pt.validate.columns(qrels, includes=["qid", "docno", "label"])
    codes, names = pd.factorize(results["qid"].astype(str))
    order = np.argsort(codes, kind="stable")
    rows = results.iloc[order]
    pairs = zip(qrels["qid"].astype(str), qrels["docno"].astype(str), strict=True)
    label = dict(zip(pairs, qrels["label"].astype(float), strict=True))
    docnos = rows["docno"].astype(str).tolist()
    grades = [label.get(pair, np.nan) for pair in zip(rows["qid"].astype(str), docnos, strict=True)]
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    return Lists(_features(rows), np.array(grades), starts, list(names), docnos)


def _features(results: pd.DataFrame) -> Any:
    widths = {len(row) for row in results["features"]}
    if len(widths) != 1:
        raise TacitError(f"features have {min(widths)} to {max(widths)} columns, want the same number in every row")
    return np.stack([np.asarray(row, np.float64) for row in results["features"]])
