"""Every method is saved, all are loaded in one other process, and give the same bits there."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links
from tacit.rerank import METHODS as LIST_METHODS
from tacit.retrieve import METHODS as COLLECTION_METHODS
from tacit.search import save

SMALL = {"n_rounds": 12, "n_epochs": 3, "n_trees": 3, "n_leaf_rows": 2, "n_precomputed": 3}
LOADED = """
import json, sys, warnings
import numpy as np
from tacit.search import load
warnings.simplefilter("ignore")
scores = {}
for name, path, rows, lists in json.load(sys.stdin):
    model, rows = load(path), np.array(rows)
    found = model.scores(rows.astype(np.float32)) if lists is None else model.predict(rows, lists)
    scores[name] = found.tobytes().hex()
json.dump(scores, sys.stdout)
"""


def lists_of_rows(seed, lengths):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(sum(lengths), 4)), 3)
    y = np.where(rng.random(len(X)) < 0.3, np.nan, (X[:, 0] > 0) + (X[:, 1] > 0.5))
    return X, y, np.repeat(np.arange(len(lengths)), lengths)


def save_lists(folder):
    """Scores of every ranker of lists, and what another process needs to find them again."""
    jobs, here = [], {}
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
    return here, jobs


def save_collections(folder):
    """The same of every ranker of collections, with an item removed and some added after fit."""
    rng, jobs, here = np.random.default_rng(0), [], {}
    counts = rng.poisson(0.4, (30, 12)).astype(np.float32)
    counts[np.arange(30), np.arange(30) % 12] += 1
    rows = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    links = Links(np.arange(29), np.arange(1, 30), 30, 30)
    for name, method in COLLECTION_METHODS.items():
        small = {"dim": 4, "n_epochs": 2} | ({"n_buckets": 500} if "n_buckets" in method.params else {})
        known = method.estimator._get_param_names()
        ranker = method.make(**{key: value for key, value in small.items() if key in known and name != "ssi-d"})
        items = sp.csr_array(counts if ranker.features == "counts" else rows)
        if ranker.features == "words+grams":
            ranker.set_params(first_gram=9)
        also = {"links": links} if ranker.needs_links else {}
        queries = sp.csr_array(items[:, ::-1]) if ranker.two_dictionaries else items
        ranker.fit(queries, items, links, queries_are_items=True, **also).remove_items([2])
        if getattr(ranker, "items", None) != "free":
            ranker.add_items(items[:3])
        asked = queries[:5].toarray()
        here[name] = ranker.scores(asked).tobytes().hex()
        save(ranker, folder / name)
        jobs.append((name, str(folder / name), asked.tolist(), None))
    return here, jobs


@pytest.fixture(scope="module")
def all_scores(tmp_path_factory):
    """Scores by method: of the ranker that was saved, and of the one loaded in another process."""
    folder = tmp_path_factory.mktemp("models")
    (here, jobs), (collections, more) = save_lists(folder), save_collections(folder)
    here, jobs = here | collections, jobs + more
    done = subprocess.run(
        [sys.executable, "-c", LOADED], input=json.dumps(jobs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return here, json.loads(done.stdout)


@pytest.mark.parametrize("name", LIST_METHODS)
def test_rankers_of_lists(name, all_scores):
    here, there = all_scores
    assert there[name] == here[name]


@pytest.mark.parametrize("name", COLLECTION_METHODS)
def test_rankers_of_collections(name, all_scores):
    here, there = all_scores
    assert there[name] == here[name]
