"""Experiment `links`: given a document, rank all others so that the documents it links to come first.

The supervised tables of HTR (2 and 3) and SSI (1 to 4) on our corpora. Every system has the same split, words and
candidates; parameters are chosen on validation links only.

**Cells.** A cell is a system under a setting. A full run has all splits (or the requested one) with default parameters,
three seeds of the main systems and one of the others, and one ablation at a time on the first split and seed:
dimension, gamma, number of frequent words, share of the training links; the dimension of LSI is chosen on validation.
Its default systems include systems with a full W only on corpora where that takes minutes.

With `as_printed`, every system of the papers also has rows trained by the papers' recipe, from both starts, with the
rate chosen on validation and the same number of steps for all.

**DICE.** Tables 7 and 8 of SSI have words and 2-grams that CFH hashes, with the words of the highest DICE coefficient.
`cfh-1gram` hashes the words beyond the 5,000 most frequent ones, which have their own vectors. The paper does not say
whether co-occurrence is counted by document or by sentence. The tables have both; the methods count documents.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tacit.core import UsageError, track
from tacit.experiments.cells import CellCache
from tacit.experiments.collections.link_figures import link_figures
from tacit.experiments.collections.link_task import (
    CORPORA,
    SPLITS,
    LinkedCorpus,
    LinkTask,
    read_linked_corpus,
    task_maker,
)
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request
from tacit.features import TextVectorizer
from tacit.features.cfh import Correlated, correlated_words, dice_table, informative_terms
from tacit.retrieve import get_method
from tacit.retrieve.registry import N_FREQUENT

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

SETTINGS = ("split", "words", "seed", "k", "recipe", "start", "dim", "gamma", "share", "frequent")
# Setting of a cell and the parameter of the system.
PARAMETERS = {"gamma": "gamma", "frequent": "n_words", "recipe": "recipe", "start": "start"}
OF_THE_PAPERS = ("perceptron", "hash-", "ssi-", "htr", "htr-gamma0", "htr-identity")
PRINTED_STARTS = ("normal", "scaled")
PRINTED_EPOCHS = 60  # of as many steps as there are training pairs; validation is flat by then
LSI_DIMS = (50, 100, 200, 500, 750, 1000)  # a full run chooses from these on validation, as in SSI
DIMS, GAMMAS, SHARES = (100, 200, 500), (0.0, 0.1, 0.3, 3.0), (0.01, 0.03, 0.1, 0.3)
FREQUENT = (5000, 2000, 10_000)  # the default first, because significance tests compare the first row of a system
LEARN_VECTORS = ("lsi", "ssi-u", "htr")
WITH_GAMMA = ("htr", "htr-identity", "htr-residual")
FOR_FEW_LINKS = ("ssi-uv", "htr-residual")
OF_ALL_SEEDS = ("tfidf", "ssi-uv", "htr", "htr-residual")
FULL_W = ("perceptron", "ssi-full", "ssi-sparse")  # prefixes of names
CORPORA_FOR_FULL_W = ("mdn_ja_en", "foldoc")

Cell = dict[str, Any]
TaskOf = Callable[[Cell], LinkTask]
N_ROWS, MOST_GRAMS = 10, 50_000
SMALL_GRAMS = 2000  # number of the most frequent 2-grams, which are left out
SENTENCE_END = re.compile(r"(?<=[.!?])\s")
HEADER = ["best words by documents", "best words by sentences"]


def run(request: Request) -> Report:
    """Measure six systems; `full` adds all others, all splits, three seeds of the main systems, and the ablations."""
    some, most = (SYSTEMS, FULL_SYSTEMS) if request.words else (ALL_WORDS_SYSTEMS, FULL_ALL_WORDS_SYSTEMS)
    usual = most if request.full else some
    systems = request.systems_of(QUICK_SYSTEMS if request.quick else usual)
    check_systems(request, systems)
    corpus = read_linked_corpus(request.corpus_folder("linked", CORPORA), request.words)
    task = task_maker(corpus, request)

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


def make_cell(request: Request, experiment: str, system: str, seed: int, **setting: Any) -> Cell:
    """Return one system under one setting, on a linked corpus."""
    return {
        "experiment": experiment,
        "corpus": request.corpus_of(CORPORA, own=True),
        "words": request.words_label,
        "n_queries": request.n_queries,
        "seed": seed,
        "system": system,
        "split": request.split or SPLITS[0],
        "dim": usual_dim(system, request),
    } | setting


def usual_dim(system: str, request: Request) -> int | list[int] | None:
    """Return the default dimension of a system's vectors, or the candidates; None if it learns none."""
    if not system.startswith(LEARN_VECTORS):
        return None
    if system.startswith("lsi") and request.full:
        return list(LSI_DIMS)
    return 50 if request.quick else 200 if system.startswith("lsi") else 100


def plan_links(request: Request, systems: Sequence[str]) -> list[Cell]:
    """Return the cells of `links`, the main table first."""
    splits = SPLITS if request.full and request.split is None else (request.split or SPLITS[0],)
    main = [
        make_cell(request, "links", system, seed, split=split) | frequent
        for split in splits
        for seed in request.seeds
        for system in systems
        if seed == request.seed or system in OF_ALL_SEEDS or not request.full
        if request.systems or not request.full or _is_affordable(system, request)
        for frequent in _numbers_of_words(system, request)
    ]
    cells = main + ([*_ablations(request, systems)] if request.full else [])
    return with_printed(request, cells)


def with_printed(request: Request, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells; `as_printed` marks the papers' systems as mined, and adds their printed forms."""
    if not request.as_printed:
        return list(cells)
    found: list[Cell] = []
    for cell in cells:
        params = get_method(cell["system"]).estimator._get_param_names()
        found.append(cell | {"recipe": "mined"} if "recipe" in params else cell)
        if "recipe" in params and _is_printed(cell["system"]):
            starts = [{"start": start} for start in PRINTED_STARTS] if "start" in params else [{}]
            found += [cell | {"recipe": "printed"} | start for start in starts]
    return found


def _is_printed(system: str) -> bool:
    return any(system == name or (name.endswith("-") and system.startswith(name)) for name in OF_THE_PAPERS)


def printed_params(cell: Cell) -> dict[str, Any]:
    """Return the parameters of a printed cell in addition to the recipe."""
    return {"n_epochs": PRINTED_EPOCHS, "tune": True} if cell.get("recipe") == "printed" else {}


def _is_affordable(system: str, request: Request) -> bool:
    return not system.startswith(FULL_W) or request.corpus_of(CORPORA, own=True) in CORPORA_FOR_FULL_W


def _numbers_of_words(system: str, request: Request) -> list[dict[str, int]]:
    """Return candidate numbers of words with own vectors, if a system leaves it open and all words are kept."""
    if request.words is not None or not system.startswith(("ssi-uv-n", "cfh")) or system == "ssi-uv-noi":
        return [{}]
    numbers = FREQUENT[:1] if request.quick else FREQUENT
    if request.corpus == "wikispeedia" and not request.quick:
        numbers = (*numbers, 30_000)
    return [{"frequent": n} for n in numbers]


def _ablations(request: Request, systems: Sequence[str]) -> Iterator[Cell]:
    for system in systems:
        changed: list[dict[str, Any]] = []
        if system.startswith(LEARN_VECTORS) and not system.startswith("lsi"):
            changed += [{"dim": dim} for dim in DIMS if dim != usual_dim(system, request)]
        if system in WITH_GAMMA:
            changed += [{"gamma": gamma} for gamma in GAMMAS]
        if system in FOR_FEW_LINKS:
            changed += [{"share": share} for share in SHARES]
        for change in changed:
            yield make_cell(request, "links", system, request.seed, **change)


def dice_sections(corpus: LinkedCorpus, n_frequent: int = N_FREQUENT, small_grams: int = SMALL_GRAMS) -> list[Section]:
    """Return both tables, for the terms with the largest sums of tf-idf weights; small corpora have no rare terms."""
    counts, words = corpus.counts, corpus.vectorizer.vocabulary_
    sentences = [part for text in corpus.documents.full_texts() for part in SENTENCE_END.split(text)]
    in_sentences = corpus.vectorizer.counts(sentences)
    chosen = informative_terms(corpus.features["tfidf"], N_ROWS, first=n_frequent)
    found = [correlated_words(rows, n_frequent, first=n_frequent) for rows in (counts, in_sentences)]
    single = Section("Words and their DICE neighbours", ["word", *HEADER], _rows(found, words, words, chosen))
    grams = TextVectorizer(MOST_GRAMS, (2, 2))
    rows = grams.fit_transform(corpus.documents.full_texts())
    chosen = informative_terms(rows, N_ROWS, first=small_grams)
    found = [
        correlated_words(counts, n_frequent, terms=rows[:, chosen]),
        correlated_words(in_sentences, n_frequent, terms=grams.counts(sentences)[:, chosen]),
    ]
    names = [grams.vocabulary_[term] for term in chosen]
    double = Section(
        "2-grams and their DICE neighbours", ["2-gram", *HEADER], _rows(found, names, words, range(len(names)))
    )
    return [section for section in (single, double) if section.rows]


def _rows(
    found: Sequence[Correlated], terms: list[str], words: list[str], chosen: Sequence[int] | np.ndarray
) -> list[list[str]]:
    """Return a line for each chosen term, with its best words by each way of counting."""
    tables = [dice_table(best, terms, words, chosen) for best in found]
    return [[row[0].term, *(", ".join(best.words) for best in row)] for row in zip(*tables, strict=True)]
