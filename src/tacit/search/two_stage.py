"""Two-stage ranker: a ranker of lists reranks the first results of a ranker of collections.

The rows of a list are the first items of the first stage. Their features are the query-document features of the text
(`features.query_document`), the score of the first stage and, for a `blend`, the scores of its members. Both stages
learn from the same judged queries, so they are cross-fitted: the list of a training query comes from a first stage
fitted without the judgments of that query.

The scores of both stages are combined (see `shares`). If items outside the list would rank above it, the scores of all
items of the list are raised by the same amount. Cross-validation over queries chooses the share of the second stage.
With share 0, the ranker is the first stage alone.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Lists, TacitError, UsageError, check_number, track
from tacit.features.query_document import QueryDocumentFeatures
from tacit.metrics.formulas import average_precision
from tacit.rerank.registry import get_method as get_list_method
from tacit.retrieve import BlendRanker, CollectionRanker
from tacit.retrieve.explanation import Term
from tacit.retrieve.factors import ItemFactors, append_rows, best_items, widened
from tacit.retrieve.training_data import ITEM_INPUTS, TrainingData, check_inputs
from tacit.retrieve.vectors import join_vectors, split_vectors
from tacit.search.shares import SHARES, FirstAnswers, joined_scores, standardized, sure_share

if TYPE_CHECKING:
    from tacit.rerank import ListRanker

N_FOLDS, FEWEST_QUERIES, MAX_QUERIES = 5, 10, 500
READS = frozenset({"titles", "zeros"})  # of the second stage itself


class TwoStageRanker(CollectionRanker):
    """A ranker of a collection whose first results are reranked by a ranker of lists.

    Parameters
    ----------
    first : CollectionRanker or None, default=None
        The first stage, a ranker on word counts; None means `blend`.
    rerank : str, default="standing"
        Method of the second stage; `tacit.rerank.METHODS` lists them.
    depth : int, default=100
        Number of first results to rerank.
    seed : int, default=0
        Random seed.
    threads : int or None, default=None
        Number of threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    first_ : CollectionRanker
        The first stage, fitted on all pairs.
    list_ranker_ : ListRanker or None
        The second stage; None if it did not improve the result in cross-validation.
    share_ : float
        Weight of the second stage; 0 if there is none.
    items_, titles_ : csr_array of shape (n_items, n_features), float32
        Counts of the words of the items, titles included, and of the titles alone.
    """

    _fitted: ClassVar = {
        "first_": "estimator",
        "list_ranker_": "?estimator",
        "share_": "",
        "items_": "items features",
        "titles_": "items features",
    }
    needs_pairs: ClassVar[bool] = True
    prefers_stems: ClassVar[bool] = True
    features = "counts"

    def __init__(
        self,
        first: CollectionRanker | None = None,
        rerank: str = "standing",
        *,
        depth: int = 100,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.first, self.rerank, self.depth, self.seed, self.threads = first, rerank, depth, seed, threads

    def check_params(self) -> None:
        """Raise unless the first stage uses counts and the second stage is known."""
        if self._unfitted().features != "counts":
            name = type(self._unfitted()).__name__
            raise UsageError(f"a second stage reads counts of words, and {name} does not: want blend or bm25")
        get_list_method(self.rerank)
        check_number("depth", self.depth, low=2, whole=True)

    def check_graph(self) -> None:
        """Raise, because a second stage requires exact scores of the first."""
        raise UsageError("two stages (rerank) have no approximate search (ann): give one of them")

    @property
    def reads(self) -> Set[str]:  # type: ignore[override]
        """The inputs of the first stage, and titles and judged negatives for the second."""
        return READS | (self._unfitted().reads - {"program"})

    @property
    def vectors_dim(self) -> int:
        """Number of dimensions of the vectors of the first stage."""
        return self.first_.vectors_dim

    @property
    def uses_vectors(self) -> bool:
        """Whether the first stage uses vectors, or the second uses their scores."""
        return self.first_.uses_vectors or (self.list_ranker_ is not None and self.vectors_dim > 0)

    def mark_titles(self, rows: sp.csr_array, texts: Sequence[str]) -> sp.csr_array:
        """Return query rows that mark titles, if the first stage compares them."""
        return self.first_.mark_titles(rows, texts)

    def _check_queries(self, queries: Features) -> Features:
        return self.first_._check_queries(queries)

    def _unfitted(self) -> CollectionRanker:
        return BlendRanker(seed=self.seed, threads=self.threads) if self.first is None else self.first.clone()

    def _prepared(self, data: TrainingData) -> TrainingData:
        self.check_params()
        if not data.has_pairs:
            raise UsageError("a second stage learns from judged queries, pairs, clicks or links: give some")
        return data

    def _fit(self, data: TrainingData) -> None:
        self.items_ = sp.csr_array(data.items).astype(np.float32)
        self.titles_ = data.titles if data.titles is not None else sp.csr_array(self.items_.shape, dtype=np.float32)
        self.__dict__.pop("_text", None)
        queries, self.n_features_ = sp.csr_array(data.queries), int(data.items.shape[1])
        if data.queries_are_items and data.vectors is not None:
            queries = join_vectors(queries, data.first_vectors)
        plain, members = self._unfitted(), data.members
        if members is None and isinstance(plain, BlendRanker):
            given = data.item_inputs | {"probes": data.probes, "references": data.references}
            members = plain.fit(None, self.items_, **given)
        data = replace(data, queries=queries, items=self.items_, members=members)
        known = np.unique(data.pairs.sources)
        self.first_ = self._fit_first(data, known)
        self.list_ranker_: ListRanker | None = None
        self.share_ = 0.0
        if len(known) < FEWEST_QUERIES:
            return
        rng = np.random.default_rng(self.seed)
        lists = self._cross_fitted(data, rng.permutation(known)[:MAX_QUERIES])
        self.share_ = self._choose_share(lists, data.pairs.to_csr() > 0)
        if self.share_:
            self.list_ranker_ = self._learn([part for fold in lists for part in fold])

    def _fit_first(self, data: TrainingData, kept: np.ndarray) -> CollectionRanker:
        """Return the first stage, fitted on the judgments of some queries."""
        ranker = self._unfitted()
        zeros = None if data.zeros is None else data.zeros.take(np.isin(data.zeros.sources, kept))
        given = vars(replace(data, zeros=zeros))
        further: dict[str, Any] = {name: given[name] for name in ranker.reads & self.reads}
        pairs = data.pairs.take(np.isin(data.pairs.sources, kept))
        return ranker.fit(data.queries, data.items, pairs, queries_are_items=data.queries_are_items, **further)

    def _cross_fitted(self, data: TrainingData, known: np.ndarray) -> list[list[FirstAnswers]]:
        """Return lists of the queries of each fold, from a first stage fitted on the other folds."""
        queries, relevant = sp.csr_array(data.queries), data.pairs.to_csr()
        zeros = sp.csr_array(relevant.shape, dtype=bool) if data.zeros is None else data.zeros.to_csr() > 0
        folds = []
        for fold in track(range(N_FOLDS), "second stage", N_FOLDS):
            test = known[fold::N_FOLDS]
            first = self._fit_first(data, np.setdiff1d(known, test))
            made = []
            for query in test.tolist():
                own = [query] if data.queries_are_items else []
                skip = sp.csr_array((np.ones(len(own), bool), ([0] * len(own), own)), shape=(1, relevant.shape[1]))
                best = first.rank(queries[[query]], self.depth, exclude=skip, threads=1)
                found = self._list_of(first, queries[[query]], best.items[0], best.scores[0])
                if found is not None:
                    grades = relevant[[query]].toarray().ravel()[found.items]
                    judged = (grades > 0) | zeros[[query]].toarray().ravel()[found.items]
                    made.append(found._replace(grades=np.where(judged, grades, np.nan), query=query))
            folds.append(made)
        return folds

    def _list_of(
        self, first: CollectionRanker, row: sp.csr_array, items: np.ndarray, scores: np.ndarray
    ) -> FirstAnswers | None:
        """Return the first items of a query (-1: none) with their features; None if there are fewer than two."""
        items, scores = items[items >= 0], scores[items >= 0].astype(np.float64)
        if not row.nnz or len(items) < 2:
            return None
        columns = [self._text.of(split_vectors(row, self.n_features_)[0], items), scores[:, None]]
        names = _member_columns(first)
        if isinstance(first, BlendRanker):
            found, empty = first.member_scores_at(row, items, names), np.zeros(len(items))
            columns.append(np.stack([found.get(name, empty) for name in names], axis=1))
        return FirstAnswers(items, scores, np.hstack(columns))

    @cached_property
    def _text(self) -> QueryDocumentFeatures:
        body = sp.csr_array(self.items_ - self.titles_)
        body.data = np.maximum(body.data, 0)
        body.eliminate_zeros()
        return QueryDocumentFeatures({"body": body, "title": self.titles_, "both": self.items_})

    def _learn(self, made: Sequence[FirstAnswers]) -> ListRanker:
        """Fit the second stage to some lists; without judged negatives, to whether items are relevant at all."""
        from tacit.rerank.ranking_lists import RankingTask, fit_lists  # imports scikit-learn

        grades = np.concatenate([part.grades for part in made])
        lists = Lists(
            X=np.vstack([part.X for part in made]),
            y=grades if (grades == 0).any() else np.where(grades > 0, 1.0, np.nan),
            starts=np.concatenate([[0], np.cumsum([len(part.items) for part in made])]),
            query_ids=[str(part.query) for part in made],
            doc_ids=[str(item) for part in made for item in part.items.tolist()],
        )
        return fit_lists(RankingTask(self.rerank, seed=self.seed, threads=self.threads), lists, warn=False)

    def _choose_share(self, folds: Sequence[Sequence[FirstAnswers]], relevant: sp.csr_array) -> float:
        """Choose the share by cross-validation over the lists."""
        values = list[list[float]]()
        for number, fold in enumerate(folds):
            train = [part for other, parts in enumerate(folds) if other != number for part in parts]
            if not any((part.grades > 0).any() for part in train):
                return 0.0
            ranker = self._learn(train)
            for part in fold:
                n_relevant = int(relevant[[part.query]].nnz)
                second = standardized(ranker.predict(part.X, np.zeros(len(part.X), np.int64)))
                values.append(
                    [
                        average_precision(joined_scores(part.scores, second, share), part.grades, n_relevant)
                        for share in SHARES
                    ]
                )
        return sure_share(np.array(values)) if len(values) > 1 else 0.0

    def score_rows(self, rows: Features, skip: sp.csr_array | None = None) -> np.ndarray:
        """Return `scores`, in which the first results are raised or lowered by the second stage."""
        asked, total = sp.csr_array(rows), self.first_.score_rows(rows, skip)
        if self.list_ranker_ is None:
            return total
        first, best = best_items(total, skip, self.depth)
        for number in range(len(total)):
            found = self._list_of(self.first_, asked[[number]], first[number], best[number])
            if found is not None:
                others = np.delete(total[number], found.items)
                total[number, found.items] = self._rank_again(found, others.max(initial=-np.inf))
        return total

    def _rank_again(self, found: FirstAnswers, highest_other: float) -> np.ndarray:
        """Return the scores of the items of a list, none below the items outside it."""
        assert self.list_ranker_ is not None
        second = standardized(self.list_ranker_.predict(found.X, np.zeros(len(found.X), np.int64)))
        scores = joined_scores(found.scores, second, self.share_)
        return scores + max(0.0, highest_other - scores.min())

    def _rank_rows(self, rows: Features, skip: sp.csr_array, items: np.ndarray, scores: np.ndarray) -> None:
        """Fill items and scores (n_rows, k), as `score_rows` has them, from the best items of the first stage."""
        if self.list_ranker_ is None or skip.nnz:  # skipped items count as items that are not in the list
            super()._rank_rows(rows, skip, items, scores)
            return
        asked = sp.csr_array(rows)
        best = self.first_.rank(rows, max(self.depth, items.shape[1]) + 1, threads=1)
        for number, (first, total) in enumerate(zip(best.items, best.scores, strict=True)):
            found = self._list_of(self.first_, asked[[number]], first[: self.depth], total[: self.depth])
            if found is not None:
                others = total[self.depth :][first[self.depth :] >= 0]
                total[: len(found.items)] = self._rank_again(found, others.max(initial=-np.inf))
            order = np.lexsort((first, -total, first < 0))[: items.shape[1]]
            items[number], scores[number] = first[order], total[order]

    def items_with_word(self, column: int) -> np.ndarray | None:
        """Return the rows of the items that contain a word, from the first stage."""
        return self.first_.items_with_word(column)

    def items_with_content(self, row: sp.csr_array) -> np.ndarray | None:
        """Return the rows of the items that contain a content word of the query, from the first stage."""
        return self.first_.items_with_content(row)

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return self.first_.item_factors

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        raise AssertionError("scores of two stages are no sum of fixed factors")

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        """Return the terms of the first stage, and one term of the second."""
        terms = [term if term.member else term._replace(member="first") for term in self.first_._terms(query, a, b)]
        if self.list_ranker_ is None:
            return terms
        scores = self.score_rows(query)[0].astype(np.float64)
        gap = scores[a] - (0.0 if b is None else scores[b]) - sum(term.value for term in terms)
        return [*terms, Term("stage", -1, -1, float(gap), self.rerank)]

    def check_new_items(self) -> None:
        """Raise unless the first stage accepts new items."""
        if hasattr(self, "first_"):
            self.first_.check_new_items()

    def add_items(self, items: Features, **given: Any) -> Self:
        """Make new items rankable; see `BlendRanker.add_items`."""
        checked = check_inputs(items, given, ITEM_INPUTS & self.reads)
        titles, rows = checked["titles"], sp.csr_array(self._checked_new(items)).astype(np.float32)
        self.first_.add_items(rows, **{name: checked[name] for name in checked.keys() & self.first_.reads})
        self.items_ = append_rows(self.items_, rows)
        added = sp.csr_array(rows.shape, dtype=np.float32) if titles is None else widened(titles, rows.shape[1])
        self.titles_ = append_rows(self.titles_, added)
        return self._added(rows.shape[0])

    def _forget_factors(self) -> None:
        super()._forget_factors()
        self.__dict__.pop("_text", None)

    def _check_loaded(self) -> None:
        from tacit.rerank import ListRanker

        if not isinstance(self.first_, CollectionRanker):
            raise TacitError(f"the first stage is a {type(self.first_).__name__}, want a ranker of collections")
        if self.list_ranker_ is not None and not isinstance(self.list_ranker_, ListRanker):
            raise TacitError(f"the second stage is a {type(self.list_ranker_).__name__}, want a ranker of lists")
        found, wanted = (self.first_.n_features_, self.first_.n_items_), (self.n_features_, self.items_.shape[0])
        if found != wanted:
            raise TacitError(
                f"the first stage is for {found[0]} words and {found[1]} items, want {wanted[0]} and {wanted[1]}"
            )
        width = self.list_ranker_ and int(self.list_ranker_.n_features_in_)
        n_columns = len(self._text.names) + 1 + len(_member_columns(self.first_))
        if width is not None and width != n_columns:
            raise TacitError(f"the second stage reads {width} features, want {n_columns}")
        self.check_params()


def _member_columns(first: CollectionRanker) -> tuple[str, ...]:
    """Return the members of a blend whose scores are features; those that need vectors only if it has vectors."""
    if not isinstance(first, BlendRanker):
        return ()
    kinds = [kind for kind in first.member_kinds() if kind.is_column]
    return tuple(kind.name for kind in kinds if first.vectors_dim or not kind.needs_vectors)
