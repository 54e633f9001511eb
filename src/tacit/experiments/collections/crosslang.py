"""Experiment `crosslang`: given a Japanese document, rank the English documents that its translation links to.

SSI's cross-language tables (9, and mate finding) and its figure 2 on our corpora. Words with Latin letters are removed
from the Japanese texts, the mate is not a candidate, and no out-link of a test mate is in any training task.
Two figures: training and test error by epochs (figure 2 of SSI), and MAP by the share of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from tacit.core import track
from tacit.data import has_edict, read_edict
from tacit.experiments.cells import CellCache
from tacit.experiments.collections.crosslang_systems import Setting, SystemBench, make_part, needs_dictionary
from tacit.experiments.collections.crosslang_task import (
    CORPORA,
    CrossCorpus,
    CrossTask,
    read_cross_corpus,
    split_mates,
    translation_matrix,
)
from tacit.experiments.figures import Draw, draw_means, new_figure, save
from tacit.experiments.report import Report, Row
from tacit.experiments.request import Request

SYSTEMS = (
    "cl-lsi", "ssi-cross", "ssi-cross-multitask", "htr-cross", "tfidf-dict", "lsi-dict", "ssi-dict",
    "cl-lsi+tfidf-dict", "ssi-cross+tfidf-dict", "ssi-cross+ssi-dict", "ssi-cross+cl-lsi", "ssi-cross-multitask+cl-lsi",
)  # fmt: skip
QUICK_SYSTEMS = ("cl-lsi", "ssi-cross", "tfidf-dict", "cl-lsi+tfidf-dict", "ssi-cross+tfidf-dict")
FULL_SYSTEMS = (
    *SYSTEMS, "ssi-cross-multitask-target", "ssi-cross-multitask-ja", "htr-cross+ssi-dict", "lsi-dict+tfidf-dict",
    "tfidf-mate", "lsi-mate", "ssi-mate", "lsi-mate+tfidf-mate", "cl-lsi+tfidf-mate", "ssi-cross+tfidf-mate",
    "ssi-cross+ssi-mate",
)  # fmt: skip
SHARES = (0.01, 0.04, 0.1, 0.4)
FOR_FEW_PAIRS = ("ssi-cross", "ssi-cross-multitask", "ssi-cross-multitask-ja")
FOR_MATES = ("cl-lsi", "ssi-cross", "ssi-cross+cl-lsi")
DIMS = (100, 50)  # the default first, because significance tests compare the first row of a system
COLOURS = ("#4c78a8", "#e45756", "#54a24b")


@dataclass(frozen=True)
class Cell:
    """One system under one setting."""

    system: str
    seed: int
    setting: Setting

    def row_setting(self, words: int | str) -> dict[str, Any]:
        """Return the setting of the row."""
        found = {"task": self.setting.task, "share": self.setting.share, "words": words, "seed": self.seed}
        return found | ({} if self.setting.dim is None else {"dim": self.setting.dim})


def run(request: Request) -> Report:
    """Measure the systems; `full` adds three seeds, more systems and dimensions."""
    words, name = request.words_label, request.corpus_of(CORPORA)
    cells, notes = _plan(request), []
    request.check_params({part: make_part(part) for cell in cells for part in cell.system.split("+")})
    if not has_edict():
        cells = [cell for cell in cells if not needs_dictionary(cell.system)]
        notes.append("rows on word-by-word translations are left out: Debian's package edict is not installed")
    corpus = read_cross_corpus(request.data_folder, name, request.words)
    translation = _translation(corpus) if has_edict() else None

    @lru_cache(maxsize=1)  # cells of one seed are consecutive
    def bench(seed: int) -> SystemBench:
        return SystemBench(corpus, split_mates(corpus, seed), translation, seed, request.threads, request.params)

    cache = CellCache(request)
    n_queries = request.n_queries

    def compute(cell: Cell) -> Row:
        return _measure(cell, bench(cell.seed), n_queries, request.shown(cell.row_setting(words)))

    key = {"experiment": "crosslang", "corpus": name, "words": words, "n_queries": n_queries}
    rows = [
        cache.row(key | asdict(cell), partial(compute, cell))
        for cell in track(cells, f"crosslang on {name}", len(cells))
    ]
    notes = [corpus.summary, *_notes(n_queries, translation), *notes]
    return Report("crosslang", name, request.seed, rows, notes, figures=cross_figures(rows))


def _plan(request: Request) -> list[Cell]:
    if request.quick:
        systems = request.systems or QUICK_SYSTEMS
        return [
            Cell(system, seed, Setting(dim=_dim(system, 50), n_epochs=4, concepts=200))
            for seed in request.seeds
            for system in systems
        ]
    systems = request.systems or (FULL_SYSTEMS if request.full else SYSTEMS)
    dims = (*DIMS, 200) if request.full else DIMS
    return [Cell(system, seed, setting) for seed in request.seeds for system, setting in _settings(systems, dims)]


def _settings(systems: Sequence[str], dims: Sequence[int]) -> Iterator[tuple[str, Setting]]:
    """Return the settings: the main table, few pairs, then mate finding; two dimensions for rows with a curve."""
    for system in systems:
        yield system, Setting(dim=_dim(system, dims[0]))
    for share in SHARES:
        for system in FOR_FEW_PAIRS:
            if system in systems:
                yield system, Setting(share=share, dim=dims[0])
    for dim in dims[1:]:
        for share in (*SHARES, 1.0):
            if "ssi-cross" in systems:
                yield "ssi-cross", Setting(share=share, dim=dim)
    for system in FOR_MATES:
        if system in systems:
            yield system, Setting("mates", dim=_dim(system, dims[0]))


def _dim(system: str, learned: int) -> int | None:
    """Return the dimension of learned vectors; None if no part of the system has any."""
    return learned if "ssi" in system or "htr" in system else None


def _measure(cell: Cell, bench: SystemBench, n_queries: int, setting: dict[str, Any]) -> Row:
    fitted = bench.fitted(cell.system, cell.setting)
    is_mates = cell.setting.task == "mates"
    wanted = bench.split.test_mates if is_mates else bench.split.test
    task = CrossTask.of(wanted, not is_mates, n_queries, cell.seed, bench.threads)
    return Row(cell.system, task.measure(fitted.score), fitted.seconds, setting, fitted.chosen, fitted.epochs)


def _translation(corpus: CrossCorpus) -> sp.csr_array:
    return translation_matrix(corpus.japanese.vocabulary_, corpus.english.vectorizer.vocabulary_, read_edict())


def _notes(n_queries: int, translation: sp.csr_array | None) -> list[str]:
    notes = [
        f"at most {n_queries} test queries; candidates: every English document except the mate (task links)",
        "task mates: find the mate itself among all documents; systems are trained on mates, and MAP equals MRR",
        "share: share of the Japanese-English training pairs; multi-tasking uses all English training links, and "
        "ssi-cross-multitask-ja the links between Japanese documents too",
        "-mate: the query is the English mate itself, a translation of the full document by people",
        "seconds: choosing and fitting, for a mixture with its parts, without reading and counting words",
    ]
    if translation is not None:
        known = int((translation.indptr[1:] > translation.indptr[:-1]).sum())
        notes.append(f"EDICT translates {known:,} of {translation.shape[0]:,} Japanese words")
    return notes


def cross_figures(rows: Sequence[Row]) -> dict[str, Draw]:
    """Return curves of errors during training, and MAP against the share of the pairs, if they were measured."""
    first_seed = [row for row in rows if row.setting["seed"] == rows[0].setting["seed"]]
    links = [row for row in first_seed if row.setting["task"] == "links"]
    monitored = [row for row in links if row.epochs and "test_rank_loss" in row.epochs[0]]
    figures: dict[str, Draw] = {}
    if monitored:
        figures["crosslang-epochs"] = partial(_epochs, monitored)
    if any(row.setting["share"] < 1 for row in links):
        figures["crosslang-few-pairs"] = partial(_few_pairs, links)
    return figures


def _epochs(rows: Sequence[Row], path: Path) -> None:
    """Draw a panel for each share of the pairs; training error dashed, test error solid, a colour per dimension."""
    shares = sorted({row.setting["share"] for row in rows})
    figure, panels = new_figure(3.2 * len(shares), 3.6, n_columns=len(shares))
    for share, axes in zip(shares, panels if len(shares) > 1 else [panels], strict=True):
        some = sorted((row for row in rows if row.setting["share"] == share), key=lambda row: row.setting["dim"])
        for row, colour in zip(some, COLOURS, strict=False):
            epochs = [epoch["epoch"] for epoch in row.epochs]
            for name, style in (("train", "--"), ("test", "-")):
                errors = [100 * epoch[f"{name}_rank_loss"] for epoch in row.epochs]
                axes.plot(epochs, errors, style, color=colour, label=f"{name}, N = {row.setting['dim']}")
        axes.set(title=f"{share:.0%} of the pairs", xlabel="epoch", ylabel="rank loss %")
    (panels[0] if len(shares) > 1 else panels).legend(fontsize="small")
    save(figure, path)


def _few_pairs(rows: Sequence[Row], path: Path) -> None:
    figure, axes = new_figure(6, 4.5)
    few = dict.fromkeys(row.system for row in rows if row.setting["share"] < 1)
    for system in few:
        mine = [row for row in rows if row.system == system]
        of_one_dim = [row for row in mine if row.setting.get("dim") == mine[0].setting.get("dim")]
        points = sorted(of_one_dim, key=lambda row: row.setting["share"])
        draw_means(axes, [100 * row.setting["share"] for row in points], points, "MAP", system, capsize=3)
    axes.set(xscale="log", xlabel="Japanese-English pairs, % of all", ylabel="MAP with 95% interval")
    axes.legend()
    save(figure, path)
