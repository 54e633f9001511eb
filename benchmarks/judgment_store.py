"""A judgment store with a million program grades: seconds of `show` and of `evaluate --assist`.

    python benchmarks/judgment_store.py [--grades 1000000]

The store has 200 grades by a program for each of 5,000 queries, and 50 by a person for each of 40 of them; two runs
rank the same documents. Times are wall and processor times of the complete commands, in separate processes.
"""

import argparse
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tacit.judge import JudgmentStore

PER_QUERY, N_HUMAN, PER_HUMAN = 200, 40, 50
INSERT = "INSERT INTO judgment VALUES (NULL, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, 'judged')"


def make_store(path: Path, n_queries: int) -> None:
    """Fill the tables directly, because import is not measured."""
    with JudgmentStore(path) as store:
        store.record("first", "d0", 1, "gpt", kind="program")
        store.record("first", "d0", 1, "ann")
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 4, (n_queries, PER_QUERY)).tolist()
    with sqlite3.connect(path) as database:
        database.executemany(
            "INSERT INTO query VALUES (NULL, ?, ?, NULL)", ((f"q{q}", f"query {q}") for q in range(n_queries))
        )
        number = dict(database.execute("SELECT id, number FROM query"))
        time_of = "2026-01-01T00:00:00.000000Z"
        for judge, queries, size in (("gpt", n_queries, PER_QUERY), ("ann", N_HUMAN, PER_HUMAN)):
            rows = (
                (number[f"q{q}"], f"d{(37 * q + 13 * d) % 100_000}", float(grades[q][d]), judge, time_of, d + 1)
                for q in range(queries)
                for d in range(size)
            )
            database.executemany(INSERT, rows)


def make_run(path: Path, n_queries: int, seed: int) -> None:
    """Return a run of the graded documents in another order."""
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for q in range(n_queries):
            for place, d in enumerate(rng.permutation(PER_QUERY)[:20].tolist()):
                file.write(f"q{q} Q0 d{(37 * q + 13 * d) % 100_000} {place + 1} {20 - place} run{seed}\n")


def timed(*words: str) -> tuple[float, float]:
    """Return seconds and processor seconds of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "tacit", *words], check=True, stdout=subprocess.DEVNULL, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used


def main() -> None:
    """Print one line for each command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--grades", type=int, default=1_000_000)
    n_queries = max(parser.parse_args().grades // PER_QUERY, N_HUMAN)
    with tempfile.TemporaryDirectory() as folder:
        store, runs = Path(folder, "store"), [Path(folder, f"{name}.run") for name in "ab"]
        make_store(store, n_queries)
        for seed, path in enumerate(runs):
            make_run(path, n_queries, seed)
        commands = {
            "judgments show": ("judgments", "show", str(store), "--disagreements", "0"),
            "evaluate --assist": ("evaluate", str(store), *map(str, runs), "--assist", "gpt", "-m", "nDCG@10"),
            "judgments show --judge": ("judgments", "show", str(store), "--judge", "gpt"),
        }
        for name, words in commands.items():
            seconds, used = timed(*words)
            print(f"{name}: {seconds:.1f} s, {used:.1f} s of the processor ({n_queries * PER_QUERY:,} grades)")


if __name__ == "__main__":
    main()
