"""The process that compiles the loops and those that find them in the cache learn the same bits.

Loops may reorder sums (fastmath). Where such a loop is a helper of another and is not inlined, a compiling process may
bind it to another copy of it than a later one does, and sums run in another order. So the methods whose loops have such
helpers are trained in a process that compiles, then in one that does not. A file that gets such a helper is added to
RUN. The second process also has two threads of BLAS where the first has one.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import tacit

KERNELS = Path(tacit.__file__).parent / "kernels"
# Files of loops with helpers that reorder sums, each run by LEARN below.
RUN = {"blocks.py", "rows.py", "shared_words.py", "reconstruction.py", "triples.py", "graph/search.py"}
LEARN = """
import numpy as np
import scipy.sparse as sp
from tacit.core import Links
from tacit.retrieve import get_method

rng = np.random.default_rng(0)
rows = sp.csr_array((rng.random((150, 200)) < 0.1) * rng.random((150, 200))).astype(np.float32)
links = Links(np.arange(149), np.arange(1, 150), 150, 150)
uniform = {"negatives": "uniform", "n_epochs": 2}
for name, params in [
    ("ssi-uv-d", {}),
    ("htr-residual", {}),
    ("htr-reconstruction", {}),
    ("ssi-uv-d", uniform),
    ("hash-1m-i", uniform),
]:
    ranker = get_method(name).offer(dim=37, seed=0, **params).fit(rows, rows, links)
    print(name, *params, ranker.epochs_, ranker.scores(rows).tobytes().hex())
graph = get_method("lsi").offer(dim=37, seed=0).fit(rows, rows).build_graph(rows)
print("graph", graph.rank(rows, 5).scores.tobytes().hex())
"""


def test_the_first_process_and_the_second_learn_the_same_bits(tmp_path):
    learn = [sys.executable, "-W", "ignore", "-c", LEARN]
    first, second = (
        subprocess.run(
            learn,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "OPENBLAS_NUM_THREADS": n_threads},
            capture_output=True,
            text=True,
        )
        for n_threads in ("1", "2")
    )
    assert first.returncode == 0, first.stderr
    compiled = {path.name.split(".")[0] for path in tmp_path.rglob("*.nbi")}
    assert {Path(file).stem for file in RUN} <= compiled
    changed = [
        a.split()[0] for a, b in zip(first.stdout.splitlines(), second.stdout.splitlines(), strict=True) if a != b
    ]
    assert changed == []


def test_all_files_of_loops_with_helpers_that_reorder_sums_are_run():
    assert {file for file, name, reorders, calls in loops() if calls & REORDERING - {name}} == RUN


def loops():
    """File, name, whether sums may be reordered, and called names of every loop that is not inlined."""
    for file in sorted(KERNELS.rglob("*.py")):
        for node in ast.parse(file.read_text("utf-8")).body:
            marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", [])]
            if any("njit" in mark and "inline" not in mark for mark in marks):
                calls = {ast.unparse(call.func).split(".")[-1] for call in ast.walk(node) if isinstance(call, ast.Call)}
                yield file.relative_to(KERNELS).as_posix(), node.name, any("fastmath" in mark for mark in marks), calls


REORDERING = {name for _, name, reorders, _ in loops() if reorders}
