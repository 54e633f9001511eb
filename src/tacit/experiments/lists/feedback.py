"""Experiment `feedback`: the first results of a query are judged, and a ranker trained on this list ranks the rest.

PREF's second task (figure 6) on abstracts: BM25's best 200 documents of each query with features from text, of which
the first m = 2, 3, 5, 10, 15 are judged. A ranker is trained on this one list, including its unjudged rows, and
measured on the remaining rows (residual collection). In these collections every document was judged, so a document
without a judgment is irrelevant. Every third query is used to choose parameters (with 5 judged), the others are
reported.

If the judged documents are all relevant or all irrelevant, there are no pairs to learn from, and systems that need
pairs keep BM25's order. `searcher` is `Searcher.feedback`, which also uses the documents' words.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import TacitError, track
from tacit.experiments.cells import CellCache
from tacit.experiments.figures import Draw, draw_means, new_figure, save, shown_systems
from tacit.experiments.lists.letor_task import BM25, N_CANDIDATES, TEXT_CORPORA, JudgedList, read_judged_lists
from tacit.experiments.report import Report, Row
from tacit.experiments.request import Request, with_params
from tacit.metrics import evaluate_rows
from tacit.rerank import METHODS
from tacit.search.feedback import feedback_scores

N_CONTENT_WORDS = 50
N_JUDGED = (2, 3, 5, 10, 15)
N_TO_CHOOSE = 5
MEASURES = {"nDCG@10": "nDCG@10", "MAP": "AP"}

# Three settings for each system with parameters. `near`: neighbours by the ranking features (default), or by words of
# the judged documents. The judged documents are the top of their list, so expected pairs are off.
BETAS: Sequence[dict[str, Any]] = tuple(
    {"expected": 0.0} | more for more in ({"beta": 1.0}, {"beta": 20.0}, {"beta": 1.0, "near": "content"})
)
# As in PREF, beta and the epoch of its systems are chosen.
EPOCHS: Sequence[dict[str, Any]] = ({"n_epochs": 100}, {"n_epochs": 30}, {"n_epochs": 10})
PRINTED_BETAS: Sequence[dict[str, Any]] = tuple(
    epochs | {"beta": beta} for beta in (0.1, 1.0, 5.0) for epochs in EPOCHS
)
CONTENT_BETAS: Sequence[dict[str, Any]] = tuple(setting | {"near": "content"} for setting in PRINTED_BETAS)
N_TOP: Sequence[dict[str, Any]] = tuple({"feature": BM25, "n_top": n} for n in (10, 5, 20))
SETTINGS: Mapping[str, Sequence[dict[str, Any]]] = {
    "bm25": ({},),
    "linear": ({"l2": 0.1}, {"l2": 0.01}, {"l2": 1.0}),
    "ssbt": BETAS,
    "standing": tuple({"start": BM25, "score_spread": spread} for spread in (0.35, 0.18, 0.7)),
    "lambdarank": ({"l2": 0.1}, {"l2": 0.01}, {"l2": 1.0}),
    "sslambdarank": BETAS,
    "bt-printed": EPOCHS,
    "ssbt-printed": PRINTED_BETAS,
    "ssbt-printed-content": CONTENT_BETAS,
    "lambdarank-printed": EPOCHS,
    "sslambdarank-printed": PRINTED_BETAS,
    "sslambdarank-printed-content": CONTENT_BETAS,
    "rankboost": ({"n_rounds": 300}, {"n_rounds": 30}, {"n_rounds": 100}),
    "rankboost-semi": ({"unjudged": 0.5, "k": 10}, {"unjudged": 0.5, "k": 50}, {"unjudged": 0.1, "k": 10}),
    "ranksvm": ({"C": 1.0}, {"C": 0.1}, {"C": 10.0}),
    "tsvm": ({"weight": 0.5}, {"weight": 0.1}, {"weight": 1.0}),
    "prf": ({"feature": BM25, "mix": 0.3}, {"feature": BM25, "mix": 0.1}, {"feature": BM25, "mix": 0.6}),
    "prf-neg": ({"feature": BM25, "mix": 0.3}, {"feature": BM25, "mix": 0.1}, {"feature": BM25, "mix": 0.6}),
    "prf-retrained": N_TOP,
    "prf-retrained-neg": N_TOP,
    "manifold": ({"alpha": 0.99}, {"alpha": 0.9}, {"alpha": 0.5}),
    "auc-semi": ({"l2": 1.0}, {"l2": 10.0}, {"l2": 100.0}),
    "searcher": ({},),
}
CONTENT = "-content"  # neighbours by words, whatever setting is chosen
NOT_LEARNED = ("bm25", "searcher")  # systems that are not rankers of lists


def run(request: Request) -> Report:
    """Measure the systems for every number of judged documents; `quick` takes 5 only, and fewer queries."""
    corpus, systems = request.corpus_of(TEXT_CORPORA), request.systems_of(tuple(SETTINGS), SETTINGS)
    request.check_params(
        {name: None if name in NOT_LEARNED else METHODS[name.removesuffix(CONTENT)].make() for name in systems}
    )
    lists = read_judged_lists(request.data_folder, corpus)
    if request.quick:
        lists = lists[:30]
    held, test = lists[::3], [item for number, item in enumerate(lists) if number % 3]
    numbers = (5,) if request.quick else N_JUDGED
    cache = CellCache(request)
    rows = []
    for system in track(systems, f"feedback on {corpus}", len(systems)):
        setting = choose_setting(system, held, request.params)
        for m in numbers:
            cell = {"experiment": "feedback", "corpus": corpus, "system": system, "k": m, "setting": setting}
            rows.append(cache.row(cell, partial(_measure, system, setting, test, m, request.params)))
    rows.sort(key=lambda row: row.setting["k"])
    left = ", ".join(f"{m}: {sum(item.remains(m) for item in test)}" for m in numbers)
    notes = [
        f"{corpus}: {len(lists)} queries with a relevant document among BM25's best {N_CANDIDATES}; {len(held)} of "
        f"them to choose settings, {len(test)} reported",
        f"k documents judged; queries with a relevant document left below them: {left}",
        "nDCG and MAP of the remaining candidates",
        "three settings for each ranker, nine for ssbt-printed and sslambdarank-printed; searcher was chosen from "
        "about forty on the same queries, and uses words",
        "prf and prf-neg are equal here: features are centred in a list, so means of top and rest are opposite",
    ]
    report = Report("feedback", corpus, request.seed, rows, notes, test="wilcoxon")
    return replace(report, figures=feedback_figures(report))


def choose_setting(system: str, lists: Sequence[JudgedList], params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the setting with the highest mean nDCG@10 with 5 judged documents."""
    settings = SETTINGS[system]
    if len(settings) == 1:
        return settings[0]
    means = [_measure(system, setting, lists, N_TO_CHOOSE, params).metrics["nDCG@10"] for setting in settings]
    return settings[int(np.argmax(means))]


def _measure(
    system: str, setting: dict[str, Any], lists: Sequence[JudgedList], m: int, params: Mapping[str, Any] | None = None
) -> Row:
    start, given = time.perf_counter(), dict(params or {})
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    n_learned = 0
    for item in lists:
        if not item.remains(m):
            continue
        scores = score_list(system, setting | given, item, m)
        n_learned += scores is not None
        rest = (item.bm25 if scores is None else scores)[m:]
        found = evaluate_rows(item.grades[m:], rest, None, list(MEASURES.values())).means()
        for name, measure in MEASURES.items():
            values[name].append(found[measure])
    chosen = {n: given.get(n, value) for n, value in setting.items() if n not in ("near", "feature", "start")}
    chosen |= ({"content": 1} if "near" in setting else {}) | {"learned": n_learned}
    arrays = {name: np.array(numbers) for name, numbers in values.items()}
    return Row(system, arrays, time.perf_counter() - start, {"k": m}, chosen)


def score_list(system: str, setting: Mapping[str, Any], item: JudgedList, m: int) -> np.ndarray | None:
    """Return scores of all rows by a ranker trained on the first m grades; None if it cannot learn from them."""
    known = item.known(m)
    if system == "bm25":
        return item.bm25
    if system == "searcher":
        return feedback_scores(item.bm25, item.content, known >= 1, known < 1)
    given = dict(setting)
    extra = {"content": _content(item, m)} if given.pop("near", "") == "content" else {}
    ranker = with_params(METHODS[system.removesuffix(CONTENT)].make(), given)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # suppresses thousands of warnings about constant short lists
            return ranker.fit(item.X, known, **extra).predict(item.X)
    except TacitError:
        return None


def _content(item: JudgedList, m: int) -> np.ndarray:
    """Return tf-idf of the words with the largest weights in the judged documents, dense (n, 50)."""
    weights = np.asarray(item.content[:m].sum(axis=0)).ravel()
    best = np.argsort(-weights, kind="stable")[:N_CONTENT_WORDS]
    return item.content[:, best].toarray().astype(np.float64)


def feedback_figures(report: Report) -> dict[str, Draw]:
    """Return one curve for each of the best systems."""
    return {f"feedback-{report.corpus}": partial(_curves, report)}


def _curves(report: Report, path: Path) -> None:
    figure, axes = new_figure(7, 5)
    for system in shown_systems(report.rows, "nDCG@10", keep=("bm25", "linear")):
        rows = [row for row in report.rows if row.system == system]
        numbers = [row.setting["k"] for row in rows]
        style = "--" if system in ("bm25", "linear", "lambdarank") else "-"
        draw_means(axes, numbers, rows, "nDCG@10", system, errors=1, linestyle=style, markersize=3, capsize=2)
    axes.set(xlabel="judged documents", ylabel="nDCG@10 of the rest (± standard error)")
    axes.set_title(f"feedback on {report.corpus}; supervised systems dashed")
    axes.legend(fontsize=8)
    save(figure, path)
