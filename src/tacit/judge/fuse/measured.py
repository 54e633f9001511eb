"""Values of fusions on judged queries, computed once for each fusion.

With sampled judgments (known probabilities below 1), nDCG is estimated query by query: a grade g judged with
probability p counts g / p, in the ranking and in the ideal order, and the value is clipped to 1.
"""

from __future__ import annotations

import numpy as np

from tacit.core import DataError, Judgments, UsageError
from tacit.judge.advise.verdict import judged_only
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.normalizations import Family, weighted_sum
from tacit.metrics import is_sampled, parse_measure
from tacit.metrics.formulas import compute_values
from tacit.metrics.rankings import Rankings
from tacit.metrics.sampled import expected_ideal

JUDGED = "Judged@10"


class Measured:
    """Legs of judged queries, and the values of fusions and single legs on them.

    Parameters
    ----------
    legs : Legs
        Results of all queries.
    judgments : Judgments
        Grades. Queries without any are not measured; judged queries without results are left out and counted.
    measure : str
        Measure for the choice of a fusion.

    Attributes
    ----------
    given, legs : Legs
        Results of all queries, and of the measured queries.
    n_unknown : int
        Judged queries without results in any leg.
    """

    def __init__(self, legs: Legs, judgments: Judgments, measure: str) -> None:
        self.measure = str(parse_measure(measure))
        if is_sampled(judgments):
            judgments = self._check_sampled(judgments)
        judged = {judgments.query_ids[row] for row in np.unique(judgments.query).tolist()}
        known = [row for row, name in enumerate(legs.query_ids) if name in judged]
        self.n_unknown = len(judged) - len(known)
        if judged and not known:
            example = next(name for name in judgments.query_ids if name in judged)
            raise DataError(
                f"none of the {len(judged)} judged queries is in the runs: the judgments have {example!r}, "
                f"the runs have {legs.query_ids[0]!r}"
            )
        self.given, self.legs = legs, legs.take(known)
        self.grades = self.legs.grades(judgments)
        self.judgments = judgments
        self._judged = self._judged_columns(judgments)
        self._values = dict[tuple[Fusion | int, str], np.ndarray]()
        self._normalized = dict[Family, np.ndarray]()
        self._pad = self._padded_rows()
        zeros = bool((judgments.grade == 0).any()) and not is_sampled(judgments)
        self.measures = [self.measure, *([judged_only(self.measure)] if zeros else []), JUDGED]
        self.has_zeros = zeros

    def __len__(self) -> int:
        return len(self.legs)

    def values(self, fusion: Fusion, measure: str = "") -> np.ndarray:
        """Return values of one measure (by default the measure for the choice) for each measured query."""
        return self._cached(fusion, measure or self.measure)

    def leg_values(self, leg: int, measure: str = "") -> np.ndarray:
        """Return the same for one leg alone."""
        return self._cached(leg, measure or self.measure)

    def all_values(self, source: Fusion | int) -> dict[str, np.ndarray]:
        """Return values by measure of a fusion, or of a leg by its number."""
        return {measure: self._cached(source, measure) for measure in self.measures}

    def values_of(self, scores: np.ndarray) -> np.ndarray:
        """Return values of the measure for any scores of the rows, higher first."""
        return self._computed(self._best_first(scores, self._depth(self.measure)), self.measure)

    def normalized(self, family: Family) -> np.ndarray:
        """Return normalised scores of all rows, computed once."""
        if family not in self._normalized:
            self._normalized[family] = np.asfortranarray(family.normalize(self.legs))  # read column by column
        return self._normalized[family]

    def order(self, source: Fusion | int, depth: int | None = None) -> np.ndarray:
        """Return rows by query, best first; for a leg only the rows that it returned.

        With `depth`, rows of a fusion below that rank may be left out.
        """
        if isinstance(source, Fusion):
            return self._best_first(self._scores(source), depth)
        ranks = self.legs.ranks[:, source]
        order = np.lexsort((ranks, self.legs.query))  # NaN last within the query
        return order[~np.isnan(ranks[order])]

    def _best_first(self, scores: np.ndarray, depth: int | None) -> np.ndarray:
        if depth is None or depth >= self._pad.shape[1]:
            return np.lexsort((-scores, self.legs.query))
        padded = np.append(scores, -np.inf)[self._pad]  # index -1 is the appended element: no row
        bar = -np.partition(-padded, depth - 1, axis=1)[:, depth - 1]
        rows = np.flatnonzero(scores >= bar[self.legs.query])  # including all that tie with the last one
        return rows[np.lexsort((-scores[rows], self.legs.query[rows]))]

    @staticmethod
    def _depth(measure: str) -> int | None:
        """Return the rank below which results do not count; None if all do."""
        wanted = parse_measure(measure)
        return None if wanted.judged_only else wanted.cutoff

    def _scores(self, fusion: Fusion) -> np.ndarray:
        if fusion.family.is_linear:
            return weighted_sum(self.normalized(fusion.family), fusion.weights)
        return fusion.scores(self.legs)

    def _padded_rows(self) -> np.ndarray:
        """Return the rows of each query in one line of a matrix, -1 where a query has fewer."""
        counts = np.diff(self.legs.starts)
        places = np.arange(counts.max(initial=0))[None, :]
        return np.where(places < counts[:, None], self.legs.starts[:-1, None] + places, -1)

    def _cached(self, source: Fusion | int, measure: str) -> np.ndarray:
        if (source, measure) not in self._values:
            order = self.order(source, self._depth(measure))
            sampled = self._chance is not None and measure == self.measure
            found = self._estimated(order) if sampled else self._computed(order, measure)
            self._values[source, measure] = found
        return self._values[source, measure]

    def _computed(self, order: np.ndarray, measure: str) -> np.ndarray:
        query = self.legs.query[order]
        place = np.arange(len(query)) - np.searchsorted(query, query, side="left")
        judged_query, judged_grade, judged_row = self._judged
        score = -np.arange(len(order), dtype=np.float64)
        of_row = np.full(len(self.legs.doc) + 1, -np.inf)
        of_row[order] = score
        rankings = Rankings(
            len(self.legs), query, place, score, self.grades[order], judged_query, judged_grade, of_row[judged_row]
        )
        rankings.__dict__["ideal"] = self._ideal  # the same for every order
        return compute_values(parse_measure(measure), rankings)

    def _judged_columns(self, judgments: Judgments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return query, grade and row of all judged pairs of the measured queries; the row is -1 if no leg has it."""
        query_row = {name: row for row, name in enumerate(self.legs.query_ids)}
        doc_row = {name: row for row, name in enumerate(self.legs.doc_ids)}
        q = np.array([query_row.get(name, -1) for name in judgments.query_ids], np.int64)[judgments.query]
        d = np.array([doc_row.get(name, -1) for name in judgments.doc_ids], np.int64)[judgments.doc]
        kept = (q >= 0) & (judgments.grade >= 0)
        q, d, grade = q[kept], d[kept], judgments.grade[kept]
        row_of = {
            key: row for row, key in enumerate(zip(self.legs.query.tolist(), self.legs.doc.tolist(), strict=True))
        }
        rows = np.array([row_of.get(key, -1) for key in zip(q.tolist(), d.tolist(), strict=True)], np.int64)
        self._ideal = Rankings(len(self.legs), *(np.empty(0, np.int64),) * 4, q, grade, grade).ideal
        self._chance = None
        if is_sampled(judgments):
            assert judgments.probability is not None
            self._chance = judgments.probability[kept]
        return q, grade, rows

    def _check_sampled(self, judgments: Judgments) -> Judgments:
        """Return the judgments with a probability; raise for a measure that cannot be estimated query by query."""
        if parse_measure(self.measure).name != "nDCG" or parse_measure(self.measure).judged_only:
            raise UsageError(f"{self.measure} cannot be estimated from sampled judgments query by query, want nDCG")
        assert judgments.probability is not None
        return judgments.select(np.ones(len(judgments.query_ids), bool), ~np.isnan(judgments.probability))

    def _estimated(self, order: np.ndarray) -> np.ndarray:
        """Estimate nDCG from sampled judgments, each grade divided by its probability."""
        assert self._chance is not None
        cutoff = parse_measure(self.measure).cutoff or len(order)
        query = self.legs.query[order]
        place = np.arange(len(query)) - np.searchsorted(query, query, side="left")
        judged_query, grade, row = self._judged
        inflated = np.zeros(len(self.legs.doc) + 1)
        inflated[row] = grade / self._chance
        inflated[-1] = 0
        top = place < cutoff
        dcg = np.bincount(query[top], inflated[order[top]] / np.log2(place[top] + 2), len(self.legs))
        ideal = np.array([
            expected_ideal(grade[judged_query == q], self._chance[judged_query == q], cutoff)
            for q in range(len(self.legs))
        ])  # fmt: skip
        return np.minimum(np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0), 1)
