"""False claims of `tacit advise`, and coverage of its intervals, by simulation on stored scores of the members.

    python benchmarks/advise_claims.py [--data DIR] [--out FILE] [--simulations 60] [--corpora cacm,…] [--queries 30]

A simulation runs the whole procedure of `advise` on some queries of a collection: the weights of `blend` are learned
again in every fold (see `blend_simulation`), and the choice among `bm25`, `blend` and `blend+labels` is included. Three
kinds of simulations differ in the judgments:

    collection  the judged documents of each query are replaced by the same number, drawn uniformly from the collection
    candidates  they are drawn from the documents in the first 50 results of any system
    judged      the real judgments; queries are drawn with replacement, and copies of one query stay in one fold

In the first two no system is better than another, so every claim is false. Upper limits are one-sided 95% limits of
Clopper and Pearson. In the third, an interval covers if it contains the true gain over all queries of the collection:
either of the systems chosen and fitted in the folds, or of the recommended system, fitted on the whole sample. The gain
of learning over the label-free blend is measured on queries that were not used for training. The last two tables have
label-free systems, whose gain over all queries of a collection is known. One has the share of samples whose interval
contains it, by the number of queries, and the share of sequences of 200 queries in which the confidence sequence
contains it at every look, one look per ten queries. The other has the share of samples whose interval contains the gain
of the systems chosen by the folds among the two, for the procedure's and the widened interval.

FILE gets one JSON line for each simulation. Simulations already in it are not repeated, so an interrupted run can be
resumed or extended. `--simulations` counts each kind over all collections. DIR defaults to $TACIT_DATA.
"""

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

from blend_simulation import MEASURE, Simulated, World, check_learner, make_world
from tacit.experiments.collections.question_task import read_questions
from tacit.judge.advise.advice import make_advice
from tacit.judge.advise.procedure import CrossValidation
from tacit.judge.advise.verdict import Gain, cautious_interval, widen_interval
from tacit.metrics.confidence_sequences import confidence_sequence

KINDS = ("collection", "candidates", "judged")
CORPORA = "cacm,cranfield,cisi,cystic_fibrosis,chorus_products,traceability"
SIZES = (10, 20, 30, 50)  # sizes of samples of queries, in the last tables


def true_gain(system: Simulated, baseline: str, train: np.ndarray) -> float:
    """Return the gain over all queries of the collection; for learning systems, over queries not used for training."""
    world, tables = system.world, system.world.label_free
    gain = float((tables["blend" if system.learns else system.name] - tables[baseline]).mean())
    if not system.learns:
        return gain
    new = np.flatnonzero(~np.isin(world.known, system.queries[train]))
    fitted = system.fitted(train)
    values = [system.value(query, world.relevant[query], fitted) for query in world.known[new]]
    return gain + float(np.mean(values - tables["blend"][new]))


def mean_true_gain(validation: CrossValidation, names: list[str], baseline: str) -> float:
    """Return the mean true gain of systems by name, as fitted in the folds."""
    by_name = {system.name: system for system in validation.candidates}
    gains = [true_gain(by_name[name], baseline, validation._split(fold)[0]) for fold, name in enumerate(names)]
    return float(np.mean(np.array(gains)[validation.fold_of]))


def simulate(world: World, kind: str, n_queries: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the claims of one simulation, with gains and intervals."""
    queries = rng.choice(world.known, n_queries, replace=kind == "judged")
    relevant = [world.relevant[query] for query in queries]
    if kind != "judged":
        n_items = world.bm25.shape[1]
        pools = [world.pools[query] if kind == "candidates" else np.arange(n_items) for query in queries]
        relevant = [
            rng.choice(pool, min(len(items), len(pool) // 2), replace=False)
            for pool, items in zip(pools, relevant, strict=True)
        ]
    systems = [Simulated(name, world, queries, relevant) for name in ("bm25", "blend", "blend+labels")]
    _, free, learned = systems
    folds = {"seed": int(rng.integers(2**31)), "groups": queries.tolist()}
    wanted = {"n_queries": n_queries, "measure": MEASURE}
    advice = make_advice(systems, label_free=free, learned=learned, has_zeros=False, curve=(), **wanted, **folds)
    found = {"helps": advice.recommended.to_json(), "labels": advice.labels.to_json()}
    if kind == "judged":
        validation, everybody = CrossValidation(systems, **wanted, **folds), np.arange(n_queries)
        system = next(system for system in systems if system.name == advice.system)
        found["helps"]["truth"] = mean_true_gain(validation, validation.chosen()[1], "bm25")
        found["helps"]["truth_of_system"] = true_gain(system, "bm25", everybody)
        found["labels"]["truth"] = mean_true_gain(validation, [learned.name] * validation.n_folds, free.name)
        found["labels"]["truth_of_system"] = true_gain(learned, free.name, everybody)
    return found


def run(args: argparse.Namespace, worlds: dict[str, World]) -> list[dict[str, Any]]:
    """Return all simulations, including those in FILE."""
    known = {}
    if args.out is not None and args.out.exists():
        lines = map(json.loads, args.out.read_text().splitlines())
        known = {(line["kind"], line["corpus"], line["queries"], line["number"]): line for line in lines}
    wanted = []
    with Path(os.devnull if args.out is None else args.out).open("a") as file:
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
    """Return number, collection and kind of the simulations, each kind spread evenly over the collections."""
    for kind in args.kinds.split(","):
        for place in range(args.simulations):
            yield place // len(corpora), corpora[place % len(corpora)], kind


def print_claims(found: list[dict[str, Any]]) -> None:
    """Print shares of false claims."""
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
    """Print shares of intervals that contain the true gain, by the whole procedure on real judgments."""
    columns = [(claim, truth) for claim in ("helps", "labels") for truth in ("truth", "truth_of_system")]
    print(
        "\n| collection | simulations | " + " | ".join(f"{claim}: {truth}, covered" for claim, truth in columns) + " |"
    )
    print("| --- " * (len(columns) + 2) + "|")
    judged = [line for line in found if line["kind"] == "judged"]
    for corpus in [*dict.fromkeys(line["corpus"] for line in judged), "all"] if judged else ():
        chosen = [line for line in judged if corpus in (line["corpus"], "all")]
        cells = []
        for claim, truth in columns:
            truths = np.array([line[claim][truth] for line in chosen])
            low, high = np.array([line[claim]["interval"] for line in chosen]).T
            cells.append(f"{truths.mean():+.3f}, {np.mean((low <= truths) & (truths <= high)):.3f}")
        print(f"| {corpus} | {len(chosen):,} | " + " | ".join(cells) + " |", flush=True)


def print_known_gains(worlds: dict[str, World], n_simulations: int, seed: int) -> None:
    """Print coverage for systems whose gain over all queries is known."""
    print("\n| collection | " + " | ".join(f"{n} queries" for n in SIZES) + " | sequence, every look |")
    print("| --- " * (len(SIZES) + 2) + "|")
    for corpus, world in worlds.items():
        rng = np.random.default_rng([seed, len(KINDS), CORPORA.split(",").index(corpus)])
        gains = world.label_free["blend"] - world.label_free["bm25"]
        truth, shares = gains.mean(), []
        for size in SIZES:
            ends = np.array([cautious_interval(rng.choice(gains, size)) for _ in range(n_simulations)])
            shares.append(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
        looks = 0
        for _ in range(n_simulations):
            sample = rng.choice(gains, 200)
            limits = (confidence_sequence(sample[:n], -1.0, 1.0, 0.95) for n in range(10, 201, 10))
            looks += all(low <= truth <= high for low, high in limits)
        cells = " | ".join(f"{share:.3f}" for share in [*shares, looks / n_simulations])
        print(f"| {corpus} | {cells} |", flush=True)


class Known(NamedTuple):
    """A candidate of `advise` with known values."""

    name: str
    table: np.ndarray
    learns: bool = False

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Return values of some queries."""
        return {MEASURE: self.table[test]}


def print_choices(worlds: dict[str, World], n_simulations: int, seed: int) -> None:
    """Print coverage of the gain of the folds' systems, chosen among two label-free ones: procedure's, and widened."""
    print("\n| collection | " + " | ".join(f"{n} queries: alone, widened" for n in SIZES) + " |")
    print("| --- " * (len(SIZES) + 1) + "|")
    for corpus, world in worlds.items():
        rng = np.random.default_rng([seed, len(KINDS) + 1, CORPORA.split(",").index(corpus)])
        gains, cells = world.label_free["blend"] - world.label_free["bm25"], []
        for size in SIZES:
            found = np.array([covers_choice(gains, rng.choice(len(gains), size), rng) for _ in range(n_simulations)])
            cells.append("{:.3f}, {:.3f}".format(*found.mean(axis=0)))
        print(f"| {corpus} | " + " | ".join(cells) + " |", flush=True)


def covers_choice(gains: np.ndarray, queries: np.ndarray, rng: np.random.Generator) -> tuple[bool, bool]:
    """Return whether the intervals of one sample contain the gain of the systems chosen by its folds."""
    systems = [Known("bm25", np.zeros(len(queries))), Known("blend", gains[queries])]
    folds = {"seed": int(rng.integers(2**31)), "groups": queries.tolist()}
    validation = CrossValidation(systems, len(queries), MEASURE, **folds)
    values, names = validation.chosen()
    truth = float(np.mean([gains.mean() * (names[fold] == "blend") for fold in validation.fold_of]))
    alone, system = (
        Gain(False, 0.0, cautious_interval(found[MEASURE]), 1.0)
        for found in (values, validation.values(validation.best()))
    )
    intervals = alone.interval, widen_interval(alone, system).interval
    return tuple(low <= truth <= high for low, high in intervals)


def main() -> None:
    """Simulate, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"))
    parser.add_argument("--out", type=Path, help="file of the simulations (default: none is kept)")
    parser.add_argument("--corpora", default=CORPORA)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--simulations", type=int, default=60)
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
    print_choices(worlds, args.simulations, args.seed)


if __name__ == "__main__":
    main()
