"""What `ssbt` gains from unjudged rows without the neighbours, on cuts of labels that its design never saw.

    python benchmarks/unjudged_parts.py --data FOLDER     (FOLDER defaults to $TACIT_DATA)

Labels are cut by seeds 3, 4, 5; test lists are those of the experiment `preference`. nDCG-letor@10 is averaged over the
seeds query by query; p by Wilcoxon's test over queries, one test each, not corrected.
"""

import argparse
import os
from pathlib import Path

import numpy as np

from tacit.experiments.letor_task import read_letor_corpus
from tacit.experiments.preference import Task, measure_cell
from tacit.metrics import compare

SETS = ("MQ2008", "OHSUMED-letor3-QueryLevelNorm")
SHARES, SEEDS = (0.05, 0.1, 0.2), (3, 4, 5)
SYSTEMS = {
    "without neighbours": {"system": "ssbt", "without": "neighbours"},
    "ssbt-beta0": {"system": "ssbt-beta0"},
    "linear": {"system": "linear"},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"))
    args = parser.parse_args()
    print(
        f"{'set':32}{'labels':>8}" + "".join(f"{name:>20}" for name in SYSTEMS) + f"{'p, beta0':>10}{'p, linear':>10}"
    )
    for name in SETS:
        task = Task(read_letor_corpus(Path(args.data), name), "random")
        for share in SHARES:
            values = {
                system: np.mean(
                    [
                        measure_cell(task, cell | {"seed": seed, "share": share}, None).values["nDCG-letor@10"]
                        for seed in SEEDS
                    ],
                    axis=0,
                )
                for system, cell in SYSTEMS.items()
            }
            first, *others = values.values()
            tests = "".join(f"{compare(other, first).wilcoxon:>10.2g}" for other in others)
            means = "".join(f"{value.mean():>20.4f}" for value in values.values())
            print(f"{name:32}{share:>8.0%}{means}{tests}", flush=True)


if __name__ == "__main__":
    main()
