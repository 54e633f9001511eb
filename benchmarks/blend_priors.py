"""What learned weights of `blend` gain, and what permuted labels do to them.

    python benchmarks/blend_priors.py [cacm] [--judged 20] [--folds 5] [--data FOLDER]

The folds are those of `tacit reproduce questions`, seed 0. Average precision over the candidates (the first 50 items
of the blend and of each member) of the test queries: with the weights without labels, with those that are learned, and
with those learned from labels that are permuted among the candidates. "moved": folds in which weights were changed.
FOLDER defaults to $TACIT_DATA.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments.questions.task import CORPORA, Fold, QuestionTask, read_questions
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend import learning
from tacit.retrieve.blend.training import TrainingQuery, average_precision, learn_weights


class Recorded(BlendRanker):
    """A blend that keeps the candidates of test queries as its members score them, before any member is dropped."""

    def _learn(self, *given: Any) -> None:
        prior = self.weights_.copy()
        super()._learn(*given)
        learned, self.weights_ = self.weights_, prior
        self._zeros = None
        self.tested = self._examples(*self.asked, None)
        self.weights_ = learned


def fit(task: QuestionTask, fold: Fold, n_judged: int | None, members: BlendRanker) -> tuple[Recorded, list[Any]]:
    """A blend fitted on some judged queries of a fold, and what `learn_weights` was given."""
    queries, items = task.features("counts", stem=True)
    train, test, given = np.sort(fold.train[:n_judged]), np.sort(fold.test), list[Any]()

    def learn(*args: Any) -> tuple[np.ndarray, float]:
        given.extend(args)
        return learn_weights(*args)

    learning.learn_weights = learn
    ranker = Recorded(seed=0)
    ranker.asked = queries[test], task.training_pairs(test)
    titles, zeros = task.features("titles", stem=True)[1], task.training_pairs(train, relevant=False)
    ranker.fit(queries[train], items, task.training_pairs(train), titles=titles, zeros=zeros, members=members)
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
    _, items = task.features("counts", stem=True)
    members = BlendRanker(seed=0).fit(None, items, titles=task.features("titles", stem=True)[1])
    values: dict[str, list[float]] = {"without labels": [], "learned": [], "permuted labels": []}
    moved = dict.fromkeys(values, 0)
    for fold in task.folds(0)[: args.folds]:
        ranker, (examples, prior, strength, others, unseen) = fit(task, fold, args.judged, members)
        mixed = permuted(examples, rng), prior, strength, others, permuted(unseen, rng)
        choices = prior, learn_weights(examples, *mixed[1:4], unseen)[0], learn_weights(*mixed)[0]
        for name, weights in zip(values, choices, strict=True):
            values[name] += [average_precision(query, weights) for query in ranker.tested]
            moved[name] += not np.array_equal(weights, prior)
    for name, found in values.items():
        print(f"{args.corpus}  {name:<16} AP {np.mean(found):.4f}  moved {moved[name]} of {args.folds}")


if __name__ == "__main__":
    main()
