"""False claims of `tacit advise`, and coverage of its intervals, by simulation on stored scores of the members.

    python benchmarks/advise_claims.py --data DIR --out FILE [--simulations 1000] [--corpora cacm,cisi,…] [--queries 30]

A simulation runs the whole procedure of `advise` on some queries of a collection: the weights of `blend` (members
bm25, latent, feedback) are learned again in every fold, and the choice among `bm25`, `blend` and `blend+labels` is part
of it. Three kinds of simulations differ in the judgments:

    collection  the judged documents of each query are replaced by as many, drawn uniformly from the collection
    candidates  they are drawn from the documents that some system ranks among its first 50
    judged      they are the real ones; queries are drawn with replacement, equal ones stay in one fold

In the first two no system is better than another: every claim is false. Upper limits are those of Clopper and Pearson,
95 %, one-sided. In the third, an interval covers if it contains the true gain: that of the systems that the folds chose
and fitted, over all queries of the collection.
The last table has label-free systems, whose gain over all queries of a collection is known: the share of samples whose
interval contains it, by the number of queries, and of sequences of 200 queries in which the confidence sequence
contains it at every look, one after each ten queries.

FILE gets one JSON line for each simulation. Simulations that it has are not made again, so that an interrupted run goes
on and more of them can be added. `--simulations` counts each kind over all collections.
"""

import argparse
import json
import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.stats import beta

from tacit.experiments.questions.task import QuestionTask, read_questions
from tacit.judge.advise.advice import make_advice
from tacit.judge.advise.procedure import CrossValidation
from tacit.judge.advise.verdict import cautious_interval
from tacit.metrics.sequences import confidence_sequence
from tacit.retrieve import BlendRanker, Bm25Ranker
from tacit.retrieve.blend.members import best_items
from tacit.retrieve.blend.training import N_FIRST, N_FOLDS, STRENGTHS, SURE, TrainingQuery, learn_weights, preferences
from tacit.retrieve.blend.weights import SCALE_STRENGTH

MEMBERS, MEASURE, KINDS = ("bm25", "latent", "feedback"), "nDCG@10", ("collection", "candidates", "judged")
CORPORA = "cacm,cranfield,cisi,cystic_fibrosis,chorus_products,traceability"
EMPTY = np.empty((0, len(MEMBERS))), np.empty(0)
DISCOUNTS = 1 / np.log2(np.arange(2, 12))
SIZES = (10, 20, 30, 50)  # of samples of queries, in the last table


class World(NamedTuple):
    """Scores of a collection: of the members (queries, items, members) and of BM25; candidates; relevant items."""

    members: np.ndarray
    bm25: np.ndarray
    candidates: list[np.ndarray]
    relevant: list[np.ndarray]
    prior: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Queries with a relevant item."""
        return np.array([row for row, items in enumerate(self.relevant) if len(items)])


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
        self._weights: dict[bytes, np.ndarray] = {}

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Values of some queries, with weights learned from others."""
        weights = self.weights(train)
        return {MEASURE: np.array([value(self.world, self.queries[row], self.relevant[row], weights) for row in test])}

    def weights(self, train: np.ndarray) -> np.ndarray | None:
        """Weights of the members, learned from some queries if the candidate learns; None: bm25."""
        if not self.learns:
            return None if self.name == "bm25" else self.world.prior
        if train.tobytes() not in self._weights:
            self._weights[train.tobytes()] = self._learner.learn(train)
        return self._weights[train.tobytes()]

    @cached_property
    def _learner(self) -> "Learner":
        return Learner(self._examples, self.world.prior)

    @cached_property
    def _examples(self) -> list[TrainingQuery]:
        examples = []
        for query, relevant in zip(self.queries, self.relevant, strict=True):
            items = self.world.candidates[query]
            relevance = np.where(np.isin(items, relevant), 1.0, np.nan)
            examples.append(TrainingQuery(self.world.members[query, items], relevance, len(relevant)))
        return examples


class Learner:
    """Weights of a blend as `learn_weights` finds them, for many sets of the same queries.

    Preferences are made once, and the convex problem is solved by Newton's method in compiled code.
    """

    def __init__(self, examples: list[TrainingQuery], prior: np.ndarray) -> None:
        self.examples, self.prior = examples, prior
        self.usable = np.array([0 < np.count_nonzero(e.relevance > 0) < len(e.relevance) for e in examples])
        pieces = [preferences(e) if usable else EMPTY for e, usable in zip(examples, self.usable, strict=True)]
        self.starts = np.cumsum([0, *(len(importance) for _, importance in pieces)])
        self.differences = np.concatenate([differences for differences, _ in pieces])
        self.importance = np.concatenate([importance for _, importance in pieces])

    def learn(self, train: np.ndarray) -> np.ndarray:
        """The weights learned from some queries; the strength of the prior is chosen as in `choose_prior`."""
        usable = train[self.usable[train]]
        return self._fit(usable, self._strength(usable)) if len(usable) else self.prior.copy()

    def _fit(self, queries: np.ndarray, strength: float) -> np.ndarray:
        if math.isinf(strength):
            return self.prior
        found = solve(self.differences, self.importance, self.starts, queries, self.prior, strength, SCALE_STRENGTH)
        return found * (self.prior.sum() / found.sum()) if found.sum() > 0 else self.prior

    def _strength(self, queries: np.ndarray) -> float:
        if len(queries) < N_FOLDS:
            return math.inf
        values = np.empty((len(STRENGTHS), len(queries)))
        for fold in range(N_FOLDS):
            held = np.arange(len(queries)) % N_FOLDS == fold
            for row, strength in enumerate(STRENGTHS):
                weights = self._fit(queries[~held], strength)
                for place in np.flatnonzero(held):
                    example = self.examples[queries[place]]
                    values[row, place] = precision(example.scores @ weights, example.relevance, example.n_relevant)
        best = int(np.argmax(values.mean(axis=1)))
        gains = values[best] - values[0]
        sure = gains.mean() > SURE * gains.std(ddof=1) / math.sqrt(len(queries))
        return STRENGTHS[best if sure else 0]


@njit(cache=True)
def solve(
    differences: np.ndarray, importance: np.ndarray, starts: np.ndarray, queries: np.ndarray, prior: np.ndarray,
    strength: float, along: float,
) -> np.ndarray:  # fmt: skip
    """The problem of `fit_weights` by projected Newton steps, halved until the objective falls."""
    n = len(prior)
    unit = prior / np.sqrt((prior**2).sum())
    precision_matrix = strength * np.eye(n) + (along - strength) * np.outer(unit, unit)
    weights, step, lowest = prior.copy(), np.zeros(n), np.inf
    best, gradient, curvature = prior.copy(), np.zeros(n), np.eye(n)
    for _ in range(200):
        weights = np.maximum(best + step, 0.0)
        away = weights - prior
        new_gradient, new_curvature = precision_matrix @ away, precision_matrix.copy()
        total = 0.5 * (away @ new_gradient)
        for query in queries:
            for k in range(starts[query], starts[query + 1]):
                margin = 0.0
                for i in range(n):
                    margin += differences[k, i] * weights[i]
                small = math.exp(-abs(margin))
                total += importance[k] * (math.log1p(small) + max(-margin, 0.0))
                share = (small if margin > 0 else 1.0) / (1 + small)
                for i in range(n):
                    new_gradient[i] -= importance[k] * share * differences[k, i]
                    for j in range(n):
                        new_curvature[i, j] += (
                            importance[k] * share * (1 - share) * differences[k, i] * differences[k, j]
                        )
        if total > lowest + 1e-14 * abs(lowest):
            step *= 0.5
            if np.abs(step).max() < 1e-12:
                return best
            continue
        moved = np.abs(weights - best).max()
        done = lowest < np.inf and moved < 1e-9
        best, lowest, gradient, curvature = weights, total, new_gradient, new_curvature
        if done:
            return best
        for i in range(n):
            if best[i] == 0.0 and gradient[i] > 0:  # held at its bound
                curvature[i, :] = 0.0
                curvature[:, i] = 0.0
                curvature[i, i] = 1.0
                gradient[i] = 0.0
        step = -np.linalg.solve(curvature, gradient)
    return best


@njit(cache=True)
def precision(scores: np.ndarray, relevance: np.ndarray, n_relevant: int) -> float:
    """Average precision of candidates, as `training.average_precision`."""
    found, total = 0, 0.0
    for rank, item in enumerate(np.argsort(-scores, kind="mergesort")):
        if relevance[item] > 0:
            found += 1
            total += found / (rank + 1)
    return total / n_relevant


def check_learner(world: World) -> None:
    """Raise unless the weights are those of `learn_weights`, on the real judgments."""
    known = world.known[:40]
    system = Simulated("blend+labels", world, known, [world.relevant[row] for row in known])
    for train in (np.arange(len(known)), np.arange(0, len(known), 2)):
        wanted = learn_weights([system._examples[row] for row in train], world.prior)[0]
        np.testing.assert_allclose(system.weights(train), wanted, atol=1e-3)  # L-BFGS-B stops earlier


def value(world: World, query: int, relevant: np.ndarray, weights: np.ndarray | None) -> float:
    """nDCG@10 of binary judgments: of the members with some weights, or of bm25."""
    scores = world.bm25[query] if weights is None else world.members[query] @ weights
    found = np.isin(best_items(scores[None].astype(np.float32), None, 10)[0][0], relevant)
    return float((found * DISCOUNTS[: len(found)]).sum() / max(DISCOUNTS[: max(len(relevant), 1)].sum(), 1e-12))


def true_gain(validation: CrossValidation, names: list[str], baseline: Simulated, systems: list[Simulated]) -> float:
    """Gain over the baseline, on all queries of the collection, of systems by name, as fitted in the folds."""
    world, by_name, total = baseline.world, {system.name: system for system in systems}, 0.0
    for fold, name in enumerate(names):
        held = validation.fold_of == fold
        fitted = (by_name[name].weights(np.flatnonzero(~held)), baseline.weights(np.flatnonzero(~held)))
        new, old = ([value(world, query, world.relevant[query], w) for query in world.known] for w in fitted)
        total += float(held.mean() * (np.mean(new) - np.mean(old)))
    return total


def simulate(world: World, kind: str, n_queries: int, rng: np.random.Generator) -> dict[str, Any]:
    """What one simulation claims, with gains and intervals."""
    queries = rng.choice(world.known, n_queries, replace=kind == "judged")
    relevant = [world.relevant[query] for query in queries]
    if kind != "judged":
        n_items = world.bm25.shape[1]
        pools = [world.candidates[query] if kind == "candidates" else np.arange(n_items) for query in queries]
        relevant = [
            rng.choice(pool, min(len(items), len(pool) // 2), replace=False)
            for pool, items in zip(pools, relevant, strict=True)
        ]
    systems = [Simulated(name, world, queries, relevant) for name in ("bm25", "blend", "blend+labels")]
    bm25, free, learned = systems
    folds = {"seed": int(rng.integers(2**31)), "groups": queries.tolist()}
    wanted = {"n_queries": n_queries, "measure": MEASURE}
    advice = make_advice(
        systems, label_free=free, learned=learned, has_zeros=False, seconds_left=lambda: 0.0, **wanted, **folds
    )
    found = {"helps": advice.recommended.to_json(), "labels": advice.labels.to_json()}
    if kind == "judged":
        validation = CrossValidation(systems, **wanted, **folds)
        found["helps"]["truth"] = true_gain(validation, validation.chosen()[1], bm25, systems)
        found["labels"]["truth"] = true_gain(validation, [learned.name] * validation.n_folds, free, systems)
    return found


def run(args: argparse.Namespace, worlds: dict[str, World]) -> list[dict[str, Any]]:
    """All simulations, those of FILE among them."""
    known = {}
    if args.out.exists():
        lines = map(json.loads, args.out.read_text().splitlines())
        known = {(line["kind"], line["corpus"], line["queries"], line["number"]): line for line in lines}
    wanted = []
    with args.out.open("a") as file:
        for number, corpus, kind in plan(args, list(worlds)):
            key = kind, corpus, args.queries, number
            if key not in known:
                seeds = [args.seed, KINDS.index(kind), CORPORA.split(",").index(corpus), number]
                found = simulate(worlds[corpus], kind, args.queries, np.random.default_rng(seeds))
                known[key] = dict(zip(("kind", "corpus", "queries", "number"), key, strict=True)) | found
                print(json.dumps(known[key]), file=file, flush=True)
            wanted.append(known[key])
    return wanted


def plan(args: argparse.Namespace, corpora: list[str]) -> Iterator[tuple[int, str, str]]:
    """Number, collection and kind of the simulations, each kind spread evenly over the collections."""
    for kind in args.kinds.split(","):
        for place in range(args.simulations):
            yield place // len(corpora), corpora[place % len(corpora)], kind


def print_claims(found: list[dict[str, Any]]) -> None:
    """Shares of false claims."""
    print("| judgments | collection | simulations | helps, false | upper limit | labels.help, false | upper limit |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in KINDS[:2]:
        for corpus in [*dict.fromkeys(line["corpus"] for line in found), "all"]:
            chosen = [line for line in found if line["kind"] == kind and corpus in (line["corpus"], "all")]
            cells = []
            for claim in ("helps", "labels") if chosen else ():
                count = sum(line[claim]["help"] for line in chosen)
                cells += [f"{count / len(chosen):.3f}", f"{beta.ppf(0.95, count + 1, len(chosen) - count):.3f}"]
            print(f"| {kind} | {corpus} | {len(chosen):,} | " + " | ".join(cells) + " |", flush=True)


def print_coverage(found: list[dict[str, Any]]) -> None:
    """Shares of intervals that contain the true gain, by the whole procedure on real judgments."""
    print("\n| collection | simulations | gain | interval covers | gain of labels | interval covers |")
    print("| --- | --- | --- | --- | --- | --- |")
    covered: dict[str, list[np.ndarray]] = {"helps": [], "labels": []}
    for corpus in dict.fromkeys(line["corpus"] for line in found):
        chosen = [line for line in found if line["kind"] == "judged" and line["corpus"] == corpus]
        cells = []
        for claim, parts in covered.items() if chosen else ():
            truth = np.array([line[claim]["truth"] for line in chosen])
            low, high = np.array([line[claim]["interval"] for line in chosen]).T
            parts.append((low <= truth) & (truth <= high))
            cells += [f"{truth.mean():+.3f}", f"{parts[-1].mean():.3f}"]
        print(f"| {corpus} | {len(chosen):,} | " + " | ".join(cells) + " |")
    if covered["helps"]:
        helps, labels = (np.concatenate(parts) for parts in covered.values())
        print(f"| all | {len(helps):,} | | {helps.mean():.3f} | | {labels.mean():.3f} |", flush=True)


def print_known_gains(worlds: dict[str, World], n_simulations: int, seed: int) -> None:
    """Coverage for systems whose gain over all queries is known."""
    print("\n| collection | " + " | ".join(f"{n} queries" for n in SIZES) + " | sequence, every look |")
    print("| --- " * (len(SIZES) + 2) + "|")
    for corpus, world in worlds.items():
        rng = np.random.default_rng([seed, len(KINDS), CORPORA.split(",").index(corpus)])
        free, bm25 = (
            Simulated(name, world, world.known, [world.relevant[row] for row in world.known])
            for name in ("blend", "bm25")
        )
        everybody, nobody = np.arange(len(world.known)), np.empty(0, np.int64)
        gains = free.values(nobody, everybody)[MEASURE] - bm25.values(nobody, everybody)[MEASURE]
        truth, shares = gains.mean(), []
        for size in SIZES:
            ends = np.array([cautious_interval(rng.choice(gains, size)) for _ in range(n_simulations)])
            shares.append(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
        looks = 0
        for _ in range(n_simulations):
            lows, highs = confidence_sequence(rng.choice(gains, 200), -1.0, 1.0, 0.95)
            looks += bool(((lows[9::10] <= truth) & (truth <= highs[9::10])).all())
        cells = " | ".join(f"{share:.3f}" for share in [*shares, looks / n_simulations])
        print(f"| {corpus} | {cells} |", flush=True)


def main() -> None:
    """Simulate, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--corpora", default=CORPORA)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    worlds = {name: make_world(read_questions(args.data, name, threads=1)) for name in args.corpora.split(",")}
    for world in worlds.values():
        check_learner(world)
    found = run(args, worlds)
    print_claims(found)
    print_coverage(found)
    print_known_gains(worlds, args.simulations, args.seed)


if __name__ == "__main__":
    main()
