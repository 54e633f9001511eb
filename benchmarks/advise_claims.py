"""False claims of `tacit advise`, and coverage of its intervals, by simulation on stored scores of the members.

    python benchmarks/advise_claims.py --data DIR [--simulations 1000] [--corpora cacm,cisi,cranfield] [--queries 30]

Claims. A simulation draws queries of a collection and replaces the judged documents of each by as many documents drawn
uniformly: from the whole collection (`collection`), or from those that some system ranks among its first 50
(`candidates`). No system is then better than another. The whole procedure of `advise` runs on these judgments: the
weights of `blend` are learned again in every fold, and the choice among `bm25`, `blend` and `blend+labels` is part of
it. A claim that the chosen system helps, or that the judgments help, is false. The upper limit is the 95 % limit of
Clopper and Pearson, one-sided.

Coverage. The gain of `blend` without labels over `bm25` on all queries of a collection is taken for true. The first
share is that of samples of queries, with replacement, whose interval contains it; the second that of sequences of 200
queries in which the confidence sequence contains it at every look, one after each ten queries.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from tacit.experiments.questions.task import QuestionTask, read_questions
from tacit.judge.advise.advice import make_advice
from tacit.judge.advise.verdict import t_interval
from tacit.metrics.sequences import confidence_sequence
from tacit.retrieve import BlendRanker, Bm25Ranker
from tacit.retrieve.blend.members import best_items
from tacit.retrieve.blend.training import N_FIRST, TrainingQuery, learn_weights

MEMBERS, MEASURE = ("bm25", "latent", "feedback"), "nDCG@10"
DISCOUNTS = 1 / np.log2(np.arange(2, 12))


class World(NamedTuple):
    """Scores of a collection: of the members (queries, items, members) and of BM25; candidates; relevant items."""

    members: np.ndarray
    bm25: np.ndarray
    candidates: list[np.ndarray]
    relevant: list[np.ndarray]
    prior: np.ndarray


def make_world(task: QuestionTask) -> World:
    """The scores of all documents for all queries, computed once."""
    queries, items = task.features("counts", stem=True)
    blend = BlendRanker(threads=1).fit(None, items, titles=task.features("titles", stem=True)[1])
    parts = [factors[:, None] * scores for _, scores, factors in blend._member_scores(queries, None, MEMBERS)]
    prior = blend.weights_[: len(MEMBERS)].astype(np.float64)
    total = sum(weight * part for weight, part in zip(prior, parts, strict=True))
    bm25 = Bm25Ranker().fit(None, items).scores(queries)
    firsts = np.hstack([best_items(part.astype(np.float32), None, N_FIRST)[0] for part in (total, bm25, *parts)])
    relevant = [np.flatnonzero(row >= 1) for row in task._grades(np.arange(len(task.queries)))]
    return World(np.stack(parts, axis=2), bm25, [np.unique(row[row >= 0]) for row in firsts], relevant, prior)


class Simulated:
    """A candidate of `advise` on some queries with their own relevant items; see `judge.advise.procedure`."""

    def __init__(self, name: str, world: World, queries: np.ndarray, relevant: list[np.ndarray]) -> None:
        self.name, self.world, self.queries, self.relevant = name, world, queries, relevant
        self.learns = name == "blend+labels"

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Values of some queries, with weights learned from others."""
        weights = learn_weights([self._example(row) for row in train], self.world.prior)[0] if self.learns else None
        return {MEASURE: np.array([self._value(row, weights) for row in test])}

    def _example(self, row: int) -> TrainingQuery:
        items = self.world.candidates[self.queries[row]]
        relevance = np.where(np.isin(items, self.relevant[row]), 1.0, np.nan)
        return TrainingQuery(self.world.members[self.queries[row], items], relevance, len(self.relevant[row]))

    def _value(self, row: int, weights: np.ndarray | None) -> float:
        query, used = self.queries[row], self.world.prior if weights is None else weights
        scores = self.world.bm25[query] if self.name == "bm25" else self.world.members[query] @ used
        first = np.argsort(-scores, kind="stable")[:10]
        return ndcg(np.isin(first, self.relevant[row]), len(self.relevant[row]))


def ndcg(found: np.ndarray, n_relevant: int) -> float:
    """nDCG@10 of binary judgments."""
    return float((found * DISCOUNTS[: len(found)]).sum() / max(DISCOUNTS[: max(n_relevant, 1)].sum(), 1e-12))


def false_claims(world: World, n_queries: int, null: str, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether one simulation claims that a system helps, and that judgments help."""
    known = np.array([row for row, items in enumerate(world.relevant) if len(items)])
    queries = rng.choice(known, n_queries, replace=False)
    relevant = []
    for query in queries:
        pool = np.arange(world.bm25.shape[1]) if null == "collection" else world.candidates[query]
        relevant.append(rng.choice(pool, min(len(world.relevant[query]), len(pool) // 2), replace=False))
    bm25, free, learned = (Simulated(name, world, queries, relevant) for name in ("bm25", "blend", "blend+labels"))
    advice = make_advice(
        [bm25, free, learned],
        label_free=free,
        learned=learned,
        n_queries=n_queries,
        measure=MEASURE,
        has_zeros=False,
        seconds_left=lambda: 0.0,
        seed=int(rng.integers(2**31)),
    )
    return advice.recommended.help, advice.labels.help


def coverage(world: World, n_queries: int, n_simulations: int, rng: np.random.Generator) -> tuple[float, float]:
    """Shares of fixed samples and of sequences whose intervals contain the gain over all queries."""
    known = np.array([row for row, items in enumerate(world.relevant) if len(items)])
    relevant = [world.relevant[row] for row in known]
    free, bm25 = (Simulated(name, world, known, relevant) for name in ("blend", "bm25"))
    everybody, nobody = np.arange(len(known)), np.empty(0, np.int64)
    gains = free.values(nobody, everybody)[MEASURE] - bm25.values(nobody, everybody)[MEASURE]
    truth, fixed, sequential = gains.mean(), 0, 0
    for _ in range(n_simulations):
        low, high = t_interval(rng.choice(gains, n_queries))
        fixed += low <= truth <= high
        lows, highs = confidence_sequence(rng.choice(gains, 200), -1.0, 1.0, 0.95)
        sequential += bool(((lows[9::10] <= truth) & (truth <= highs[9::10])).all())
    return fixed / n_simulations, sequential / n_simulations


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", default="cacm,cisi,cranfield")
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--simulations", type=int, default=1000, help="in all, divided among the collections")
    parser.add_argument("--nulls", default="collection,candidates")
    args = parser.parse_args()
    worlds = {name: make_world(read_questions(args.data, name, threads=1)) for name in args.corpora.split(",")}
    print("| collection | fixed interval covers | sequence covers at every look |\n| --- | --- | --- |")
    for number, (name, world) in enumerate(worlds.items()):
        shares = coverage(world, args.queries, args.simulations, np.random.default_rng([1, number]))
        print(f"| {name} | {shares[0]:.3f} | {shares[1]:.3f} |", flush=True)
    print("\n| null | simulations | helps, false | upper limit | judgments help, false | upper limit |")
    print("| --- | --- | --- | --- | --- | --- |")
    for null in args.nulls.split(","):
        names = [list(worlds)[number % len(worlds)] for number in range(args.simulations)]
        found = np.array([
            false_claims(worlds[name], args.queries, null, np.random.default_rng([2, number]))
            for number, name in enumerate(names)
        ])  # fmt: skip
        cells = []
        for count in found.sum(axis=0).tolist():
            cells += [f"{count / len(found):.3f}", f"{beta.ppf(0.95, count + 1, len(found) - count):.3f}"]
        print(f"| {null} | {len(found)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
