"""Speed of reading LETOR files, compared with scikit-learn's reader and a Python loop for the comments.

    python benchmarks/letor_reading.py [--data FOLDER] [--repeats 7]

Both return the same data, compared before timing: dense float64 X, grades, query ids, document ids and the rest of each
comment. Times are CPU seconds on one thread: the best of the repeats, with both readers in turn. Nothing here is
random. "call alone" is `load_svmlight_file` without comments and dense rows. The large file is MQ2008 eleven times,
with new query ids each time, in a temporary folder.

Last table (Python 3.11.7, scikit-learn 1.9.1, numba 0.68.1, two busy cores):

    file                         MB call alone  sklearn s  tacit s   ratio  (call)     MB/s  sklearn
    MQ2008                      9.3      0.400      0.363    0.032    11.4    12.6      294       26
    MQ2008, .gz                 9.3      0.464      0.458    0.056     8.1     8.2      166       20
    OHSUMED-letor3              8.0      0.378      0.379    0.026    14.8    14.7      309       21
    OHSUMED-letor3, .gz         8.0      0.424      0.457    0.049     9.3     8.6      162       17
    MQ2008 x 11               103.2      9.181     10.010    0.415    24.1    22.1      249       10
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import sklearn
from sklearn.datasets import load_svmlight_file

from tacit.data.letor.files import read_letor

N_COPIES = 11


def sklearn_route(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str], list[str]]:
    """Return the data of `read_letor`, read without tacit."""
    X, y, qid = load_svmlight_file(str(path), query_id=True)
    doc_ids, comments = [], []
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            comment = line.partition("#docid = ")[2]
            doc_id, _, rest = comment.rstrip().partition(" ")
            doc_ids.append(doc_id)
            comments.append(rest)
    return X.toarray(), y, qid, doc_ids, comments


def check_same(path: Path) -> None:
    """Raise unless both readers return the same data."""
    lists = read_letor(path)
    X, y, qid, doc_ids, comments = sklearn_route(path)
    assert np.array_equal(lists.X, X)
    assert np.array_equal(lists.y, y)
    assert np.array_equal(np.array(lists.query_ids, int)[lists.qid], qid)
    assert (list(lists.doc_ids), list(lists.comments or [""] * len(X))) == (doc_ids, comments)


def best_times(repeats: int, *routes: Callable[[], Any]) -> list[float]:
    """Return the best processor time of each reader, measured in turn."""
    times: list[list[float]] = [[] for _ in routes]
    for _ in range(repeats):
        for route, seconds in zip(routes, times, strict=True):
            begin = time.process_time()
            route()
            seconds.append(time.process_time() - begin)
    return [min(seconds) for seconds in times]


def report(label: str, path: Path, n_bytes: int, repeats: int) -> None:
    """Print one line of the table."""
    check_same(path)
    call, route, ours = best_times(
        repeats,
        lambda: load_svmlight_file(str(path), query_id=True),
        lambda: sklearn_route(path),
        lambda: read_letor(path),
    )
    times = f"{call:11.3f}{route:11.3f}{ours:9.3f}{route / ours:8.1f}{call / ours:8.1f}"
    print(f"{label:<24}{n_bytes / 1e6:7.1f}{times}{n_bytes / ours / 1e6:9.0f}{n_bytes / route / 1e6:9.0f}")


def enlarge(source: Path, target: Path) -> None:
    """Write the file several times in sequence, each copy with its own query ids."""
    text = source.read_text(encoding="utf-8")
    with target.open("w", encoding="utf-8") as out:
        for copy in range(N_COPIES):
            out.write(re.sub(r"qid:(\d+)", rf"qid:{copy + 1}0\1", text))


def main() -> None:
    """Print the machine, the cost of the first call and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), help="folder of the collections")
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    if not args.data:
        parser.error("give --data or set TACIT_DATA")
    print(
        f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}, numba {numba.__version__},", end=" "
    )
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    sets = [Path(args.data, "letor", name, f"{name}.txt.gz") for name in ("MQ2008", "OHSUMED-letor3-QueryLevelNorm")]
    begin = time.perf_counter()
    read_letor(sets[0])
    print(f"first call, with the scanner loaded or compiled: {time.perf_counter() - begin:.2f} s\n")
    print(f"{'file':<24}{'MB':>7}{'call alone':>11}{'sklearn s':>11}{'tacit s':>9}", end="")
    print(f"{'ratio':>8}{'(call)':>8}{'MB/s':>9}{'sklearn':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for packed in sets:
            plain = Path(folder, packed.stem)
            with gzip.open(packed) as source, plain.open("wb") as target:
                shutil.copyfileobj(source, target)
            label, size = packed.stem.removesuffix("-QueryLevelNorm.txt").removesuffix(".txt"), plain.stat().st_size
            report(label, plain, size, args.repeats)
            report(f"{label}, .gz", packed, size, args.repeats)
        large = Path(folder, "large.txt")
        enlarge(Path(folder, "MQ2008.txt"), large)
        report(f"MQ2008 x {N_COPIES}", large, large.stat().st_size, min(args.repeats, 3))


if __name__ == "__main__":
    main()
