"""Kill judging processes at random moments, and count acknowledged judgments that are lost.

    python benchmarks/judgment_kills.py [--kills 1000] [--seed 0]

Two processes judge into one store as fast as they can and write each acknowledged judgment to a pipe. Both are killed
(SIGKILL) after a random time of up to 60 ms, then the store is checked: it must be intact, contain every acknowledged
judgment, and at most one more of each process. Every tenth time a new store is created, so that its creation is killed
too. Prints one line of JSON; exits with 1 if anything was lost.
"""

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from tacit.judge import JudgmentStore

N_WRITERS, LONGEST, PER_STORE = 2, 0.06, 10


def judge(path: Path, name: str, pipe: int) -> None:
    """Judge until killed; report each judgment once it is recorded."""
    with JudgmentStore(path) as store:
        for number in range(1_000_000):
            record = store.record(f"query {number % 7}", f"{name}.{number}", number % 3, name, probability=0.5)
            os.write(pipe, f"{record.query} {record.document} {record.grade} {name}\n".encode())


def start_writer(path: Path, name: str, others: list[int]) -> tuple[int, int]:
    """Return the process id of a new writer and the end of the pipe on which it reports its judgments."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        for pipe in (reading, *others):
            os.close(pipe)
        try:
            judge(path, name, writing)
        except Exception as error:
            os.write(2, f"{name}: {error}\n".encode())
        finally:
            os._exit(3)  # reached only if judging failed, because the parent kills a writer before it is done
    os.close(writing)
    return child, reading


def kill_once(path: Path, turn: int, wait: float) -> set[str]:
    """Start the writers, kill them after a time, and return the judgments they reported."""
    writers: list[tuple[int, int]] = []
    for number in range(N_WRITERS):
        writers.append(start_writer(path, f"judge{turn}.{number}", [pipe for _, pipe in writers]))
    time.sleep(wait)
    told: set[str] = set()
    for child, pipe in writers:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            raise SystemExit("a writer failed by itself")
        with os.fdopen(pipe) as lines:
            told.update(line.strip() for line in lines if line.endswith("\n"))
    return told


def check(path: Path, told: set[str], n_writers: int) -> int:
    """Return the number of lost judgments; raise if the store is damaged or has judgments that no one made."""
    with JudgmentStore(path) as store:
        held = {f"{j.query} {j.document} {j.grade} {j.judge}" for j in store.current()}
    database = sqlite3.connect(path)
    (state,) = database.execute("PRAGMA integrity_check").fetchone()
    database.close()
    if state != "ok" or len(held - told) > n_writers:
        raise SystemExit(f"the store is {state} and holds {len(held - told)} judgments that were not acknowledged")
    return len(told - held)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    n_told = n_lost = 0
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(args.kills):
            if turn % PER_STORE == 0:
                path, told = Path(folder, f"{turn}.judgments"), set[str]()
            told |= kill_once(path, turn, chance.uniform(0, LONGEST))
            n_lost += check(path, told, N_WRITERS * (turn % PER_STORE + 1))
            if turn % PER_STORE == PER_STORE - 1 or turn == args.kills - 1:
                n_told += len(told)
    found = {"kills": args.kills, "processes": N_WRITERS, "acknowledged": n_told, "lost": n_lost, "seed": args.seed}
    print(json.dumps(found))
    return int(n_lost > 0)


if __name__ == "__main__":
    sys.exit(main())
