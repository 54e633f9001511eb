"""The tour of `tacit serve` without a MODEL: BM25 on the embedded corpus, with sample queries and judgments.

The tour is a folder in the user's cache, so that it can be changed, trained and opened again. Its judgments come from
links that the authors of the libraries wrote. For a random sample of documented objects, the query is the summary of
the object; relevant are the object itself and the objects in its "See Also" section, which is not part of the texts.
No person graded them for these queries, so they are stored as grades of a program, `see-also`, which a training on the
page names. Further typed queries have no judgments: they are there to be judged.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from tacit.core import Collection, Links, cache_folder
from tacit.data import read_pydocs
from tacit.data.pydocs.corpus import pydocs_versions
from tacit.judge import JudgmentStore
from tacit.search import Searcher

ABOUT = "A tour on the documentation of numpy, scipy and scikit-learn"
JUDGE, KIND = "see-also", "program"
METHOD = "bm25"  # fast to fit, and the baseline of trained versions
N_JUDGED = 40  # queries with judgments
FEWEST_LINKS, LONGEST = 3, 80  # links, and characters of the summary, of an object whose summary becomes a query
SEED = 0
ITSELF, SEE_ALSO = 3, 2  # grades

TO_JUDGE = (
    "pseudo inverse of a singular matrix",
    "interpolate scattered points",
    "cross validation that keeps groups together",
    "are two samples from the same distribution",
    "remove noise without shifting the signal",
    "count how often each value occurs",
    "smallest distance between two sets of points",
    "fit a line through noisy points",
    "turn categories into numbers",
    "fill in missing values",
    "solve a sparse system of linear equations",
    "minimum of a function without derivatives",
    "find clusters of any shape",
    "split a sentence into word counts",
    "how unbalanced classes are weighted",
    "random numbers that can be repeated",
    "area under a curve from samples",
    "smooth curve through points",
    "join arrays side by side",
    "find peaks in a signal",
)


def tour_folder() -> Path:
    """Return the folder of the tour for the installed libraries."""
    content = pydocs_versions(), TO_JUDGE, N_JUDGED, FEWEST_LINKS, LONGEST, SEED
    name = hashlib.sha256(repr(content).encode()).hexdigest()[:12]
    return (cache_folder() or Path(tempfile.gettempdir())) / f"tour-{name}"


def open_tour(folder: Path | None = None) -> tuple[Path, Path, Searcher]:
    """Return model folder, judgment store and searcher of the tour, which are created on first use."""
    folder = folder or tour_folder()
    model, store = folder / "pydocs.model", folder / "pydocs.judgments"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
        folder.mkdir(parents=True)
        documents, links = read_pydocs()
        Searcher(METHOD, stem=True).fit(documents).save(model)
        add_samples(store, sample_grades(documents, links))
        (folder / "complete").touch()
    sys.stderr.write(f"no MODEL given: serving the tour, stored in {folder}; delete that folder to start over\n")
    return model, store, Searcher.load(model)


def sample_grades(documents: Collection, links: Links) -> dict[str, dict[str, int]]:
    """Return grades by query and document: summaries of random objects, with the objects that they refer to."""
    n_links = np.bincount(links.sources, minlength=len(documents))
    rows = np.random.default_rng(SEED).permutation(np.flatnonzero(n_links >= FEWEST_LINKS))
    found: dict[str, dict[str, int]] = {}
    for row in rows.tolist():
        query = documents.titles[row].partition(": ")[2].rstrip(".")
        if 0 < len(query) <= LONGEST and query not in found and len(found) < N_JUDGED:
            targets = links.targets[links.sources == row].tolist()
            found[query] = {documents.ids[target]: SEE_ALSO for target in targets} | {documents.ids[row]: ITSELF}
    return found


def add_samples(path: Path, grades: dict[str, dict[str, int]]) -> None:
    """Add the queries to judge, and the sample judgments."""
    with JudgmentStore(path) as store:
        ids = [store.query_id(text) for text in TO_JUDGE]
        store.add_queries(Collection(ids, [""] * len(ids), list(TO_JUDGE)))
        for query, of_query in grades.items():
            for document, grade in of_query.items():
                store.record(query, document, grade, JUDGE, kind=KIND)
