"""Experiment `questions`: text queries, with 0, 5, 10, 20, 40 or all judged queries of the training folds.

Five-fold cross-validation over queries, drawn by the seed; related queries are in one fold, or, with `--split queries`,
in any. A system is trained on the judged queries of the training folds, and every query is measured once, over the
whole collection. `bm25`, with stemmed words, is the baseline. Numbers of judged queries are prefixes of one random
order, so a smaller set is part of a larger one. Members of `blend` are also measured alone, as they are in the
label-free blend. Of a collection in several languages the English part is measured this way, and every language without
judged queries.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import UsageError, check_choice, track
from tacit.experiments.cells import CellCache
from tacit.experiments.collections.question_task import CORPORA, MEASURES, Fold, QuestionTask, read_languages
from tacit.experiments.figures import Draw, draw_means, new_figure, save, shown_systems
from tacit.experiments.report import Report, Row, Section, against_baseline
from tacit.experiments.request import Request, with_params
from tacit.features import has_stemmer
from tacit.metrics import holm
from tacit.retrieve import BlendRanker, CollectionRanker, get_method
from tacit.retrieve.rank_fusion import reciprocal_rank_fusion
from tacit.retrieve.vectors import join_vectors
from tacit.search import TwoStageRanker

BASELINE, BLEND = "bm25", "blend"
NUMBERS: tuple[int | None, ...] = (0, 5, 10, 20, 40, None)  # numbers of judged queries; None: all of the training folds
SPLITS = ("related", "queries")  # related queries in one fold, or every query separately
QUICK_NUMBERS, QUICK_FOLDS, QUICK_DIM = (0, 20), 2, 50


@dataclass(frozen=True)
class System:
    """A row of the experiment: a method of `retrieve`, with or without stems, one member alone, a second stage.

    `encoded`: with the encoder of the request; `fused`: reciprocal rank fusion of BM25 and the member.
    """

    method: str
    stem: bool = True
    member: str = ""
    rerank: str = ""
    encoded: bool = False
    fused: bool = False

    def make(self, request: Request) -> CollectionRanker:
        """Return an unfitted ranker."""
        dim = QUICK_DIM if request.quick else None
        ranker: CollectionRanker = get_method(self.method).offer(dim=dim, seed=request.seed, threads=request.threads)
        ranker = with_params(ranker, request.params)
        if not self.rerank:
            return ranker
        return TwoStageRanker(ranker, self.rerank, seed=request.seed, threads=request.threads)

    def learns(self, request: Request) -> bool:
        """Return whether judged queries change it."""
        return not self.member and self.make(request).learns_from_pairs


# To add a system, add one line.
SYSTEMS = {
    "bm25": System("bm25"),
    "bm25-unstemmed": System("bm25", stem=False),
    "qe": System("qe"),
    "htr-reconstruction": System("htr-reconstruction"),
    "htr-residual": System("htr-residual"),
    "blend": System("blend"),
    **{f"blend-{member}": System("blend", member=member) for member in ("bm25", "latent", "feedback")},
    "blend+standing": System("blend", rerank="standing"),
    "blend+encoder": System("blend", encoded=True),
    "encoder": System("blend", member="vectors", encoded=True),
    "rrf": System("blend", member="vectors", encoded=True, fused=True),
}
BASELINES = (BASELINE, BLEND, "encoder", "rrf")

Cell = dict[str, Any]


@dataclass(frozen=True)
class RankFusion:
    """Reciprocal rank fusion of BM25 and another ranker, which reads vectors after the words."""

    words: CollectionRanker
    other: CollectionRanker

    def scores(self, rows: Any, exclude: Any = None) -> np.ndarray:
        """Return fused scores of all items; items of `exclude` are ranked below the others."""
        n_words = self.words.n_features_
        found = [self.words.scores(rows[:, :n_words]), self.other.scores(rows)]
        return reciprocal_rank_fusion(found, None if exclude is None else ~exclude.toarray())

    def chosen(self) -> dict[str, float]:
        """Return no choices."""
        return {}


def run(request: Request) -> Report:
    """Measure the systems for every number of judged queries; `full` has three seeds, `quick` two numbers and folds."""
    names = request.systems_of([name for name in SYSTEMS if request.encoder or not SYSTEMS[name].encoded], SYSTEMS)
    if request.encoder is None and any(SYSTEMS[name].encoded for name in names):
        raise UsageError("systems with an encoder need --encoder NAME_OR_FOLDER")
    request.check_params({name: SYSTEMS[name].make(request) for name in names})
    related = check_choice("--split", request.split or SPLITS[0], SPLITS) == SPLITS[0]
    parts = read_languages(request.data_folder, request.corpus or CORPORA[0], request.words, request.threads)
    parts = parts if related else {name: task.ungrouped() for name, task in parts.items()}
    task = next(iter(parts.values()))
    cache, rows = CellCache(request), list[Row]()
    cells = list(_cells(request, task, names))
    for cell in track(cells, f"questions on {task.documents.name}"):
        same = next((row for row in rows if _is_same(row, cell, request)), None)
        if same is None:
            rows.append(cache.row(cell, partial(_measure, task, cell, request)))
        else:
            rows.append(replace(same, setting=_setting(cell, request)))
    report = Report("questions", task.documents.name, request.seed, rows, _notes(task, request))
    sections = [_means(report), *_gains(report), *_labels(report)]
    if len(parts) > 1 and {BASELINE, BLEND} <= set(names):
        sections.append(_languages(parts, request))
    return replace(report, sections=sections, figures=question_figures(report))


def _cells(request: Request, task: QuestionTask, names: Sequence[str]) -> Iterator[Cell]:
    """Return one cell for each seed, number of judged queries and system that can learn from that many."""
    for seed in request.seeds:
        sizes = [len(fold.train) for fold in task.folds(seed)]
        for n in QUICK_NUMBERS if request.quick else NUMBERS:
            for name in names:
                if (n or 0) >= min(sizes) or (n == 0 and SYSTEMS[name].make(request).needs_pairs):
                    continue
                yield {
                    "experiment": "questions",
                    "corpus": request.corpus or CORPORA[0],
                    "words": request.words_label,
                    "system": name,
                    "seed": seed,
                    "cut": n,
                    "queries": round(np.mean(sizes)) if n is None else n,
                    "share": 1.0 if n is None else round(n / float(np.mean(sizes)), 4),
                    **({"encoder": request.encoder} if SYSTEMS[name].encoded else {}),
                    **({} if request.split in (None, SPLITS[0]) else {"split": request.split}),
                }


def _is_same(row: Row, cell: Cell, request: Request) -> bool:
    """Return whether a row has the values of a cell: same system and seed, for a method that learns from no pair."""
    learns = SYSTEMS[cell["system"]].learns(request)
    return not learns and row.system == cell["system"] and row.setting["seed"] == cell["seed"]


def _measure(task: QuestionTask, cell: Cell, request: Request) -> Row:
    """Fit one system on every fold and measure it on the fold's test queries."""
    start, system = time.perf_counter(), SYSTEMS[cell["system"]]
    folds = task.folds(cell["seed"])[: QUICK_FOLDS if request.quick else None]
    if cell["cut"] == 0 or not system.learns(request):  # one ranker for all folds
        folds = [Fold(np.empty(0, np.int64), np.concatenate([fold.test for fold in folds]))]
    found, chosen = list[dict[str, np.ndarray]](), list[dict[str, float]]()
    for fold in folds:
        ranker, queries = _fit(task, fold, cell, request)
        chosen.append(ranker.chosen())
        found.append(task.measure(ranker, queries, fold.test))
    values = {name: np.concatenate([part[name] for part in found]) for name in task.measures}
    means = {name: float(np.mean([part[name] for part in chosen if name in part])) for part in chosen for name in part}
    return Row(cell["system"], values, time.perf_counter() - start, _setting(cell, request), means)


def _fit(task: QuestionTask, fold: Fold, cell: Cell, request: Request) -> tuple[Any, Any]:
    """Return the ranker fitted on the judged queries of a fold, and the rows of all queries for it."""
    system = SYSTEMS[cell["system"]]
    ranker = system.make(replace(request, seed=cell["seed"]))
    read = task.read(ranker, system.stem)
    items, queries, further = read.items, read.queries(task.queries.full_texts()), read.further()
    if system.encoded and request.encoder is not None:
        encoded = task.encode(request.encoder, read)
        queries, further = join_vectors(queries, encoded.queries), further | encoded.given
    key = cell["seed"], system.encoded
    if "members" in ranker.reads:
        further["members"] = task.members.get(key) or task.members.get((cell["seed"], False))
    if not len(fold.train) or not system.learns(request):
        ranker.fit(None, items, **further)
        task.members.update({key: ranker} if "members" in ranker.reads and not system.rerank else {})
    else:
        rows = np.sort(fold.train[: cell["cut"]])
        further |= {"zeros": task.training_pairs(rows, relevant=False)} if "zeros" in ranker.reads else {}
        ranker.fit(queries[rows], items, task.training_pairs(rows), **further)
    if system.member and isinstance(ranker, BlendRanker):
        ranker = ranker.only(system.member)
    return (RankFusion(get_method(BASELINE).offer().fit(None, items), ranker) if system.fused else ranker), queries


def _setting(cell: Cell, request: Request) -> dict[str, Any]:
    names = ["words", "seed", "share", "queries", *(["split"] if "split" in cell else [])]
    return request.shown({name: cell[name] for name in names}) | {"stem": SYSTEMS[cell["system"]].stem}


def _means(report: Report) -> Section:
    """Return the mean AP by system and number of judged queries, first seed."""
    numbers = list(dict.fromkeys(row.setting["queries"] for row in report.rows))
    table = []
    for system in dict.fromkeys(row.system for row in report.rows):
        found = {row.setting["queries"]: f"{row.metrics['AP']:.3f}" for row in _first_seed(report, system)}
        table.append([system, *(found.get(number, "") for number in numbers)])
    return Section("AP by number of judged queries", ["system", *map(str, numbers)], table)


def _gains(report: Report) -> list[Section]:
    """Compare each system with the baseline, and with `blend`, by number of judged queries."""
    sections = []
    for baseline in BASELINES:
        lines = [
            [str(group[0].setting["seed"]), str(group[0].setting["queries"]), *line]
            for group in report.comparable().values()
            if any(row.system == baseline for row in group)
            for line in against_baseline(group, baseline, group[0].values, report.test)
        ]
        title = f"Each system against {baseline} (paired t-test, Holm-corrected within a metric and number)"
        header = ["seed", "queries", "metric", "system", "gain", "95% interval", "p", "Holm-corrected p"]
        sections += [Section(title, header, lines)] if lines else []
    return sections


def _labels(report: Report) -> list[Section]:
    """Return the gain of judged queries for the same system: by number, for systems that learn."""
    lines = []
    for row in report.rows:
        first = next((r for r in _same(report, row) if r.setting["queries"] == 0), None)
        if first is None or row.setting["queries"] == 0 or first.seconds == row.seconds:
            continue
        pair = [replace(first, system="no labels"), row]
        lines += [
            [str(row.setting["seed"]), str(row.setting["queries"]), *line[:-1]]  # nothing to correct
            for line in against_baseline(pair, "no labels", row.values, report.test)
        ]
    title = "What judged queries add to the same system without them (paired t-test)"
    header = ["seed", "queries", "metric", "system", "gain", "95% interval", "p"]
    return [Section(title, header, lines)] if lines else []


def _languages(parts: Mapping[str, QuestionTask], request: Request) -> Section:
    """Compare `blend` with the baseline without judged queries, in each language."""
    lines = list[list[str]]()
    cell = {"seed": request.seed, "cut": 0, "words": request.words_label, "queries": 0, "share": 0.0}
    for name, task in track(parts.items(), "languages", len(parts)):
        base, blend = (_measure(task, cell | {"system": system}, request) for system in (BASELINE, BLEND))
        stems = task.language + (" stems" if has_stemmer(task.language) else " words")
        for metric, _, *found in against_baseline([base, blend], BASELINE, MEASURES):
            means = [f"{row.metrics[metric]:.4f}" for row in (base, blend)]
            lines.append([metric, name, stems, *means, *found])
    rows = list[list[str]]()
    for metric in MEASURES:
        of_metric = [line for line in lines if line[0] == metric]
        corrected = holm(float(line[-1]) for line in of_metric)
        rows += [[*line[:-1], f"{p:.3g}"] for line, p in zip(of_metric, corrected, strict=True)]
    title = f"{BLEND} against {BASELINE} without judged queries, by language (paired t-test)"
    header = ["metric", "language", "read as", BASELINE, BLEND, "gain", "95% interval", "p", "p, Holm over languages"]
    return Section(title, header, rows)


def _same(report: Report, row: Row) -> list[Row]:
    return [
        other for other in report.rows if (other.system, other.setting["seed"]) == (row.system, row.setting["seed"])
    ]


def _first_seed(report: Report, system: str) -> list[Row]:
    return [row for row in report.rows if row.system == system and row.setting["seed"] == report.seed]


def question_figures(report: Report) -> dict[str, Draw]:
    """Draw AP against the number of judged queries."""
    return {f"questions-{report.corpus}": partial(_draw, report)}


def _draw(report: Report, path: Path) -> None:
    figure, axes = new_figure(6, 4.5)
    most = max(row.setting["queries"] for row in report.rows)
    last = [row for row in report.rows if row.setting["queries"] == most and row.setting["seed"] == report.seed]
    for system in shown_systems(last, "AP", keep=(BASELINE,)):
        rows = _first_seed(report, system)
        draw_means(axes, [row.setting["queries"] for row in rows], rows, "AP", system, capsize=3)
    axes.set(xscale="symlog", xlabel="judged queries", ylabel="AP with 95% interval", title=report.corpus)
    axes.legend()
    save(figure, path)


def _notes(task: QuestionTask, request: Request) -> list[str]:
    sizes = [len(fold.test) for fold in task.folds(request.seed)]
    measured = f"; the first {QUICK_FOLDS} are measured" if request.quick else ""
    alone = "folds are drawn query by query" if request.split == SPLITS[1] else "related queries are in one fold"
    notes = [
        task.summary,
        f"{len(sizes)} folds of {', '.join(map(str, sizes))} test queries; {alone}{measured}",
        "queries: judged queries of the training folds that a system learns from; share: their share of all of these",
        "every document is a candidate" if task.parts is None else "candidates: the documents of the query's project",
        f"{BASELINE}: words are stemmed, as in all systems with stem True",
        "seconds: choosing, fitting and ranking on all folds; reading and counting words only with the first system",
    ]
    if len(task.measures) > 2:
        notes.append("-judged: unjudged documents are removed from the ranking before measuring")
    return notes
