"""Variants of `lambdarank`, measured on validation lists.

    python benchmarks/lambdarank_design.py [--data FOLDER] [--sets MQ2008 ...]     (FOLDER defaults to $TACIT_DATA)

Rankers are trained on reduced training labels (seeds 20 to 22), choose their penalty on validation lists with equally
few labels, and are measured on these lists with all labels; test lists are not read. nDCG-letor@10. About ten minutes.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments.lists.letor_task import (
    LETOR_SETS,
    FoldLists,
    LetorCorpus,
    cut_labels,
    measure_folds,
    read_letor_corpus,
)
from tacit.rerank import get_method

SHARES, SEEDS = (0.05, 0.1, 0.2), range(20, 23)
NETWORK = {"n_hidden": 3, "l2": 0.1, "stop_early": False}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("linear", {}),
    "lambdarank, judged rows": ("lambdarank", {}),
    "lambdarank, whole list": ("lambdarank", {"positions": "list"}),
    "three hidden units, judged rows": ("lambdarank", NETWORK),
    "three hidden units, whole list": ("lambdarank", NETWORK | {"positions": "list"}),
}


def on_validation(corpus: LetorCorpus, method: str, params: dict[str, Any], share: float) -> float:
    """Return the mean over validation queries and seeds."""
    found = []
    for seed in SEEDS:

        def score(fold: FoldLists, seed: int = seed) -> np.ndarray:
            ranker = get_method(method).offer(seed=seed).set_params(**params)
            ranker.fit(fold.train.X, fold.train.y, fold.train.qid, validation=fold.vali)
            return ranker.predict(fold.test.X, fold.test.qid)

        folds = [
            FoldLists(fold.name, cut_labels(fold.train, share, seed), cut_labels(fold.vali, share, seed), fold.vali)
            for fold in corpus
        ]
        found.append(np.mean(measure_folds(folds, score, {"nDCG": "nDCG-letor@10"})["nDCG"]))
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), type=Path)
    parser.add_argument("--sets", nargs="+", default=LETOR_SETS, choices=LETOR_SETS)
    args = parser.parse_args()
    for name in args.sets:
        corpus = read_letor_corpus(args.data, name)
        print(f"{name:32}" + "".join(f"{share:>8.0%}" for share in SHARES))
        for label, (method, params) in FORMS.items():
            cells = [on_validation(corpus, method, params, share) for share in SHARES]
            print(f"  {label:30}" + "".join(f"{cell:>8.4f}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
