"""Experiment `preference`: rankers of LETOR lists with few judged rows (PREF, figures 5 and 7).

Labels are kept for a share of each query's documents, drawn at random or the top m by BM25 (`--labels top`), and
validation labels are reduced alike; test lists are complete (new queries). Semi-supervised rankers use the unjudged
rows, the others do not.

    -beta0     the same ranker with beta = 0, nothing else changed: no regularizer over neighbours
    -judged    the same ranker without all terms from unjudged rows (neighbours, expected pairs, columns computed from
               full lists, decorrelation); as in `linear`, features are scaled over all rows
    -printed   PREF's own recipe: sums, three hidden units, K = 5, beta and epoch by nDCG on validation lists
    -eq4       -printed with PREF's equation 4 instead of q = 1 / K (its section 6.2): there-and-back probabilities,
               which sum to one over the pairs of a list, so that the regularizer has far less weight
    -content   neighbours by the cosine of texts instead of features, if the corpus has texts

A full run varies the number of neighbours K, and with random labels beta and the depth of labels. K has beta = 1 with
random labels; where the top is judged, beta is chosen by validation for each K, and by content as well as by features.

`upper-bound` is `lambdarank` with all labels of training and validation. Where the top is judged, expected pairs are
off: they take the judged rows for a random sample of their list.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tacit.core import Lists, UsageError, check_choice, track
from tacit.experiments.cells import CellCache
from tacit.experiments.lists.letor_task import (
    BM25,
    LETOR_SETS,
    TEXT_CORPORA,
    FoldLists,
    LetorCorpus,
    TextCorpus,
    cut_labels,
    measure_folds,
    read_letor_corpus,
    read_text_corpus,
)
from tacit.experiments.lists.preference_figures import gain_figure, preference_figures
from tacit.experiments.lists.preference_tables import (
    EXTRA_SETTINGS,
    NUMBERS,
    agreement_table,
    all_agreements,
    depth_table,
    gain_table,
    gains_by_agreement,
    preference_tables,
)
from tacit.experiments.report import Report, Row
from tacit.experiments.request import Request, with_params
from tacit.rerank import ListRanker
from tacit.rerank.linear.standing import BY_EVIDENCE
from tacit.rerank.registry import get_method
from tacit.rerank.rows import graded_pairs

CORPORA = ("MQ2008", *LETOR_SETS[:2], *TEXT_CORPORA)  # the default first
PRINTED = (
    "ssbt-printed-beta0", "ssbt-printed", "ssbt-printed-eq4", "sslambdarank-printed-beta0", "sslambdarank-printed",
    "sslambdarank-printed-eq4",
)  # fmt: skip
SYSTEMS = (
    "linear", "bt", "ssbt-judged", "ssbt-beta0", "ssbt", "standing-judged", "standing", "lambdarank",
    "sslambdarank-judged", "sslambdarank-beta0", "sslambdarank", *PRINTED, "sslambdamart", "lightgbm", "rankboost",
    "ranksvm", "upper-bound",
)  # fmt: skip
CONTENT = "-content"
TEXT_SYSTEMS = (
    "linear", "standing-judged", "standing", "lambdarank", *PRINTED, f"ssbt-printed{CONTENT}",
    f"sslambdarank-printed{CONTENT}", "rankboost", "ranksvm", "upper-bound",
)  # fmt: skip
# Terms of ssbt and sslambdarank that use unjudged rows, and the parameters that turn them off.
PARTS: dict[str, dict[str, Any]] = {
    "neighbours": {"beta": 0.0},
    "expected pairs": {"expected": 0.0},
    "quantiles": {"scale": "global"},
    "decorrelation": {"decorrelate": 0.0},
}
NOTHING_UNJUDGED = {name: value for part in PARTS.values() for name, value in part.items()}
# Rows that are another system with other parameters.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{name}-beta0": (name, {"beta": 0.0}) for name in ("ssbt", "sslambdarank", "ssbt-printed", "sslambdarank-printed")
} | {
    "ssbt-printed-eq4": ("ssbt-printed", {"weighting": "there-and-back"}),
    "sslambdarank-printed-eq4": ("sslambdarank-printed", {"weighting": "there-and-back"}),
    "ssbt-judged": ("ssbt", NOTHING_UNJUDGED),
    "sslambdarank-judged": ("sslambdarank", NOTHING_UNJUDGED),
    "standing-judged": ("standing", {"view": "features"}),
    "upper-bound": ("lambdarank", {}),
}
QUICK_SYSTEMS = ("linear", "ssbt", "standing", "upper-bound")
SHARES, TOPS = (0.05, 0.1, 0.2, 0.5, 1.0), (2, 3, 5, 10, 15)
MEASURES = {"nDCG-letor@10": "nDCG-letor@10", "nDCG-exp@10": "nDCG-exp@10", "MAP": "AP"}  # the second is PREF's measure
# Number, from 0, of BM25 of the whole document in each set.
BM25_COLUMN = {"MQ2008": 24, "OHSUMED-letor3-QueryLevelNorm": 40, "OHSUMED-letor2": 20} | dict.fromkeys(
    TEXT_CORPORA, BM25
)
EFFECT_SYSTEM = "sslambdarank-printed"
BETAS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)
EFFECT_BETA = 1.0  # while the number of neighbours changes, for random labels
EFFECT_SHARE, EFFECT_TOP = 0.1, 5
# Depth against breadth: the same number of labels, by labels for each judged query.
DEEP_SYSTEMS, DEPTHS = ("linear", "standing"), (2, 4, 8, 16)
LEAST_DEPTH = DEPTHS[0]  # minimum depth of all judged queries; it determines the number of labels
TESTED = "nDCG-letor@10"

Cell = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A LETOR set whose labels can be reduced."""

    corpus: LetorCorpus
    labels: str

    def cut(self, cell: Cell) -> list[FoldLists]:
        """Return all folds with the labels of a cell; test lists stay complete."""
        return [
            replace(fold, train=self._keep(fold.train, cell), vali=self._keep(fold.vali, cell)) for fold in self.corpus
        ]

    def _keep(self, lists: Lists, cell: Cell) -> Lists:
        if cell["system"] == "upper-bound":
            return lists
        if "depth" in cell:
            return keep_deep(lists, cell["depth"], LEAST_DEPTH * len(lists), cell["seed"])
        if self.labels == "random":
            return cut_labels(lists, cell["share"], cell["seed"])
        return keep_top(lists, cell["k"], lists.X[:, BM25_COLUMN[self.corpus.name]])


def keep_top(lists: Lists, m: int, ranks: np.ndarray) -> Lists:
    """Keep the labels of the m rows of each list with the highest ranks.

    >>> lists = Lists(np.zeros((4, 1)), np.ones(4), np.array([0, 4]), ["7"], [""] * 4)
    >>> keep_top(lists, 2, np.array([0.1, 0.9, 0.3, 0.5])).y.tolist()
    [nan, 1.0, nan, 1.0]
    """
    order = np.lexsort((np.arange(len(ranks)), -ranks, lists.qid))
    place = np.arange(len(order)) - lists.starts[lists.qid[order]]
    y = np.full(len(lists.y), np.nan)
    kept = order[place < m]
    y[kept] = lists.y[kept]
    return replace(lists, y=y)


def keep_deep(lists: Lists, depth: int, n_labels: int, seed: int) -> Lists:
    """Keep the labels of `depth` random rows of each query, in a random order of queries until n_labels are kept.

    >>> lists = Lists(np.zeros((6, 1)), np.ones(6), np.array([0, 3, 6]), ["7", "8"], [""] * 6)
    >>> np.isfinite(keep_deep(lists, 3, 3, seed=0).y).tolist()  # all labels of one query
    [True, True, True, False, False, False]
    """
    rng = np.random.default_rng(seed)
    y = np.full(len(lists.y), np.nan)
    for number in rng.permutation(len(lists)).tolist():
        rows = np.arange(lists.starts[number], lists.starts[number + 1])
        rows = rows[np.isfinite(lists.y[rows])]
        kept = rng.permutation(rows)[: min(depth, n_labels)]
        y[kept] = lists.y[kept]
        n_labels -= len(kept)
    return replace(lists, y=y)


def run(request: Request) -> Report:
    """Measure the systems for each share of labels; `full` adds seeds, effects of K and beta, and depth of labels."""
    name = request.corpus_of(CORPORA)
    has_texts = name in TEXT_CORPORA
    labels = check_choice("labels", request.labels or ("top" if has_texts else "random"), ("random", "top"))
    systems = request.systems_of(QUICK_SYSTEMS if request.quick else TEXT_SYSTEMS if has_texts else SYSTEMS)
    request.check_params({system: _make(system, 0, labels, request) for system in systems})
    for system in systems:
        if system.endswith(CONTENT) and not has_texts:
            raise UsageError(f"{system} needs texts, which {name} has not; want one of {', '.join(TEXT_CORPORA)}")
    task = Task((read_text_corpus if has_texts else read_letor_corpus)(request.data_folder, name), labels)
    cells = list(_cells(request, task, systems))
    cache = CellCache(request)
    rows: list[Row] = []
    for cell in track(cells, f"preference on {name}"):
        known = next((row for row in rows if row.system == cell["system"] == "upper-bound"), None)
        if known is not None:  # has all labels for every share, so it is measured once
            rows.append(replace(known, setting=setting_of(cell)))
        else:
            rows.append(cache.row(cell, partial(measure_cell, task, cell, request)))
    plain = [row for row in rows if not set(row.setting) & set(EXTRA_SETTINGS)]
    content = task.corpus.similarities(task.corpus.lists) if isinstance(task.corpus, TextCorpus) else None
    agreements = all_agreements(task.corpus.lists, content)
    gains = gains_by_agreement(rows, agreements, TESTED)
    tables = [agreement_table(agreements), *gain_table(gains, TESTED)]
    sections = [*preference_tables(plain), *depth_table(rows, TESTED), *tables]
    report = Report("preference", name, request.seed, rows, _notes(task, request), sections, test="wilcoxon")
    figures = preference_figures(report, labelled_pairs(task, cells)) | gain_figure(gains, name, TESTED)
    return replace(report, figures=figures)


def _cells(request: Request, task: Task, systems: Sequence[str]) -> Iterator[Cell]:
    """Return one cell for each seed, share and system; then the effects."""
    base = {"experiment": "preference", "corpus": task.corpus.name, "labels": task.labels}
    key, values = ("share", SHARES) if task.labels == "random" else ("k", TOPS)
    for seed in request.seeds:
        for value in values[1:2] if request.quick else values:
            for system in systems:
                yield base | {"system": system, "seed": seed, key: value}
    if request.full:
        yield from _effects(task, base | {"seed": request.seed})
    if request.full and task.labels == "random":
        for seed in request.seeds:
            for depth in DEPTHS:
                for system in DEEP_SYSTEMS:
                    yield base | {"system": system, "seed": seed, "depth": depth}
            for part in PARTS:
                yield base | {"system": "ssbt", "seed": seed, "share": EFFECT_SHARE, "without": part}
            for view in BY_EVIDENCE:
                yield base | {"system": "standing", "seed": seed, "share": EFFECT_SHARE, "view": view}


def _effects(task: Task, base: Cell) -> Iterator[Cell]:
    """Numbers of neighbours, by features and by content; weights of the regularizer."""
    is_random = task.labels == "random"
    base = base | ({"share": EFFECT_SHARE} if is_random else {"k": EFFECT_TOP})
    by_content = [EFFECT_SYSTEM + CONTENT] if isinstance(task.corpus, TextCorpus) else []
    for system in (EFFECT_SYSTEM, *by_content):
        for n_neighbours in NUMBERS:
            yield base | {"system": system, "n_neighbours": n_neighbours}
    for beta in BETAS if is_random else BETAS[:1]:
        yield base | {"system": EFFECT_SYSTEM, "beta": beta}


def _make(system: str, seed: int, labels: str, request: Request, **changed: Any) -> ListRanker:
    """Return an unfitted ranker by its name in this experiment."""
    name, variant = VARIANTS.get(system, (system.removesuffix(CONTENT), {}))
    ranker = get_method(name).offer(seed=seed, threads=request.threads).set_params(**variant | changed)
    return with_params(ranker, ({"expected": 0.0} if labels == "top" else {}) | dict(request.params))


def measure_cell(task: Task, cell: Cell, request: Request) -> Row:
    """Fit and measure one system on all folds."""
    changed = {"beta": EFFECT_BETA} if {"n_neighbours", "share"} <= cell.keys() else {}
    changed |= {name: cell[name] for name in ("n_neighbours", "beta", "view") if name in cell}
    changed |= PARTS.get(cell.get("without", ""), {})
    chosen: list[Mapping[str, float]] = []
    begin = time.perf_counter()

    def score(fold: FoldLists) -> np.ndarray:
        ranker = _make(cell["system"], cell["seed"], task.labels, request, **changed)
        near = {}
        if cell["system"].endswith(CONTENT):
            assert isinstance(task.corpus, TextCorpus)  # checked by `run`
            near = {"similarities": task.corpus.similarities(fold.train)}
        ranker.fit(fold.train.X, fold.train.y, fold.train.qid, validation=fold.vali, **near)
        chosen.append(ranker.chosen())
        return ranker.predict(fold.test.X, fold.test.qid)

    values = measure_folds(task.cut(cell), score, MEASURES)
    return Row(cell["system"], values, time.perf_counter() - begin, request.shown(setting_of(cell)), _medians(chosen))


def setting_of(cell: Cell) -> dict[str, Any]:
    """Return the setting of the row."""
    return {name: cell[name] for name in ("share", "k", "seed", *EXTRA_SETTINGS) if name in cell}


def _medians(chosen: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return medians over the folds of the chosen values."""
    return {name: float(np.median([choice[name] for choice in chosen])) for name in chosen[0]}


def labelled_pairs(task: Task, cells: Sequence[Cell]) -> dict[float, float]:
    """Return the mean number of judged pairs of a fold's training lists, for each share (or m)."""
    found: dict[float, float] = {}
    for cell in (cell for cell in cells if "depth" not in cell):
        value = cell["share"] if "share" in cell else cell["k"]
        if value not in found and cell["system"] != "upper-bound":
            found[value] = float(np.mean([len(graded_pairs(f.train.y, f.train.starts)) for f in task.cut(cell)]))
    return found


def _notes(task: Task, request: Request) -> list[str]:
    kept = "max(2, round(share n)) random rows" if task.labels == "random" else "the k best rows by BM25"
    methods = ("linear", "ssbt", "sslambdarank", "ssbt-printed", "sslambdarank-printed")
    budget = "; ".join(f"{name} {dict(get_method(name).params)}" for name in methods)
    spreads = get_method("standing").make().get_params()["score_spread"]
    return [
        task.corpus.summary,
        f"labels of {kept} of each query are kept, in validation as in training; test lists are whole; "
        f"{len(request.seeds)} seed(s)",
        f"chosen on each fold's validation lists: {budget}; standing one of the spreads of scores {spreads}; bt the "
        "epoch only",
        "rows named -beta0 have no regularizer over neighbours, rows named -judged no term from unjudged rows at all, "
        "and nothing else changed; -eq4: q of equation 4, which sum to one in a list; -content: neighbours by the "
        "cosine of texts; upper-bound is lambdarank with all labels"
        + ("; expected pairs are off" if task.labels == "top" else ""),
        "tables over seeds: values averaged over seeds for each query; p of Wilcoxon's signed-rank test over queries, "
        "before / after Holm's correction over the columns of a line; the best row is chosen by the same values",
    ]
