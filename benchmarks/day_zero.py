"""Search without any label: nDCG@10 on collections with queries and judgments that were not used for training.

    python benchmarks/day_zero.py --data FOLDER     (FOLDER defaults to $TACIT_DATA)

Every system is fitted as by `tacit fit COLLECTION --method M` without links; judgments are used for measuring only.
Settings of `htr-reconstruction` were chosen on the training part of Reuters and with the first, third, fifth ... judged
query of each collection; the column "others" has the remaining queries, which were used for early prototypes too. No
column is completely held out.
"""

import argparse
import os
from pathlib import Path

import numpy as np

from tacit.data import read_collection, read_qrels, read_queries
from tacit.metrics import compare_systems, evaluate
from tacit.search import Searcher

COLLECTIONS = ("cranfield", "cacm", "cisi")
SYSTEMS = (
    ("tfidf", None), ("bm25", None), ("lsi", 100), ("lsi", None), ("lsi+tfidf", 100), ("htr-reconstruction", None),
)  # fmt: skip


def values(folder: Path, method: str, dim: int | None) -> np.ndarray:
    """Return nDCG@10 of each judged query."""
    searcher = Searcher(method, **({} if dim is None else {"dim": dim})).fit(read_collection(folder))
    run = searcher.run(read_queries(folder), k=100)
    return evaluate(read_qrels(folder / "qrels.txt"), run, "nDCG@10").values["nDCG@10"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"))
    data = Path(parser.parse_args().data)
    print("| collection | queries | system | dim | nDCG@10 | others | p against htr-reconstruction |")
    print("|---|---|---|---|---|---|---|")
    for name in COLLECTIONS:
        found = {(method, dim): values(data / "text" / name, method, dim) for method, dim in SYSTEMS}
        ours = found[SYSTEMS[-1]]
        for (method, dim), theirs in found.items():
            test = "" if theirs is ours else f"{compare_systems({'a': ours, 'b': theirs}, 'nDCG@10')[0].p:.2g}"
            width = dim or {"lsi": 200, "htr-reconstruction": 100}.get(method, "")
            print(
                f"| {name} | {len(theirs)} | {method} | {width} | {theirs.mean():.4f} | {theirs[1::2].mean():.4f} "
                f"| {test} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
