"""Kill trainings at random moments, resume them with the same command, and compare with uninterrupted models.

    python benchmarks/checkpoint_kills.py [--kills 100] [--seed 0]

A process runs `tacit fit --checkpoint` on a generated collection and is killed (SIGKILL) after a random time of about
one training at most, repeatedly until a training ends; then the next begins, until the number of kills is reached.
States are written as often as possible, in a tenth of the time. Each saved model is compared byte by byte. Prints one
line of JSON; exits with 1 if a model differs.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tacit.app.main import main as tacit
from tacit.retrieve import checkpoint

METHODS = {"htr-residual": ["max_epochs=4"], "htr+pairs": ["max_epochs=2", "n_buckets=100000"], "blend": []}


def write_collection(folder: Path, n_docs: int = 200) -> None:
    """Write documents of random words, and links between documents with neighbouring numbers."""
    rng = np.random.default_rng(0)
    with (folder / "docs.jsonl").open("w") as docs, (folder / "links.tsv").open("w") as links:
        for number in range(n_docs):
            words = " ".join(f"w{word}" for word in (300 * rng.random(12) ** 2).astype(int))
            docs.write(json.dumps({"id": str(number), "text": f"{words} topic{number % 60}"}) + "\n")
            links.writelines(f"{number}\t{(number + step) % n_docs}\n" for step in (1, 2, 60))


def words_of(folder: Path, method: str, output: str, *further: str) -> list[str]:
    """Return the command line of one training."""
    settings = [word for setting in METHODS[method] for word in ("--set", setting)]
    files = [str(folder / "docs.jsonl"), "--links", str(folder / "links.tsv"), "-o", str(folder / output)]
    return ["fit", *files, "--method", method, "--dim", "8", "--threads", "2", *settings, *further]


def run_in_child(words: list[str], wait: float) -> bool:
    """Run the command in a separate process, killed after a time; return whether it ended before."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(tacit(words))
    until = time.monotonic() + wait
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.waitstatus_to_exitcode(status):
                raise SystemExit(f"a training failed with {os.waitstatus_to_exitcode(status)}")
            return True
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def model_bytes(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    chance, n_kills, n_models, n_different = random.Random(args.seed), 0, 0, 0
    checkpoint.Checkpoint.__init__.__kwdefaults__["every"] = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_collection(folder)
        seconds = {}
        for method in METHODS:
            tacit(words_of(folder, method, f"{method}.whole"))  # in this process, so that children have all code loaded
            start = time.monotonic()
            run_in_child(words_of(folder, method, "again"), 600)
            seconds[method] = time.monotonic() - start
        while n_kills < args.kills:
            method = [*METHODS][n_models % len(METHODS)]
            words = words_of(folder, method, "cut", "--checkpoint", str(folder / "c"))
            while not run_in_child(words, chance.uniform(0, 1.2) * seconds[method]):
                n_kills += 1
            n_models += 1
            print(f"{n_kills} kills, {n_models} models", file=sys.stderr, flush=True)
            n_different += model_bytes(folder / "cut") != model_bytes(folder / f"{method}.whole")
    found = {"kills": n_kills, "models": n_models, "different": n_different, "seed": args.seed}
    print(json.dumps(found))
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
