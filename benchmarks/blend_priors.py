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

from tacit.experiments.collections.question_task import CORPORA, Fold, QuestionTask, read_questions
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend import learning
from tacit.retrieve.blend import ranker as blend_ranker
from tacit.retrieve.blend.learning import Learner
from tacit.retrieve.weights import TrainingQuery, learn_weights, precision_of


def fit(
    task: QuestionTask, fold: Fold, n_judged: int | None, members: BlendRanker
) -> tuple[list[TrainingQuery], list[Any]]:
    """Fit a blend on some judged queries of a fold.

    Return the candidates of the test queries with their scores by members, before any member is dropped, and the
    arguments of `learn_weights`.
    """
    read = task.read(members, stem=True)
    queries = read.queries(task.queries.full_texts())
    train, test, given = np.sort(fold.train[:n_judged]), np.sort(fold.test), list[Any]()
    tested = list[TrainingQuery]()

    def learn(*args: Any) -> tuple[np.ndarray, float]:
        given.extend(args)
        return learn_weights(*args)

    class Recorded(Learner):
        def learn(self) -> None:
            prior = self.blend.weights_
            super().learn()
            learned, self.blend.weights_ = self.blend.weights_, prior
            data = replace(self.data, queries=queries[test], zeros=None)
            examples = Learner(self.blend, self.items, data).examples(task.training_pairs(test), None)
            tested.extend(example.query for example in examples)
            self.blend.weights_ = learned

    learning.learn_weights, blend_ranker.Learner = learn, Recorded
    zeros, further = task.training_pairs(train, relevant=False), read.further()
    pairs = task.training_pairs(train)
    BlendRanker(seed=0).fit(queries[train], read.items, pairs, zeros=zeros, members=members, **further)
    return tested, given


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
        tested, (examples, prior, strength, others, unseen) = fit(task, fold, args.judged, members)
        mixed = permuted(examples, rng), prior, strength, others, permuted(unseen, rng)
        choices = prior, learn_weights(examples, *mixed[1:4], unseen)[0], learn_weights(*mixed)[0]
        for name, weights in zip(values, choices, strict=True):
            values[name] += [precision_of(query, weights) for query in tested]
            moved[name] += not np.array_equal(weights, prior)
    for name, found in values.items():
        print(f"{args.corpus}  {name:<16} AP {np.mean(found):.4f}  moved {moved[name]} of {args.folds}")


if __name__ == "__main__":
    main()
