"""Experiment `fuse`: how often do learned weights lose to the default, and to the best of a grid?

A draw selects two or three runs at random, and 10, 20 or 40 judged queries to choose a fusion. The choice is measured
on the other queries: its gain over the default, harmful if below -.005. With 40 judged queries of 53 only 13 are left,
so even a harmless choice is sometimes below -.005 by chance; "harmful on all queries" is the same share by the gain on
all queries, including those used for the choice. The grid takes the best of all variants on the same queries. Coverage
is the share of draws whose stated interval contains the gain of the choice on all queries of the collection; "held-out"
compares with the gain on the other queries, allowing for their own sampling error. For false claims both legs are
copies of one run with noise, so no gain is possible. Draws of legs of similar strength, where the possible gain is
small, are also shown separately.

Legs are real TREC runs, systems on judged text collections, and noisy copies of a run.

The grid is the usual practice today: every variant of OpenSearch's hybrid search is tried on the judged queries.
Variants: min-max and L2 normalisation; arithmetic, harmonic and geometric mean; weights in steps of .1 for two legs (66
variants), of .2 for three legs (126). Means leave out scores of 0, except the arithmetic one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.core import Judgments, Run, TacitError, track
from tacit.data import read_collection, read_qrels, read_queries, read_run
from tacit.experiments.cells import CellCache
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request
from tacit.judge.fuse.front import default_space
from tacit.judge.fuse.learning import N_SAMPLES, OTHER, PRICE, UNSEEN, lattice
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.measured import Measured
from tacit.judge.fuse.normalizations import Family
from tacit.judge.fuse.proof import prove
from tacit.judge.fuse.sources import run_name

CORPORA = ("dl21", "texts")
SIZES = (10, 20, 40)
KINDS = {"pairs": 2, "triples": 3, "copies": 2}
SYSTEMS = {"tacit": "gain", "grid": "grid"}
RULE = [PRICE, OTHER, UNSEEN, N_SAMPLES]  # part of the key of cells, so that cells of another rule are not used
HARM = 0.005
CLOSE = 0.1  # maximum difference between the means of legs of similar strength
BLOCK = 10  # draws per cell
METRIC = "nDCG@10"
TEXTS = ("cranfield", "cacm", "cisi", "cystic_fibrosis")
METHODS = ("bm25", "lsi+tfidf", "qe")
DEPTH = 100
NOISE = 0.5  # of copies, in standard deviations of a query's scores
LOWEST = 0.001  # min-max value of the lowest result, as in the engine
POINTS = {2: 11, 3: 21}


def run(request: Request) -> Report:
    """Draw legs and queries; `quick`: 4 draws of each kind, default 60, `full`: 200."""
    corpus = request.corpus_of(CORPORA, own=True)
    request.check_params({})
    n_blocks = 1 if request.quick else 20 if request.full else 6
    n_draws = 4 if request.quick else BLOCK
    sources = [read() for read in pools(request.data_folder, corpus)]
    cells, start = CellCache(request), time.perf_counter()
    blocks: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    for block in track(range(n_blocks), f"draws of {corpus}", n_blocks):
        for kind in KINDS:
            key = {"experiment": "fuse", "corpus": corpus, "kind": kind, "block": block, "seed": request.seed}
            work = partial(_draws, sources, kind, [request.seed, list(KINDS).index(kind), block], n_draws)
            blocks[kind].append(cells.row(key | {"draws": n_draws, "rule": RULE, "close": CLOSE}, work))
    values = {
        kind: {name: np.concatenate([row.values[name] for row in rows]) for name in rows[0].values}
        for kind, rows in blocks.items()
    }
    seconds = time.perf_counter() - start
    queries = ", ".join(str(len(pool.judgments.query_ids)) for pool in sources)
    n_runs = sum(len(pool.runs) for pool in sources)
    notes = [
        f"{corpus}: {n_runs} runs, {queries} judged queries; {n_blocks * n_draws} draws of each kind, seed "
        f"{request.seed}; measure {METRIC}; default: mean of min-max normalised scores",
        "gain: mean gain over the default on the queries that the choice has not seen; harmful: share of draws in "
        f"which it is below -{HARM:g}; apparent: gain on the queries that were chosen by",
    ]
    return Report("fuse", _name(corpus), request.seed, _rows(values, seconds), notes, _sections(values))


def _draws(sources: list[Pool], kind: str, seed: list[int], n_draws: int) -> Row:
    """Return figures of some draws, one array for each figure and number of judged queries."""
    rng, start = np.random.default_rng(seed), time.perf_counter()
    found = [_draw(sources[int(rng.integers(len(sources)))], kind, rng) for _ in range(n_draws)]
    values = {name: np.array([draw[name] for draw in found]) for name in found[0]}
    return Row(kind, values, time.perf_counter() - start)


def _draw(pool: Pool, kind: str, rng: np.random.Generator) -> dict[str, float]:
    names = rng.permutation(sorted(pool.runs))[: KINDS[kind]].tolist()
    if kind == "copies":
        runs = {f"copy {n}": noisy_copy(pool.runs[names[0]], rng) for n in (1, 2)}
    else:
        runs = {name: pool.runs[name] for name in names}
    measured = Measured(Legs.from_runs(runs), pool.judgments, METRIC)
    space = default_space(measured.legs)
    grid = None if kind == "copies" else grid_values(measured) - measured.values(space.default)
    legs = [measured.leg_values(leg).mean() for leg in range(len(runs))]
    order, figures = rng.permutation(len(measured)), {"apart": float(max(legs) - min(legs))}
    for n in SIZES:
        train, test = order[:n], order[n:]
        report = prove(measured, space, queries=train)
        gains = measured.values(report.fusion) - measured.values(space.default)
        part = _figures(report.gain.help, report.gain.interval, gains, train, test)
        if grid is not None:
            best = grid[int(np.argmax(grid[:, train].mean(axis=1)))]
            part |= {"grid": best[test].mean(), "grid apparent": best[train].mean(), "grid all": best.mean()}
        figures |= {f"{name} {n}": float(value) for name, value in part.items()}
    return figures


def _figures(
    helps: bool, interval: tuple[float, float], gains: np.ndarray, train: np.ndarray, test: np.ndarray
) -> dict[str, Any]:
    low, high = interval
    held_out, error = gains[test].mean(), gains[test].std(ddof=1) / np.sqrt(len(test))
    slack = 1.96 * error
    half = (high - low) / 2
    near = abs(held_out - (low + high) / 2) <= np.hypot(half, slack)
    return {
        "gain": held_out,
        "all": gains.mean(),
        "apparent": gains[train].mean(),
        "left": float(gains.any()),
        "covered": float(low <= gains.mean() <= high),
        "near": float(near),
        "inside": float(low <= held_out <= high),
        "helps": float(helps),
        "wrong": float(helps and held_out < 0),
    }


def _rows(values: dict[str, dict[str, np.ndarray]], seconds: float) -> list[Row]:
    rows = []
    for kind in ("pairs", "triples"):
        for n in SIZES:
            for system, name in SYSTEMS.items():
                gains = values[kind][f"{name} {n}"]
                figures = {"gain": gains, "harmful": (gains < -HARM).astype(float)}
                rows.append(Row(system, figures, seconds, {"task": kind, "queries": n}))
    return rows


def _sections(values: dict[str, dict[str, np.ndarray]]) -> list[Section]:
    header = [
        "legs",
        "judged queries",
        "apparent gain",
        "apparent gain of the grid",
        "harmful on all queries",
        "by the grid",
        "default kept",
        "interval holds",
        "held-out, with its error",
        "held-out",
        "helps",
    ]
    lines = []
    for kind in ("pairs", "triples"):
        for n in SIZES:
            found = {
                name: values[kind][f"{name} {n}"].mean() for name in ("left", "covered", "near", "inside", "helps")
            }
            shares = [1 - found["left"], *(found[name] for name in ("covered", "near", "inside", "helps"))]
            apparent = [values[kind][f"{name} {n}"].mean() for name in ("apparent", "grid apparent")]
            shares = [float((values[kind][f"{name} {n}"] < -HARM).mean()) for name in ("all", "grid all")] + shares
            lines.append([kind, str(n), *(f"{gain:+.3f}" for gain in apparent), *(f"{share:.3f}" for share in shares)])
    claims = [
        [str(n), f"{int(values['copies'][f'helps {n}'].sum())} of {len(values['copies'][f'helps {n}'])}",
         f"{values['copies'][f'helps {n}'].mean():.3f}", f"{values['copies'][f'gain {n}'].mean():+.4f}"]
        for n in SIZES
    ]  # fmt: skip
    return [
        Section("Coverage of the stated interval, and claims", header, lines),
        Section(
            f"Legs of similar strength: means less than {CLOSE:g} apart",
            ["legs", "judged queries", "draws", "gain", "gain of the grid", "harmful", "harmful by the grid"],
            [_close(values[kind], kind, n) for kind in ("pairs", "triples") for n in SIZES],
        ),
        Section(
            "False claims: both legs are copies of one run with noise",
            ["judged queries", "helps", "share", "gain"],
            claims,
        ),
    ]


def _close(values: dict[str, np.ndarray], kind: str, n: int) -> list[str]:
    """Return gain and harm of the draws with legs of similar strength, where the possible gain is small."""
    close = values["apart"] < CLOSE
    found = [values[f"{name} {n}"][close] for name in SYSTEMS.values()]
    if not close.any():
        return [kind, str(n), "0", "", "", "", ""]
    gains, shares = [f"{gain.mean():+.4f}" for gain in found], [f"{(gain < -HARM).mean():.3f}" for gain in found]
    return [kind, str(n), str(int(close.sum())), *gains, *shares]


def _name(corpus: str) -> str:
    """Return the corpus name for file names."""
    return corpus.rstrip("/").rpartition("/")[2]


class Pool(NamedTuple):
    """Runs of the same queries, by name, and their judgments."""

    runs: dict[str, Run]
    judgments: Judgments


def read_runs(folder: Path) -> Pool:
    """Read the runs of a folder with `runs/` and `qrels.txt` or `qrels.txt.gz`."""
    paths = sorted(map(str, (folder / "runs").glob("*.run*")))
    qrels = next((path for path in (folder / "qrels.txt.gz", folder / "qrels.txt") if path.exists()), None)
    if len(paths) < 3 or qrels is None:
        raise TacitError(f"{folder}: want qrels.txt and three or more files runs/*.run")
    return Pool({run_name(path): read_run(path) for path in paths}, read_qrels(qrels))


def read_texts(data: Path, name: str) -> Pool:
    """Make runs of our systems and of MiniLM vectors on a judged text collection."""
    from tacit.search import Searcher

    folder = data / "text" / name
    documents, judgments = read_collection(folder / "docs.jsonl.gz"), read_qrels(folder / "qrels.txt")
    queries = read_queries(folder / "queries.jsonl")
    judged = set(judgments.query_ids)
    queries = queries.take([row for row, query in enumerate(queries.ids) if query in judged])
    runs = {
        method: Searcher(method, stem=True).fit(documents).run(queries, DEPTH, exclude_self=False) for method in METHODS
    }
    return Pool(runs | {"minilm": _vector_run(data / "vectors" / f"{name}.npz", queries.ids)}, judgments)


def _vector_run(path: Path, query_ids: Sequence[str]) -> Run:
    with np.load(path, allow_pickle=False) as file:
        docs, queries = file["docs"].astype(np.float32), file["queries"].astype(np.float32)
        doc_ids, row_of = file["doc_ids"].tolist(), {name: row for row, name in enumerate(file["query_ids"].tolist())}
    nested = {}
    for query in query_ids:
        if query in row_of:
            scores = docs @ queries[row_of[query]]
            best = np.argsort(-scores, kind="stable")[:DEPTH]
            nested[query] = {str(doc_ids[doc]): float(scores[doc]) for doc in best.tolist()}
    return Run.from_dict(nested, "minilm")


def noisy_copy(run: Run, rng: np.random.Generator) -> Run:
    """Return the same documents with noise added to their standardised scores, so two copies are equally good."""
    score = np.empty(len(run))
    for query in range(len(run.query_ids)):
        rows = run.query == query
        mine = run.score[rows]
        spread = float(mine.std()) or 1.0
        score[rows] = (mine - mine.min()) / spread + NOISE * rng.normal(size=len(mine))
    return Run(run.query_ids, run.doc_ids, run.query, run.doc, score, run.name)


def pools(data: Path, corpus: str) -> list[Callable[[], Pool]]:
    """Return functions that read the pools of a corpus name."""
    if corpus == "texts":
        return [lambda name=name: read_texts(data, name) for name in TEXTS]  # type: ignore[misc]
    folder = data / "runs" / corpus if corpus == "dl21" else Path(corpus)
    return [lambda: read_runs(folder)]


def grid_values(measured: Measured) -> np.ndarray:
    """Return values of every variant on every query, (n_variants, n_queries)."""
    found = []
    for family in (Family("minmax", floor=LOWEST), Family("l2")):
        columns = measured.normalized(family)
        for weights in lattice(columns.shape[1], POINTS[columns.shape[1]]):
            found += [measured.values_of(mean(columns, weights)) for mean in (arithmetic, harmonic, geometric)]
    return np.stack(found)


def arithmetic(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted mean, zeros included."""
    return np.asarray(columns @ weights / weights.sum())


def harmonic(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted harmonic mean of the scores above 0."""
    used = columns > 0
    below = np.where(used, 1 / np.where(used, columns, 1), 0) @ weights
    return np.divide(used @ weights, below, out=np.zeros(len(columns)), where=below > 0)


def geometric(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted geometric mean of the scores above 0.

    >>> geometric(np.array([[4.0, 1.0], [2.0, 0.0]]), np.array([0.5, 0.5])).round(6).tolist()
    [2.0, 2.0]
    """
    used = columns > 0
    logs = np.where(used, np.log(np.where(used, columns, 1)), 0) @ weights
    total = used @ weights
    mean = np.divide(logs, total, out=np.zeros(len(columns)), where=total > 0)
    return np.where(total > 0, np.exp(mean), 0)
