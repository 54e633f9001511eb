"""Experiment `reuters`: semantic search without labels (HTR, figure 1).

Test stories are queries, training stories are ranked. No system uses topics, links or judgments, so mixtures with
tf-idf have their default weight. `htr-reconstruction-alone` is the same model without that mixture (alpha = 1).
`--as-printed` adds `htr-reconstruction-printed`, the learned part alone, trained as printed in the paper.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tacit.core import track
from tacit.experiments.figures import new_figure, save
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request, with_params
from tacit.experiments.reuters.task import RANKS, TopicTask, read_reuters
from tacit.retrieve import CollectionRanker, ReconstructionRanker, get_method

ALONE, PRINTED = "htr-reconstruction-alone", "htr-reconstruction-printed"
SYSTEMS = ("tfidf", "lsi", "lsi+tfidf", ALONE, "htr-reconstruction")
DIM, FULL_DIMS, QUICK_QUERIES = 100, (50, 100, 200), 300

Curves = Mapping[str, np.ndarray]


def run(request: Request) -> Report:
    """Fit and measure; `quick` has fewer queries and smaller models, `full` three seeds and dimensions."""
    names = request.systems_of(SYSTEMS, printed=(PRINTED,))
    request.check_params({name: make_ranker(name, None, 0) for name in names})
    task = read_reuters(request.data_folder, request.words, request.threads)
    if request.quick:
        task = task.first_queries(QUICK_QUERIES, request.seed)
    rows, curves = [], dict[str, np.ndarray]()
    for name, dim, seed in track(list(_cells(names, request)), "reuters"):
        row, curve = _measure(task, name, dim, seed, request)
        rows.append(row)
        curves.setdefault(name, curve)
    figures = {"precision": partial(draw_precision, curves)}
    return Report("reuters", "reuters21578", request.seed, rows, _notes(task), [_section(curves)], figures)


def make_ranker(name: str, dim: int | None, seed: int) -> CollectionRanker:
    """Return an unfitted ranker by its name in this experiment."""
    if name == ALONE:
        return ReconstructionRanker(dim or DIM, alpha=1.0, seed=seed)
    if name == PRINTED:
        return ReconstructionRanker(dim or DIM, alpha=1.0, recipe="printed", start="scaled", seed=seed)
    return get_method(name).offer(dim=dim, seed=seed)


def _cells(names: Sequence[str], request: Request) -> Iterator[tuple[str, int | None, int]]:
    """Return system, dimension and seed of each row; the first row of a system is drawn."""
    dims = (DIM, *(dim for dim in FULL_DIMS if dim != DIM)) if request.full else (50,) if request.quick else (DIM,)
    for seed in request.seeds:
        for name in names:
            for dim in dims if name.startswith(("lsi", "htr", "ssi-u")) else (None,):
                yield name, dim, seed


def _measure(task: TopicTask, name: str, dim: int | None, seed: int, request: Request) -> tuple[Row, np.ndarray]:
    start = time.perf_counter()
    ranker = with_params(make_ranker(name, dim, seed), request.params).fit(None, task.items)
    fitted = time.perf_counter() - start
    values, curve = task.measure(ranker)
    setting = {"words": request.words_label, "seed": seed} | ({} if dim is None else {"dim": dim})
    return Row(name, values, fitted, request.shown(setting), ranker.chosen()), curve


def _section(curves: Curves) -> Section:
    rows = [[name, *(f"{value:.3f}" for value in curve)] for name, curve in curves.items()]
    return Section("Precision against rank", ["system", *map(str, RANKS)], rows)


def draw_precision(curves: Curves, path: Path) -> None:
    """Draw figure 1: mean precision against the number of retrieved stories."""
    figure, axes = new_figure(6, 4.5)
    for name, curve in curves.items():
        axes.plot(RANKS, curve, marker="o", markersize=3, label=name)
    axes.set(
        xscale="log", xlabel="stories retrieved", ylabel="precision", title="Reuters-21578, unseen stories as queries"
    )
    axes.legend(frameon=False)
    save(figure, path)


def _notes(task: TopicTask) -> list[str]:
    return [
        task.summary,
        "similarity is the Jaccard index of topic sets: the gain of nDCG@10; a story is relevant from 0.5 on",
        "no labels were used: mixtures have their default weight; seconds are for fitting",
    ]
