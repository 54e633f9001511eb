"""The cells of an experiment on a linked corpus: which systems run under which settings.

A full run has all splits (or the requested one) with default parameters, three seeds of the main systems and one of the
others, and one ablation at a time on the first split and seed: dimension, gamma, number of frequent words, share of the
training links; the dimension of LSI is chosen on validation. Its default systems include systems with a full W only on
corpora where that takes minutes.

With `as_printed`, every system of the papers also has rows trained by the papers' recipe, from both starts, with the
rate chosen on validation and the same number of steps for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit.experiments.links.splits import SPLITS
from tacit.experiments.links.task import CORPORA
from tacit.experiments.request import Request
from tacit.retrieve import get_method

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
