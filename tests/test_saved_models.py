"""Every method is saved, all are loaded in one other process, and give the same bits there."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

from tacit.rerank import METHODS as LIST_METHODS
from tacit.search import save

SMALL = {"n_rounds": 12, "n_epochs": 3, "n_trees": 3, "n_leaf_rows": 2, "n_precomputed": 3}
LOADED = """
import json, sys, warnings
import numpy as np
from tacit.search import load
warnings.simplefilter("ignore")
scores = {}
for name, path, rows, lists in json.load(sys.stdin):
    scores[name] = load(path).predict(np.array(rows), lists).tobytes().hex()
json.dump(scores, sys.stdout)
"""


def lists_of_rows(seed, lengths):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(sum(lengths), 4)), 3)
    y = np.where(rng.random(len(X)) < 0.3, np.nan, (X[:, 0] > 0) + (X[:, 1] > 0.5))
    return X, y, np.repeat(np.arange(len(lengths)), lengths)


@pytest.fixture(scope="module")
def list_scores(tmp_path_factory):
    """Scores by method: of the ranker that was saved, and of the one loaded in another process."""
    folder, jobs, here = tmp_path_factory.mktemp("models"), [], {}
    X, y, qid = lists_of_rows(0, [8, 6, 9, 7, 8, 6, 7, 8, 6, 7, 9, 8])
    for name, method in LIST_METHODS.items():
        own = name in ("manifold", "prf", "prf-neg")  # these have no scores for other lists
        new, _, new_qid = (X, y, qid) if own else lists_of_rows(1, [5, 6, 1])
        ranker = method.offer(threads=1, **SMALL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # short lists have few directions
            here[name] = ranker.fit(X, y, qid).predict(new, new_qid).tobytes().hex()
        save(ranker, folder / name)
        jobs.append((name, str(folder / name), new.tolist(), new_qid.tolist()))
    done = subprocess.run(
        [sys.executable, "-c", LOADED], input=json.dumps(jobs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return here, json.loads(done.stdout)


@pytest.mark.parametrize("name", LIST_METHODS)
def test_rankers_of_lists(name, list_scores):
    here, there = list_scores
    assert there[name] == here[name]
