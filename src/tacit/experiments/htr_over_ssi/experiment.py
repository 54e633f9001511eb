"""Experiment `htr-over-ssi`: when are free vectors of items (HTR) better than vectors of their words (SSI)?

On linked documents, split by links: the share of the links that is known, in-links of the single item, the dimension,
gamma, the number of epochs (training histories), mined and printed training. With `--corpus generated`, on documents of
a known rule (`world`), by the number of known links of an item.

HTR and SSI differ in two things: what an item is (its words or a free vector), and whether shared words count by
themselves (the identity, which SSI has and HTR lacks). So there are four systems, the square of both choices:

    words, identity   ssi-uv        free, identity   htr-identity
    words, none       ssi-uv-noi    free, none       htr

Rows with items "core" rank among well-linked items alone, those with at least `CORE` training links. Among all items, a
free vector also says how often an item is linked, because rarely linked items keep small or random vectors.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tacit.core import track
from tacit.experiments.cells import CellCache
from tacit.experiments.htr_over_ssi.by_in_links import BORDERS, LinkRanks, bin_names, crossing, link_ranks
from tacit.experiments.htr_over_ssi.figures import corpus_figure, in_links_figure, world_figure
from tacit.experiments.htr_over_ssi.world import World, generate
from tacit.experiments.links.plan import PRINTED_EPOCHS, PRINTED_STARTS
from tacit.experiments.links.splits import split_links
from tacit.experiments.links.task import CORPORA, MEASURES, LinkTask, read_linked_corpus
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request, with_params
from tacit.metrics import compare, full_ranking_measures
from tacit.retrieve import CollectionRanker, get_method

LINKED = ("foldoc", *(name for name in CORPORA if name != "foldoc"))
SYSTEMS = ("tfidf", "ssi-uv", "ssi-uv-noi", "htr", "htr-identity", "htr-residual")
PAIR = ("ssi-uv", "htr")
CONTROLS = ("ssi-uv-noi", "htr-identity")  # of the identity, with all training links
CORE = 8
# Comparisons within the square: what is compared, and the two systems.
SQUARE = (
    ("free vectors for words, without identity", "htr", "ssi-uv-noi"),
    ("free vectors for words, with identity", "htr-identity", "ssi-uv"),
    ("identity, free vectors", "htr-identity", "htr"),
    ("identity, words", "ssi-uv", "ssi-uv-noi"),
    ("as printed: HTR for SSI", "htr", "ssi-uv"),
)
SHARES, DIMS, GAMMAS, DIM = (0.1, 0.3, 1.0), (50, 200), (0.0, 0.3, 3.0), 100
KNOWN, HIDDEN, N_ITEMS, WORLD_DIM = (1, 2, 4, 8, 16, 32), (1.0, 0.0), 1000, 50

Cell = dict[str, Any]
PARAMETERS = ("dim", "gamma", "recipe", "start", "n_epochs", "tune")


def run(request: Request) -> Report:
    """Measure the systems on a linked corpus, or on generated documents with `--corpus generated`."""
    systems = request.systems_of(SYSTEMS)
    request.check_params({name: get_method(name).make() for name in systems})
    name = request.corpus_of((*LINKED, "generated"))
    return _on_world(request, systems) if name == "generated" else _on_corpus(request, systems, name)


def plan_corpus(request: Request, systems: Sequence[str]) -> list[Cell]:
    """All systems by share of the known links, both recipes at all links; `full` adds dimensions and gammas."""
    usual = {"split": request.split or "links", "share": 1.0, "dim": 50 if request.quick else DIM}
    cells = [
        usual | {"system": system, "share": share}
        for share in SHARES[::-1]
        for system in systems
        if share == 1 or system not in CONTROLS
    ]
    if not request.quick:
        changes = _changes(request.full)
        cells += [usual | {"system": system} | change for change in changes for system in _changed(systems, change)]
    return cells


def _changes(full: bool) -> Iterator[Cell]:
    yield from ({"recipe": "printed", "start": start} for start in PRINTED_STARTS)
    if full:
        yield from ({"dim": dim} for dim in DIMS)
        yield from ({"gamma": gamma} for gamma in GAMMAS)


def _changed(systems: Sequence[str], change: Cell) -> list[str]:
    return [name for name in systems if name in (PAIR[1:] if "gamma" in change else PAIR)]


def _made(cell: Cell, request: Request) -> CollectionRanker:
    """The unfitted ranker of a cell."""
    params = {name: cell[name] for name in PARAMETERS if name in cell}
    if cell.get("recipe") == "printed":
        params = {"n_epochs": PRINTED_EPOCHS, "tune": True} | params
    ranker: CollectionRanker = get_method(cell["system"]).offer(seed=request.seed, threads=request.threads)
    return with_params(ranker, params | dict(request.params))


def _on_corpus(request: Request, systems: Sequence[str], name: str) -> Report:
    corpus = read_linked_corpus(request.data_folder / "linked" / name, request.words)

    @lru_cache(maxsize=1)  # cells of one share are consecutive
    def task(split: str, share: float) -> LinkTask:
        parts = split_links(corpus.links, split, request.seed).thinned(share, request.seed)
        rows = parts.test_queries(request.n_queries, request.seed)
        return LinkTask(corpus.features, corpus.features, parts, rows, request.threads)

    cache, ranks, core = CellCache(request), dict[str, LinkRanks](), list[Row]()

    def compute(cell: Cell) -> Row:
        here, start = task(cell["split"], cell["share"]), time.perf_counter()
        ranker = here.fit_ranker(_made(cell, request))
        values, seconds = here.measure(ranker), time.perf_counter() - start
        setting = _shown(cell, request) | {"known": round(len(here.split.train) / len(corpus.documents), 2)}
        setting["items"] = "all"
        row = Row(cell["system"], values, seconds, setting, ranker.chosen(), getattr(ranker, "epochs_", ()))
        if cell["share"] == 1 and row.name not in ranks:
            ranks[row.name] = _ranks(ranker, here)
            if here.core_queries(CORE).any():
                core.append(Row(cell["system"], here.measure(ranker, CORE), seconds, setting | {"items": "core"}))
        return row

    key = {"experiment": "htr-over-ssi", "corpus": name, "words": request.words_label, "seed": request.seed}
    cells = track(plan_corpus(request, systems), f"htr-over-ssi on {name}")
    # Ranks of single links are not cached, so the cells that have them are measured again.
    rows = [compute(cell) if _has_ranks(cell) else cache.row(key | cell, partial(compute, cell)) for cell in cells]
    known = "known: training links for each document, on average"
    items = f"items: all, or the core of those with at least {CORE} training links, as the only candidates"
    notes = [corpus.summary, known, items, *_corpus_notes(rows), *_leads(ranks)]
    rows += core
    figures = {
        f"htr-over-ssi-{name}-in-links": in_links_figure({key: found.means() for key, found in ranks.items()}),
        f"htr-over-ssi-{name}": corpus_figure(rows),
    }
    return Report("htr-over-ssi", name, request.seed, rows, notes, [_square(rows), _by_in_links(ranks)], figures)


def _has_ranks(cell: Cell) -> bool:
    return bool(cell["share"] == 1 and cell["dim"] not in DIMS and "gamma" not in cell)


def _ranks(ranker: CollectionRanker, task: LinkTask) -> LinkRanks:
    """Ranks of the single test links."""
    in_links = np.bincount(task.split.train.targets, minlength=task.split.train.n_targets)
    queries = task.queries[ranker.features][task.rows]
    return link_ranks(ranker.scores, queries, task.split.relevant(task.rows), task.split.excluded(task.rows), in_links)


def _square(rows: Sequence[Row]) -> Section:
    """Differences between the four systems of the square, among all items and among those of the core."""
    lines = []
    for items in ("all", "core"):
        usual = [row for row in rows if row.setting["items"] == items and row.setting["share"] == 1]
        found = {row.system: row for row in reversed(usual) if row.name == row.system}  # the first of each
        for what, one, other in SQUARE:
            if one in found and other in found:
                lines.append([items, what, one, other, *_differences(found[one], found[other])])
    header = ["items", "what changes", "system", "instead of", "MAP", "p", "rank loss %", "p"]
    return Section("Words or free vectors, with and without the identity (paired t-test, p uncorrected)", header, lines)


def _differences(one: Row, other: Row) -> Iterator[str]:
    for metric, digits, unit in (("MAP", 3, 1), ("rank_loss", 2, 100)):
        change = unit * (one.metrics[metric] - other.metrics[metric])
        yield f"{change:+.{digits}f}"
        yield f"{compare(other.values[metric], one.values[metric]).t:.2g}"


def _by_in_links(ranks: dict[str, LinkRanks]) -> Section:
    counts = next(iter(ranks.values())).counts()
    rows = [[name, *(f"{mean:.3f}" for mean in found.means())] for name, found in ranks.items()]
    title = "Mean reciprocal rank of a test link, by training links to its target"
    return Section(title, ["system", *bin_names()], [["test links", *map(str, counts)], *rows])


def _leads(ranks: Mapping[str, LinkRanks]) -> list[str]:
    """From how many links to an item on HTR ranks it higher than SSI does."""
    if not set(PAIR) <= set(ranks):
        return []
    ssi, htr = (np.array(ranks[system].means()) for system in PAIR)
    behind = np.flatnonzero(~(htr > ssi))
    first = int(behind[-1]) + 1 if len(behind) else 0
    if first == len(ssi):
        return ["htr ranks no group of links higher than ssi-uv does"]
    return [f"htr ranks links to items with {BORDERS[first]} or more training links higher than ssi-uv does"]


def _corpus_notes(rows: Sequence[Row]) -> list[str]:
    """Where HTR passes SSI as more links are known."""
    by_known = sorted({row.setting["known"] for row in rows})
    usual = {(row.system, row.setting["known"]): row.metrics["MAP"] for row in reversed(rows)}
    if any((system, known) not in usual for system in PAIR for known in by_known):
        return []
    return [_passes("all documents", by_known, *([usual[system, known] for known in by_known] for system in PAIR))]


def _passes(what: str, places: Sequence[float], ssi: Sequence[float], htr: Sequence[float]) -> str:
    found = crossing(places, ssi, htr)
    reach = f"from {places[0]:g} to {places[-1]:g} known links for an item"
    if found is None:
        return f"{what}: htr has a lower MAP than ssi-uv {reach}"
    return f"{what}: htr has a higher MAP than ssi-uv from about {found:.1f} known links for an item on ({reach} tried)"


def _on_world(request: Request, systems: Sequence[str]) -> Report:
    rows = []
    known = KNOWN[::2] if request.quick else KNOWN
    cells: list[Cell] = [
        {"system": system, "hidden": hidden, "known": n_known, "dim": WORLD_DIM} | how
        for hidden in HIDDEN
        for n_known in known
        for how in ({"recipe": "mined"}, {"recipe": "printed", "start": "scaled"})
        for system in systems
        if how["recipe"] == "mined" or system in PAIR
    ]
    for cell in track(cells, "htr-over-ssi on generated documents"):
        world = generate(300 if request.quick else N_ITEMS, cell["known"], cell["hidden"], request.seed)
        start = time.perf_counter()
        ranker = _made(cell, request).fit(world.queries, world.items, world.train, world.validation)
        values, seconds = _measure(ranker, world), time.perf_counter() - start
        rows.append(Row(cell["system"], values, seconds, _shown(cell, request), ranker.chosen()))
    notes = [
        f"{N_ITEMS} items; relevant: the same topic and group; hidden: share of items without words of their group",
        "known: training links for each item, on average",
        *(note for hidden in HIDDEN for recipe in ("mined", "printed") for note in _world_notes(rows, hidden, recipe)),
    ]
    figures = {"htr-over-ssi-generated": world_figure(rows)}
    return Report("htr-over-ssi", "generated", request.seed, rows, notes, figures=figures)


def _measure(ranker: CollectionRanker, world: World) -> dict[str, np.ndarray]:
    asked = np.unique(world.test.sources)
    relevant = world.test.to_csr()[asked] > 0
    found = full_ranking_measures(ranker.scores(world.queries[asked]), relevant, relevant < relevant)
    return {mean: found[name] for name, mean in MEASURES.items()}


def _world_notes(rows: Sequence[Row], hidden: float, recipe: str) -> list[str]:
    curves = []
    for system in PAIR:
        mine = [row for row in rows if row.system == system and row.setting["hidden"] == hidden]
        mine = [row for row in mine if row.setting["recipe"] == recipe]
        curves.append({row.setting["known"]: row.metrics["MAP"] for row in mine})
    if not curves[0] or curves[0].keys() != curves[1].keys():
        return []
    return [_passes(f"hidden {hidden:g}, {recipe}", list(curves[0]), *(list(curve.values()) for curve in curves))]


def _shown(cell: Cell, request: Request) -> dict[str, Any]:
    """The row's setting: what differs between cells."""
    setting = {"recipe": "mined", "seed": request.seed} | {k: v for k, v in cell.items() if k != "system"}
    return request.shown(setting if get_method(cell["system"]).estimator.needs_pairs else _without_training(setting))


def _without_training(setting: Cell) -> Cell:
    return {name: value for name, value in setting.items() if name not in ("recipe", "dim")}
