"""Gain of the learned weights of `blend`, with real and with permuted labels.

    python benchmarks/blend_priors.py [cacm] [--judged 20] [--folds 5] [--data FOLDER]

The folds are those of `tacit reproduce questions`, seed 0. Average precision over the candidates (the first 50 items of
the blend and of each member) of the test queries: with the label-free weights, with learned weights, and with weights
learned from labels permuted among the candidates. "moved": folds in which weights changed. FOLDER defaults to
$TACIT_DATA.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments.questions.task import CORPORA, Fold, QuestionTask, read_questions
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend import learning
from tacit.retrieve.blend.learning import Learner
from tacit.retrieve.blend.member import ItemRows
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.weights import TrainingQuery, learn_weights, precision_of


class Recorded(BlendRanker):
    """A blend that keeps the candidates of test queries with their scores by members, before any member is dropped."""

    def _learn(self, items: ItemRows, data: TrainingData) -> None:
        prior = self.weights_
        super()._learn(items, data)
        learned, self.weights_ = self.weights_, prior
        queries, pairs = self.asked
        tested = Learner(self, items, replace(data, queries=queries, zeros=None)).examples(pairs, None)
        self.tested = [example.query for example in tested]
        self.weights_ = learned


def fit(task: QuestionTask, fold: Fold, n_judged: int | None, members: BlendRanker) -> tuple[Recorded, list[Any]]:
    """Return a blend fitted on some judged queries of a fold, and the arguments of `learn_weights`."""
    read = task.read(members, stem=True)
    queries = read.queries(task.queries.full_texts())
    train, test, given = np.sort(fold.train[:n_judged]), np.sort(fold.test), list[Any]()

    def learn(*args: Any) -> tuple[np.ndarray, float]:
        given.extend(args)
        return learn_weights(*args)

    learning.learn_weights = learn
    ranker = Recorded(seed=0)
    ranker.asked = queries[test], task.training_pairs(test)
    zeros, further = task.training_pairs(train, relevant=False), read.further()
    ranker.fit(queries[train], read.items, task.training_pairs(train), zeros=zeros, members=members, **further)
    return ranker, given


def permuted(queries: Sequence[TrainingQuery], rng: np.random.Generator) -> list[TrainingQuery]:
    return [query._replace(relevance=rng.permutation(query.relevance)) for query in queries]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="?", default="cacm", choices=CORPORA)
    parser.add_argument("--judged", type=int, help="judged queries (default: all of the training folds)")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), type=Path)
    args = parser.parse_args()
    task, rng = read_questions(args.data, args.corpus), np.random.default_rng(0)
    read = task.read(BlendRanker(), stem=True)
    members = BlendRanker(seed=0).fit(None, read.items, **read.further())
    values: dict[str, list[float]] = {"without labels": [], "learned": [], "permuted labels": []}
    moved = dict.fromkeys(values, 0)
    for fold in task.folds(0)[: args.folds]:
        ranker, (examples, prior, strength, others, unseen) = fit(task, fold, args.judged, members)
        mixed = permuted(examples, rng), prior, strength, others, permuted(unseen, rng)
        choices = prior, learn_weights(examples, *mixed[1:4], unseen)[0], learn_weights(*mixed)[0]
        for name, weights in zip(values, choices, strict=True):
            values[name] += [precision_of(query, weights) for query in ranker.tested]
            moved[name] += not np.array_equal(weights, prior)
    for name, found in values.items():
        print(f"{args.corpus}  {name:<16} AP {np.mean(found):.4f}  moved {moved[name]} of {args.folds}")


if __name__ == "__main__":
    main()
