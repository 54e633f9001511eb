"""Experiment `transduction`: a ranker trained for every test list against rankers trained once (TRANS).

Tables 2 and 3 on the available LETOR sets, with the five given folds; `full` adds figure 5 (the first 40, 60 and 80%
of the training queries). Selected features (table 4) are from the test lists that FG improves by more than 20%;
statistics of the importance weights (table 5, figures 3 and 6) are from the test lists of the first fold.

    -printed             with `as_printed`, the paper's recipe: kernels of raw features, whose degree, width, time of
                         diffusion and number of components are chosen on validation lists; KLIEP's bandwidth by the
                         highest likelihood
    iw-printed-clipped   with weights above the 95th percentile clipped
    iw-printed-footnote  with the costs of footnote 7
    uniform, fg+uniform  AdaCost with equal costs, which halves each step of RankBoost: the control of IW and FG+IW

All boosted rankers have the same maximum number of rounds. The paper mentions normalised features and does not say how
the number of rounds was chosen. So rows with scale "zscore" have features scaled within each list and, if they find
features, five kernels with five components each; with rounds "fixed" they keep all rounds, with "chosen" the number
that is best on validation lists. Rows with scale "none" have raw features and chosen rounds.
Two figures: systems (figure 4), and measures by training queries (figure 5).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import track
from tacit.experiments.cells import CellCache
from tacit.experiments.figures import Draw, new_figure, save, shown_systems
from tacit.experiments.lists.letor_task import (
    LETOR_SETS,
    FoldLists,
    LetorCorpus,
    first_queries,
    measure_lists,
    read_letor_corpus,
)
from tacit.experiments.lists.transduction_analysis import analyse_fold, guard_parts, improved_lists
from tacit.experiments.report import Report, Row, Section, against_baseline
from tacit.experiments.request import Request, with_params
from tacit.features.kernel_pca import FIVE_KERNELS, KernelPca
from tacit.rerank import AdaCostRanker, KliepAdaptation, ListRanker, get_method

SYSTEMS = (
    "rankboost", "lightgbm", "kpca-train", "kpca-pooled", "fg", "iw", "fg+iw", "fg-precomputed", "iw-precomputed",
    "guarded",
)  # fmt: skip
PRINTED = ("fg-printed", "iw-printed", "iw-printed-clipped", "iw-printed-footnote", "fg+iw-printed")
SCALED = ("rankboost", "uniform", "kpca-train", "fg", "fg+uniform", "iw", "fg+iw")  # the rows on z-scores
UNIFORM = {"uniform": "adacost", "fg+uniform": "fg"}  # with the method that each is based on
CLIPPED, FOOTNOTE = "-clipped", "-footnote"
CLIP = 0.95
ABLATED = ("rankboost", "fg", "iw", "guarded")
SHARES = (0.4, 0.6, 0.8)
BASELINES = ("rankboost", "lightgbm")
TESTED = ("MAP", "nDCG-letor@10")

# Number of validation lists, each with a trained ranker, for the choice of the number of rounds.
N_VALIDATION = 30
N_ROUNDS = 300

QUICK_LISTS, QUICK_ROUNDS = 5, 40

Cell = dict[str, Any]
SHOWN = ("MAP", "nDCG-letor@10")


def run(request: Request) -> Report:
    """Measure the systems on all folds; `quick` takes a few lists of the first."""
    systems = request.systems_of(tuple(dict.fromkeys([*SYSTEMS, *SCALED])), printed=PRINTED)
    request.check_params({system: _make(system, request) for system in systems})
    corpus = read_letor_corpus(request.data_folder, request.corpus_of(LETOR_SETS))
    folds = _quick_folds(corpus) if request.quick else list(corpus)
    cache = CellCache(request)
    cells = list(_cells(request, corpus, systems))
    rows = [
        cache.row(cell, partial(_measure, cell, folds, request))
        for cell in track(cells, f"transduction on {corpus.name}", total=len(cells))
    ]
    analysis = analyse_fold(folds[0], request.seed)
    report = Report("transduction", corpus.name, request.seed, rows, _notes(corpus, folds, request))
    guarded = [row for row in rows if row.system == "guarded" and row.setting.get("share", 1.0) == 1.0]
    parts = [guard_parts(folds, row) for row in guarded]
    whole = {row.system: row for row in rows if _is_main(row)}
    if {"fg", "rankboost"} <= set(whole):
        parts.append(improved_lists(folds, whole["fg"], whole["rankboost"]))
    report = replace(report, sections=[*_baseline_tests(report), *parts, *analysis.sections])
    figures = result_figures(report) | analysis.figures
    return replace(report, figures={f"transduction-{corpus.name}-{name}": draw for name, draw in figures.items()})


def _cells(request: Request, corpus: LetorCorpus, systems: Sequence[str]) -> list[Cell]:
    of_all = {"experiment": "transduction", "corpus": corpus.name, "seed": request.seed}
    raw = [
        of_all | {"share": share, "system": system, "scale": "none", "rounds": "chosen"}
        for share in ((*SHARES, 1.0) if request.full else (1.0,))
        for system in systems
        if system not in UNIFORM and (share == 1 or system in ABLATED)
    ]
    scaled = [
        of_all | {"share": 1.0, "system": system, "scale": "zscore", "rounds": rounds}
        for rounds in ("fixed", "chosen")
        for system in systems
        if system in SCALED
    ]
    return raw + scaled


def _measure(cell: Cell, folds: Sequence[FoldLists], request: Request) -> Row:
    """Fit one system on every fold and measure it on all test lists."""
    start = time.perf_counter()
    values: list[dict[str, np.ndarray]] = []
    chosen: list[dict[str, float]] = []
    for fold in folds:
        ranker = _make(cell["system"], request, None if cell["scale"] == "none" else cell["scale"])
        train = first_queries(fold.train, cell["share"])
        validation = fold.vali if cell["rounds"] == "chosen" else None
        with warnings.catch_warnings():
            # Short lists are counted in the notes.
            warnings.filterwarnings("ignore", message=".*have too few documents")
            ranker.fit(train.X, train.y, train.qid, validation=validation)
            scores = ranker.predict(fold.test.X, fold.test.qid)
        values.append(measure_lists(fold.test, scores))
        chosen.append(ranker.chosen())
    joined = {name: np.concatenate([part[name] for part in values]) for name in values[0]}
    means = {name: float(np.mean([part[name] for part in chosen])) for name in chosen[0]}
    setting = {"scale": cell["scale"], "rounds": cell["rounds"]}
    setting |= {"share": cell["share"]} if request.full else {}
    return Row(cell["system"], joined, time.perf_counter() - start, setting, means)


def _is_main(row: Row) -> bool:
    """Return whether the row has all training queries, raw features and rounds chosen on validation lists."""
    return row.setting.get("share", 1.0) == 1.0 and row.setting.get("scale") == "none"


def _make(system: str, request: Request, scale: str | None = None) -> ListRanker:
    n_rounds = QUICK_ROUNDS if request.quick else N_ROUNDS
    params = {"n_validation": N_VALIDATION} | ({"n_precomputed": 4} if request.quick else {})
    method = get_method(UNIFORM.get(system, system.removesuffix(CLIPPED).removesuffix(FOOTNOTE)))
    ranker: ListRanker = method.offer(seed=request.seed, threads=request.threads, **params)
    changed: dict[str, Any] = {"n_rounds": n_rounds}
    if system.endswith(CLIPPED):
        changed["adapt"] = KliepAdaptation(cautious=False, clip=CLIP, seed=request.seed)
    if system.endswith(FOOTNOTE):
        changed["base"] = AdaCostRanker(n_rounds, swap_costs=True)
    if system == "fg+uniform":
        changed["base"] = AdaCostRanker(n_rounds)
    if scale is not None:
        changed |= {"scale": scale} | ({"adapt": "kliep-printed"} if "iw" in system else {})
        changed |= {"discover": KernelPca(FIVE_KERNELS)} if "fg" in system or "kpca" in system else {}
    return with_params(with_params(ranker, changed), request.params)


def _quick_folds(corpus: LetorCorpus) -> list[FoldLists]:
    """Return a few lists of the first fold."""
    fold = next(iter(corpus))
    few = np.arange(QUICK_LISTS)
    return [FoldLists(fold.name, fold.train.take(np.arange(15)), fold.vali.take(few), fold.test.take(few))]


def _baseline_tests(report: Report) -> list[Section]:
    """Test every system against each baseline, as in the paper."""
    sections = []
    whole = [row for row in report.rows if row.setting.get("share", 1.0) == 1.0]
    for scale, rounds in (("none", "chosen"), ("zscore", "fixed"), ("zscore", "chosen")):
        rows = [row for row in whole if (row.setting["scale"], row.setting["rounds"]) == (scale, rounds)]
        for baseline in (name for name in (*BASELINES, *UNIFORM) if any(row.system == name for row in rows)):
            lines = against_baseline(rows, baseline, TESTED, report.test)
            if lines:
                title = f"Each system against {baseline}, scale {scale}, rounds {rounds} (paired t-test)"
                header = ["metric", "system", "gain", "95% interval", "p", "Holm-corrected p"]
                sections.append(Section(title, header, lines))
    return sections


def _notes(corpus: LetorCorpus, folds: Sequence[FoldLists], request: Request) -> list[str]:
    lengths = np.concatenate([np.diff(fold.test.starts) for fold in folds])
    return [
        corpus.summary,
        f"measured on {len(lengths)} test queries of {len(folds)} folds; rounds, at most {N_ROUNDS}, chosen by MAP on "
        f"validation lists, at most {N_VALIDATION} of them where a ranker is trained for each; kernels of fg-printed "
        "and fg+iw-printed on 10 of these",
        f"{int((lengths < 8).sum())} test lists have fewer than the 8 documents that 25 components need; "
        f"{int((lengths < 2).sum())} have one document",
        "seconds: choosing, fitting and ranking on all folds",
    ]


def result_figures(report: Report) -> dict[str, Draw]:
    """Draw bars of the best systems; lines over the share of training queries if several were measured."""
    figures: dict[str, Draw] = {"systems": partial(_draw_systems, report)}
    if len({row.setting.get("share", 1.0) for row in report.rows}) > 1:  # a full run
        figures["training-queries"] = partial(_draw_shares, report)
    return figures


def _draw_systems(report: Report, path: Path) -> None:
    rows = [row for row in report.rows if row.setting.get("share", 1.0) == 1.0 and row.setting["scale"] == "none"]
    shown = shown_systems(rows, "MAP", keep=("rankboost", "lightgbm"))
    rows = [row for row in rows if row.system in shown]
    metrics = list(rows[0].values)
    figure, axis = new_figure(10, 4)
    width = 0.8 / len(rows)
    for number, row in enumerate(rows):
        places = np.arange(len(metrics)) + (number - len(rows) / 2) * width
        axis.bar(places, [row.metrics[metric] for metric in metrics], width, label=row.system)
    axis.set_xticks(np.arange(len(metrics)), metrics)
    axis.set_ylim(0.8 * min(min(row.metrics.values()) for row in rows))
    axis.set_title(f"{report.experiment} on {report.corpus}")
    axis.legend(ncols=5, fontsize="x-small")
    save(figure, path)


def _draw_shares(report: Report, path: Path) -> None:
    figure, axes = new_figure(9, 4, n_columns=len(SHOWN))
    several = {row.system for row in report.rows if row.setting["share"] < 1}
    for axis, metric in zip(axes, SHOWN, strict=True):
        for system in sorted(several):
            points = sorted(
                (row.setting["share"], row.metrics[metric])
                for row in report.rows
                if row.system == system and row.setting["scale"] == "none"
            )
            axis.plot(*zip(*points, strict=True), marker="o", label=system)
        axis.set(xlabel="share of training queries", ylabel=metric)
    axes[0].legend()
    save(figure, path)
