"""Experiment `htr-over-ssi`: when are free vectors of items (HTR) better than vectors of their words (SSI)?

On linked documents, split by links: the square below, among all items and among well-linked ones, for one or several
seeds, and in-links of the single item. `as_printed` adds HTR and SSI trained by the printed recipe. `full` has three
seeds of the square, and adds the printed recipe, the share of the links that is known, dimensions and gammas. With
`--corpus generated`, on documents of a known rule (`world`), by the number of known links of an item.

HTR and SSI differ in two choices: the representation of an item (its words or a free vector), and whether shared words
have a term of their own (the identity, which SSI has and HTR lacks). So there are four systems:

    words, identity   ssi-uv        free, identity   htr-identity
    words, none       ssi-uv-noi    free, none       htr

Rows with items "core" rank only well-linked items, with at least `least_links` training links. Among all items, a free
vector also encodes how often an item is linked, because rarely linked items keep small or random vectors. `htr` with
start "words" is HTR whose item vectors start at v_i = W phi(y_i), so that no item has a random vector.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tacit.core import UsageError, track
from tacit.experiments.cells import CellCache
from tacit.experiments.collections.htr_over_ssi_figures import (
    LinkRanks,
    bin_names,
    core_figure,
    corpus_figure,
    crossing,
    in_links_figure,
    link_ranks,
    world_figure,
)
from tacit.experiments.collections.htr_over_ssi_world import World, generate
from tacit.experiments.collections.link_task import CORPORA, MEASURES, LinkTask, read_linked_corpus, task_maker
from tacit.experiments.collections.links import PRINTED_EPOCHS, PRINTED_STARTS
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request, with_params
from tacit.metrics import compare, full_ranking_measures
from tacit.retrieve import CollectionRanker, get_method

LINKED = ("foldoc", *(name for name in CORPORA if name != "foldoc"))
SYSTEMS = ("tfidf", "ssi-uv", "ssi-uv-noi", "htr", "htr-identity", "htr-residual")
PAIR = ("ssi-uv", "htr")
CONTROLS = ("ssi-uv-noi", "htr-identity")  # controls of the identity, with all training links
CORES = (2, 4, 8, 16, 32)  # minimum numbers of training links of an item in a core
CORE = 8  # the core in the table of differences
# Comparisons among the four systems: what is compared, and the two systems.
SQUARE = (
    ("free vectors for words, without identity", "htr", "ssi-uv-noi"),
    ("free vectors for words, with identity", "htr-identity", "ssi-uv"),
    ("identity, free vectors", "htr-identity", "htr"),
    ("identity, words", "ssi-uv", "ssi-uv-noi"),
    ("as printed: HTR for SSI", "htr", "ssi-uv"),
)
PRINTED_PAIRS = tuple(
    (f"as printed, by the printed recipe, {start} start", f"htr printed {start}", f"ssi-uv printed {start}")
    for start in PRINTED_STARTS
)
SHARES, DIMS, GAMMAS, DIM = (0.3, 0.1), (50, 200), (0.0, 0.3, 3.0), 100
QUICK_EPOCHS = 3
KNOWN, HIDDEN, N_ITEMS, WORLD_DIM = (1, 2, 4, 8, 16, 32), (1.0, 0.0), 1000, 50

Cell = dict[str, Any]
PARAMETERS = ("dim", "gamma", "recipe", "start", "n_epochs", "tune")


def run(request: Request) -> Report:
    """Measure the systems on a linked corpus, or on generated documents with `--corpus generated`."""
    systems = request.systems_of(SYSTEMS)
    request.check_params({name: get_method(name).make() for name in systems})
    name = request.corpus_of((*LINKED, "generated"))
    if name == "generated" and request.n_seeds is not None:
        raise UsageError("generated documents have one --seed, want --seeds with a linked corpus")
    return _on_world(request, systems) if name == "generated" else _on_corpus(request, systems, name)


def plan_corpus(request: Request, systems: Sequence[str]) -> list[Cell]:
    """All systems with all known links; `full` adds seeds of these, then shares, recipes, dimensions and gammas."""
    size = {"dim": 50, "n_epochs": QUICK_EPOCHS} if request.quick else {"dim": DIM}
    usual = {"split": request.split or "links", "share": 1.0} | size
    cells = [usual | {"seed": seed, "system": system} for seed in request.seeds for system in systems]
    first = usual | {"seed": request.seed}
    changes = [] if request.quick else _changes(request)
    cells += [first | {"system": system} | change for change in changes for system in _changed(systems, change)]
    return sorted(cells, key=lambda cell: (request.seeds.index(cell["seed"]), -cell["share"]))  # splits in sequence


def _changes(request: Request) -> Iterator[Cell]:
    yield {"start": "words"}
    if request.full or request.as_printed:
        yield from ({"recipe": "printed", "start": start} for start in PRINTED_STARTS)
    if request.full:
        yield from ({"dim": dim} for dim in DIMS)
        yield from ({"gamma": gamma} for gamma in GAMMAS)
        yield from ({"share": share} for share in SHARES)


def _changed(systems: Sequence[str], change: Cell) -> list[str]:
    """Return the systems that a change concerns."""
    if "share" in change:
        return [name for name in systems if name not in CONTROLS]
    only_htr = "gamma" in change or change.get("start") == "words"
    return [name for name in systems if name in (PAIR[1:] if only_htr else PAIR)]


def _made(cell: Cell, request: Request) -> CollectionRanker:
    """Return the unfitted ranker of a cell."""
    params = {name: cell[name] for name in PARAMETERS if name in cell}
    if cell.get("recipe") == "printed":
        params = {"n_epochs": PRINTED_EPOCHS, "tune": True} | params
    ranker: CollectionRanker = get_method(cell["system"]).offer(seed=cell["seed"], threads=request.threads)
    return with_params(ranker, params | dict(request.params))


def _on_corpus(request: Request, systems: Sequence[str], name: str) -> Report:
    corpus = read_linked_corpus(request.data_folder / "linked" / name, request.words)
    task = task_maker(corpus, request)

    def compute(cell: Cell) -> Row:
        here, start = task(cell["split"], cell["seed"], cell["share"]), time.perf_counter()
        ranker = here.fit_ranker(_made(cell, request))
        values, seconds = here.measure(ranker), time.perf_counter() - start
        for least in (least for least in CORES if here.core_queries(least).any()):
            values |= {f"{name} of {least}": found for name, found in here.measure(ranker, least).items()}
        values |= _ranks(ranker, here)._asdict()
        setting = _shown(cell, request) | {"known": round(len(here.split.train) / len(corpus.documents), 2)}
        return Row(cell["system"], values, seconds, setting, ranker.chosen(), getattr(ranker, "epochs_", ()))

    cache = CellCache(request)
    key = {"experiment": "htr-over-ssi", "corpus": name, "words": request.words_label, "cores": CORES}
    cells = track(plan_corpus(request, systems), f"htr-over-ssi on {name}")
    measured = [cache.row(key | cell, partial(compute, cell)) for cell in cells]
    rows = [_part(row, MEASURES.values(), items="all") for row in measured]
    core = [row for least in CORES for row in _core_rows(measured, least)]
    first = [row for row in measured if row.setting["share"] == 1 and row.setting["seed"] == request.seed]
    ranks = {row.name: _ranks_of(row) for row in reversed(first)}  # the first row of each name, with default parameters
    notes = [
        corpus.summary,
        "known: training links for each document, on average",
        "items: all, or the core of those with at least least_links training links, as the only candidates; queries "
        "without a relevant item among these are left out",
        *_corpus_notes(rows),
    ]
    figures = {
        f"htr-over-ssi-{name}": core_figure(rows + core, [*SQUARE[:2], SQUARE[-1]]),
        f"htr-over-ssi-{name}-in-links": in_links_figure({key: found.means() for key, found in ranks.items()}),
        f"htr-over-ssi-{name}-known": corpus_figure(rows),
    }
    groups = _by_seed(rows + core)
    sections = [_square(groups), _by_core(groups), _by_in_links(ranks)]
    return Report("htr-over-ssi", name, request.seed, rows + core, notes, sections, figures)


def _part(row: Row, names: Iterable[str], suffix: str = "", **setting: Any) -> Row:
    """Return the row with only some of its values."""
    values = {name: row.values[name + suffix] for name in names}
    return replace(row, values=values, setting={**row.setting, **setting}, epochs=() if suffix else row.epochs)


def _core_rows(measured: Iterable[Row], least: int) -> list[Row]:
    suffix = f" of {least}"
    found = [row for row in measured if f"MAP{suffix}" in row.values and row.setting["share"] == 1]
    return [_part(row, MEASURES.values(), suffix, items="core", least_links=least) for row in found]


def _ranks_of(row: Row) -> LinkRanks:
    return LinkRanks(*(row.values[name] for name in LinkRanks._fields))


def _ranks(ranker: CollectionRanker, task: LinkTask) -> LinkRanks:
    """Return ranks of the single test links."""
    in_links = np.bincount(task.split.train.targets, minlength=task.split.train.n_targets)
    queries = task.queries[ranker.features][task.rows]
    return link_ranks(ranker.scores, queries, task.split.relevant(task.rows), task.split.excluded(task.rows), in_links)


def _by_seed(rows: Sequence[Row]) -> dict[tuple[str, int], dict[str, Row]]:
    """Return the rows with all training links by seed, least number of links (0: all items) and name.

    Of several seeds, "all" has the queries of all together.
    """
    groups: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        if row.setting["share"] == 1:
            key = str(row.setting["seed"]), row.setting.get("least_links", 0)
            groups.setdefault(key, {}).setdefault(row.name, row)
    if len({seed for seed, _ in groups}) > 1:
        for least in sorted({least for _, least in groups}):
            of_seeds = [found for (_, other), found in groups.items() if other == least]
            shared = [name for name in of_seeds[0] if all(name in found for found in of_seeds)]
            groups["all", least] = {name: _joined([found[name] for found in of_seeds]) for name in shared}
    return groups


def _square(groups: dict[tuple[str, int], dict[str, Row]]) -> Section:
    """Return differences between the four systems, by seed, among all items and among items of the core."""
    lines = [
        [seed, "core" if least else "all", what, one, other, *_differences(found[one], found[other])]
        for (seed, least), found in groups.items()
        for what, one, other in (*SQUARE, *PRINTED_PAIRS)
        if least in (0, CORE) and one in found and other in found
    ]
    header = ["seed", "items", "what changes", "system", "instead of", "MAP", "p", "rank loss %", "p"]
    title = "Words or free vectors, with and without the identity"
    return Section(f"{title} (core: at least {CORE} links; paired t-test, p uncorrected)", header, lines)


def _by_core(groups: dict[tuple[str, int], dict[str, Row]]) -> Section:
    """Return differences in MAP between the four systems, by seed, for every core."""
    cores = sorted({least for _, least in groups})
    lines = []
    for seed in dict.fromkeys(seed for seed, _ in groups):
        for what, one, other in (*SQUARE, *PRINTED_PAIRS):
            gains = [_gain(groups.get((seed, least), {}), one, other) for least in cores]
            if any(gains):
                lines.append([seed, what, *gains])
    header = ["seed", "what changes", *(str(least) if least else "all items" for least in cores)]
    title = "Difference in MAP (and its p) among items with at least so many training links"
    return Section(f"{title} (paired t-test, p uncorrected)", header, lines)


def _gain(found: dict[str, Row], one: str, other: str) -> str:
    if one not in found or other not in found:
        return ""
    gain, p, *_ = _differences(found[one], found[other])
    return f"{gain} ({p})"


def _joined(rows: Sequence[Row]) -> Row:
    """Return one row with the queries of all seeds."""
    return replace(rows[0], values={m: np.concatenate([row.values[m] for row in rows]) for m in ("MAP", "rank_loss")})


def _differences(one: Row, other: Row) -> Iterator[str]:
    for metric, digits, unit in (("MAP", 3, 1), ("rank_loss", 2, 100)):
        change = unit * (one.metrics[metric] - other.metrics[metric])
        yield f"{change:+.{digits}f}"
        yield f"{compare(other.values[metric], one.values[metric]).t:.2g}"


def _by_in_links(ranks: dict[str, LinkRanks]) -> Section:
    counts = next(iter(ranks.values())).counts()
    rows = [[name, *(f"{mean:.3f}" for mean in found.means())] for name, found in ranks.items()]
    title = "Mean reciprocal rank of a test link among all items, by training links to its target"
    return Section(title, ["system", *bin_names()], [["test links", *map(str, counts)], *rows])


def _corpus_notes(rows: Sequence[Row]) -> list[str]:
    """Return notes on where HTR passes SSI as more links are known."""
    by_known = sorted({row.setting["known"] for row in rows})
    usual = {(row.name, row.setting["known"]): row.metrics["MAP"] for row in reversed(rows)}
    if len(by_known) == 1 or any((system, known) not in usual for system in PAIR for known in by_known):
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
        {"system": system, "hidden": hidden, "known": n_known, "dim": WORLD_DIM, "seed": request.seed} | how
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
    """Return the row's setting: the values in which cells differ."""
    setting = {"recipe": "mined"} | {k: v for k, v in cell.items() if k != "system"}
    return request.shown(setting if get_method(cell["system"]).estimator.needs_pairs else _without_training(setting))


def _without_training(setting: Cell) -> Cell:
    return {name: value for name, value in setting.items() if name not in ("recipe", "dim", "n_epochs")}
