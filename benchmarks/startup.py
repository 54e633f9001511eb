"""Processor time of short commands against `python -c "import numpy"`: the least of ten runs each, alternating.

    python benchmarks/startup.py [--data FOLDER]

`tacit search` asks one query of a `blend` model of Cranfield, with snippets; `tacit evaluate` and `tacit fuse --apply`
read a run of its 225 queries. The loops are compiled before (`tacit warm`), and so are the modules, as by
`pip install`.
"""

import argparse
import contextlib
import io
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tacit.app.main import main

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"), metavar="FOLDER")
data = parser.parse_args().data
if data is None:
    sys.exit("set TACIT_DATA to the folder of the collections, or give --data")


def seconds(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare(*words: object) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        if main([*map(str, words)]) != 0:
            sys.exit(1)


with tempfile.TemporaryDirectory() as folder:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
    model, run, other, fused = (f"{folder}/{name}" for name in ("model", "blend.run", "bm25.run", "fused.json"))
    cranfield = data / "text" / "cranfield"
    qrels, queries = cranfield / "qrels.txt", cranfield / "queries.jsonl"
    prepare("fit", cranfield / "docs.jsonl.gz", "-o", model)
    prepare("search", model, "--queries", queries, "--run", run)
    prepare("fit", cranfield / "docs.jsonl.gz", "-o", f"{folder}/bm25.model", "--method", "bm25")
    prepare("search", f"{folder}/bm25.model", "--queries", queries, "--run", other)
    prepare("fuse", qrels, run, other, "-o", fused)
    tacit = [sys.executable, "-m", "tacit"]
    commands = {
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import scipy.sparse": [sys.executable, "-c", "import scipy.sparse"],
        "import numba": [sys.executable, "-c", "import numba"],
        "tacit --help": [*tacit, "--help"],
        "tacit evaluate": [*tacit, "evaluate", str(qrels), run],
        "tacit fuse --apply": [*tacit, "fuse", "--apply", fused, run, other, "-o", f"{folder}/fused.run"],
        "tacit search": [*tacit, "search", model, "boundary layer on a flat plate"],
    }
    for words in commands.values():
        seconds(words)
    times = {name: [] for name in commands}
    for _ in range(10):
        for name, words in commands.items():
            times[name].append(seconds(words))
best = {name: min(found) for name, found in times.items()}
print(f"{'':<20} {'ms':>6} {'ratio':>6}")
for name, value in best.items():
    print(f"{name:<20} {1000 * value:6.0f} {value / best['import numpy']:6.2f}")
