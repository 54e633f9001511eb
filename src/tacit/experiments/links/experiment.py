"""Experiment `links`: given a document, rank all others so that the documents it links to come first.

The supervised tables of HTR (2 and 3) and SSI (1 to 4) on our corpora. Every system has the same split, words and
candidates; parameters are chosen on validation links only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from tacit.core import UsageError, track
from tacit.experiments.cells import CellCache
from tacit.experiments.links.dice_tables import dice_sections
from tacit.experiments.links.figures import link_figures
from tacit.experiments.links.plan import PARAMETERS, PRINTED_EPOCHS, SETTINGS, Cell, plan_links, printed_params
from tacit.experiments.links.splits import split_links
from tacit.experiments.links.task import CORPORA, LinkedCorpus, LinkTask, read_linked_corpus
from tacit.experiments.report import Report, Row
from tacit.experiments.request import Request
from tacit.retrieve import get_method

SYSTEMS = ("tfidf", "bm25", "lsi+tfidf", "ssi-uv", "htr", "htr-residual")
FULL_SYSTEMS = (
    "tfidf", "bm25", "qe", "lsi", "lsi+tfidf", "perceptron", "hash-6m-i",
    "ssi-d", "ssi-full", "ssi-uu", "ssi-uv-noi", "ssi-uv", "ssi-uv-d",
    "htr-gamma0", "htr", "htr-identity", "htr-residual", "htr+pairs",
    "hash-1m", "hash-3m", "hash-6m", "hash-1m-i", "hash-3m-i", "ssi-full-zerodiag",
    "ssi-sparse-1000", "ssi-sparse-100", "ssi-sparse-10", "ssi-uv-n", "cfh-1gram",
)  # fmt: skip
ALL_WORDS_SYSTEMS = (
    "tfidf", "lsi+tfidf", "ssi-uv", "ssi-uv-n", "cfh-1gram", "cfh-2gram", "cfh-1+2gram", "htr", "htr-residual",
)  # fmt: skip
FULL_ALL_WORDS_SYSTEMS = (
    *ALL_WORDS_SYSTEMS, "bm25", "qe", "ssi-uu", "hash-1m", "hash-3m", "hash-6m", "hash-1m-i", "hash-3m-i", "hash-6m-i",
    "htr-gamma0", "htr-identity",
)  # fmt: skip
QUICK_SYSTEMS = ("tfidf", "bm25", "lsi", "lsi+tfidf", "ssi-uv", "htr-residual")

TaskOf = Callable[[Cell], LinkTask]


def run(request: Request) -> Report:
    """Measure six systems; `full` adds all others, all splits, three seeds of the main systems, and the ablations."""
    some, most = (SYSTEMS, FULL_SYSTEMS) if request.words else (ALL_WORDS_SYSTEMS, FULL_ALL_WORDS_SYSTEMS)
    usual = most if request.full else some
    systems = request.systems_of(QUICK_SYSTEMS if request.quick else usual)
    check_systems(request, systems)
    corpus = read_linked_corpus(request.corpus_folder("linked", CORPORA), request.words)

    @lru_cache(maxsize=1)  # cells of one split are consecutive
    def task(split: str, seed: int, share: float) -> LinkTask:
        parts = split_links(corpus.links, split, seed).thinned(share, seed)
        rows = parts.test_queries(request.n_queries, seed)
        return LinkTask(corpus.features, corpus.features, parts, rows, request.threads)

    def task_of(cell: Cell) -> LinkTask:
        return task(cell["split"], cell["seed"], cell.get("share", 1.0))

    report = run_cells("links", request, corpus, plan_links(request, systems), task_of)
    return report if request.quick else replace(report, sections=dice_sections(corpus))


def check_systems(request: Request, systems: Sequence[str]) -> None:
    """Raise UsageError for an unknown system or a parameter of none of them, before hours of work."""
    request.check_params({name: get_method(name).make() for name in systems})


def run_cells(
    experiment: str, request: Request, corpus: LinkedCorpus, cells: Sequence[Cell], task_of: TaskOf
) -> Report:
    """Measure cell by cell; the notes name systems that cannot run under a setting."""
    cache, name = CellCache(request), corpus.documents.name
    rows, notes = [], _notes(corpus, request)
    for cell in track(cells, f"{experiment} on {name}"):
        reason = _why_not(cell)
        if not reason:
            rows.append(cache.row(cell, partial(_measure_cell, cell, task_of, request)))
        elif reason not in notes:  # equal for every seed
            notes.append(reason)
    if not rows:
        raise UsageError(notes[-1])
    report = Report(experiment, name, request.seed, rows, notes)
    return replace(report, figures=link_figures(report))


def _why_not(cell: Cell) -> str:
    """Return why a system cannot run on the split of a cell, which has new items; empty if it can."""
    ranker = get_method(cell["system"]).make()
    if cell["split"] == "documents" and ranker.needs_pairs:
        try:
            ranker.check_new_items()
        except UsageError as reason:
            return f"{cell['system']} cannot run on the split {cell['split']}: {reason}"
    return ""


def _measure_cell(cell: Cell, task_of: TaskOf, request: Request) -> Row:
    """Fit and measure one system under one setting."""
    task, method = task_of(cell), get_method(cell["system"])
    start = time.perf_counter()
    params = {parameter: cell[name] for name, parameter in PARAMETERS.items() if name in cell}
    params |= {"dim": cell["dim"], "seed": cell["seed"]} | printed_params(cell) | dict(request.params)
    ranker = task.fit(method, **params)
    values = task.measure(ranker)
    seconds = time.perf_counter() - start
    setting = request.shown({name: cell[name] for name in SETTINGS if cell.get(name) is not None})
    if isinstance(cell["dim"], list):  # chosen from several
        setting["dim"] = ranker.get_params()["dim"]
    return Row(cell["system"], values, seconds, setting, ranker.chosen(), getattr(ranker, "epochs_", ()))


def _notes(corpus: LinkedCorpus, request: Request) -> list[str]:
    notes = [
        corpus.summary,
        f"at most {request.n_queries} test queries; candidates: every other document except known links",
        "seconds: choosing, fitting and ranking all test queries, without reading and counting words",
    ]
    if request.as_printed:
        n_epochs = request.params.get("n_epochs", PRINTED_EPOCHS)
        notes.append(
            f"recipe printed: {n_epochs} epochs of as many steps as there are training links, rate by validation, the "
            "epoch with the best validation kept; first vectors of standard deviation 1 (normal) or of variance 1/dim "
            "(scaled)"
        )
    if corpus.max_words is not None:
        notes.append(f"rankers of word pairs (full, sparse, hashed W) see the {corpus.max_words} best words of a page")
    return notes
