"""Design choices of `standing`, measured on validation lists.

    python benchmarks/standing_design.py --data FOLDER     (FOLDER defaults to $TACIT_DATA)

Rankers are trained on reduced training labels (seeds 10 to 15) with one fixed setting each, and are measured on the
folds' validation lists with all their labels; test lists are not read. nDCG-letor@10, averaged over seeds for each
query, and p of Wilcoxon's test over queries against `linear`, uncorrected. About eight minutes.
"""

import argparse
import os
from pathlib import Path

import numpy as np

from tacit.experiments.lists.letor_task import LETOR_SETS, LetorCorpus, cut_labels, measure_lists, read_letor_corpus
from tacit.metrics import compare
from tacit.rerank import BradleyTerryRanker, ListRanker, StandingRanker, get_method

SHARES, SEEDS = (0.05, 0.1, 0.2), range(10, 16)
RANKERS: dict[str, ListRanker] = {
    "linear": BradleyTerryRanker(n_hidden=0, l2=1.0),
    "ssbt": get_method("ssbt").make(),
    "standing": StandingRanker(),
    "view quantiles": StandingRanker(view="quantiles"),
    "view places": StandingRanker(view="places"),
    "view features": StandingRanker(view="features"),
    "score_spread .18": StandingRanker(score_spread=0.18),
    "score_spread .7": StandingRanker(score_spread=0.7),
    "list_spread .5": StandingRanker(list_spread=0.5),
    "list_spread 5": StandingRanker(list_spread=5.0),
}


def on_validation(corpus: LetorCorpus, ranker: ListRanker, share: float) -> np.ndarray:
    """Return a value for each validation query of all folds, the mean over seeds."""
    values = []
    for seed in SEEDS:
        for fold in corpus:
            train = cut_labels(fold.train, share, seed)
            ranker.fit(train.X, train.y, train.qid)
            scores = ranker.predict(fold.vali.X, fold.vali.qid)
            values.append(measure_lists(fold.vali, scores, {"nDCG": "nDCG-letor@10"})["nDCG"])
    return np.mean(np.array_split(np.concatenate(values), len(SEEDS)), axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), type=Path)
    data = parser.parse_args().data
    for name in LETOR_SETS:
        corpus = read_letor_corpus(data, name)
        print(f"{name:32}" + "".join(f"{share:>18.0%}" for share in SHARES))
        base: dict[float, np.ndarray] = {}
        for label, ranker in RANKERS.items():
            cells = ""
            for share in SHARES:
                values = on_validation(corpus, ranker, share)
                base.setdefault(share, values)
                p = f"p {compare(base[share], values).wilcoxon:.2g}" if label != "linear" else ""
                cells += f"{values.mean():>8.4f} {p:<9}"
            print(f"  {label:30}{cells}", flush=True)


if __name__ == "__main__":
    main()
