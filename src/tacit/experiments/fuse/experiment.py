"""Experiment `fuse`: how often do learned weights lose to the default, and to the best of a grid?

A draw selects two or three runs at random, and 10, 20 or 40 judged queries to choose a fusion. The choice is measured
on the other queries: its gain over the default, harmful if below -.005. With 40 judged queries of 53 only 13 are left,
so even a harmless choice is sometimes below -.005 by chance; "harmful on all queries" is the same share by the gain on
all queries, including those used for the choice. The grid takes the best of all variants on the same queries. Coverage
is the share of draws whose stated interval contains the gain of the choice on all queries of the collection; "held-out"
compares with the gain on the other queries, allowing for their own sampling error. For false claims both legs are
copies of one run with noise, so no gain is possible. Draws of legs of similar strength, where the possible gain is
small, are also shown separately.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from tacit.core import track
from tacit.experiments.cells import CellCache
from tacit.experiments.fuse.grid import grid_values
from tacit.experiments.fuse.task import Pool, noisy_copy, pools
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request
from tacit.judge.fuse.front import default_space
from tacit.judge.fuse.learning import N_SAMPLES, OTHER, PRICE, UNSEEN
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.measured import Measured
from tacit.judge.fuse.proof import prove

CORPORA = ("dl21", "texts")
SIZES = (10, 20, 40)
KINDS = {"pairs": 2, "triples": 3, "copies": 2}
SYSTEMS = {"tacit": "gain", "grid": "grid"}
RULE = [PRICE, OTHER, UNSEEN, N_SAMPLES]  # part of the key of cells, so that cells of another rule are not used
HARM = 0.005
CLOSE = 0.1  # maximum difference between the means of legs of similar strength
BLOCK = 10  # draws per cell
METRIC = "nDCG@10"


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
