"""Learning from clicks: simulated users on judged collections, and real sessions.

    python benchmarks/clicks.py [--data FOLDER] [--full | --sets cacm WTR … --sessions 300 1000 …]

Sessions show the first ten documents of a ranking: stemmed BM25, or the best single feature of a LETOR set. Users:

    position    looks at rank r with probability 1 / r, regardless of clicks
    cascade     looks from the top down, stops after a click with probability 0.7 and after any other document with 0.05

Both click a document that they look at with probability n + (0.9 - n) (2^g - 1) / (2^G - 1), where g is its grade
(unjudged: 0), G the highest one and n the noise, by default 0.1 (--noise 0.9: clicks are random). nDCG@10, compared
with the shown ranking:

    known        the queries of the log; the first ten documents reordered by the click model
    unseen       other queries (two folds); a ranker of lists trained on clicks alone
    fit known    `tacit fit --clicks`, which ranks all documents of a text collection; the queries of the log
    fit unseen   the same for other queries (two folds)
    blend        for comparison, `tacit fit` without clicks

Every cell has the difference and the p-value of a randomization test over queries; `*` marks cells below the shown
ranking after Holm's correction over the whole grid. The last part is TREC Session Track 2014: do the estimates order
the judged shown documents better than their ranks?
"""

import argparse
import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.core import Collection, Judgments, Lists, Run
from tacit.data import ClickEstimates, ClickLog, Session, read_collection, read_letor, read_qrels, read_queries
from tacit.metrics import compare, evaluate, holm
from tacit.rerank.ranking_lists import RankingTask, fit_lists, join_runs
from tacit.search import Searcher
from tacit.search.text_lists import make_text_lists

TEXT_SETS = ("cranfield", "cacm", "cisi", "chorus_products")
LETOR_SETS = ("OHSUMED-letor2", "OHSUMED-letor3-QueryLevelNorm", "MQ2008", "WTR")
N_SESSIONS, N_SHOWN = (100, 300, 1000, 3000, 10000), 10


class User(NamedTuple):
    """How users look at results, and the probability of a click on a result that is not relevant."""

    kind: str
    noise: float = 0.1


KINDS = ("position", "cascade")


class Texts(NamedTuple):
    """A collection with its queries, and `blend` fitted on it without clicks."""

    documents: Collection
    queries: Collection
    blend: Searcher

    def asked_by(self, lists: Lists) -> Collection:
        """Return the queries of some lists."""
        return self.queries.take([self.queries.row_of[name] for name in lists.query_ids])


def read_texts(data: Path, name: str, seed: int) -> Texts:
    folder = data / "text" / name
    documents, queries = read_collection(folder / "docs.jsonl.gz"), read_queries(folder / "queries.jsonl")
    return Texts(documents, queries, Searcher(seed=seed).fit(documents))


def read_lists(data: Path, name: str) -> tuple[Lists, np.ndarray]:
    """Return ungraded lists of queries with a relevant document, best shown first, and grades (NaN: unjudged)."""
    if name in TEXT_SETS:
        folder = data / "text" / name
        documents, queries = read_collection(folder / "docs.jsonl.gz"), read_queries(folder / "queries.jsonl")
        lists = make_text_lists(documents, queries, read_qrels(folder / "qrels.txt"), k=50, stem=True).lists
        lists = replace(lists, y=np.where(lists.y < 0, np.nan, lists.y))
    else:
        lists = read_letor(data / "letor" / name / f"{name}.txt.gz")
        lists = _sorted(lists, _best_column(lists))
    useful = [n for n in range(len(lists)) if np.nanmax(np.append(lists.y[lists.rows(n)], 0.0)) > 0]
    return lists.take(useful), lists.take(useful).y


def _best_column(lists: Lists) -> np.ndarray:
    X = np.nan_to_num(lists.X)
    judged = lists.to_judgments()
    values = [evaluate(judged, lists.to_run(x), "nDCG@10").means()["nDCG@10"] for x in X.T]
    return X[:, int(np.argmax(values))]


def _sorted(lists: Lists, scores: np.ndarray) -> Lists:
    """Return rows by score within each list."""
    order = np.lexsort((-scores, lists.qid))
    names = lists.document_names()
    return Lists(lists.X[order], lists.y[order], lists.starts, lists.query_ids, [names[row] for row in order])


def simulate(lists: Lists, user: User, n_sessions: int, rng: np.random.Generator) -> ClickLog:
    """Return sessions of random queries, which show the first rows of lists."""
    grades = np.nan_to_num(lists.y)
    attractive = user.noise + (0.9 - user.noise) * (2**grades - 1) / (2 ** grades.max() - 1)
    sessions = []
    for line, number in enumerate(rng.integers(len(lists), size=n_sessions), start=1):
        rows = range(int(lists.starts[number]), int(lists.starts[number + 1]))[:N_SHOWN]
        clicked = (
            _position_user(attractive, rows, rng) if user.kind == "position" else _cascade_user(attractive, rows, rng)
        )
        shown = tuple(lists.doc_ids[row] for row in rows)
        names = frozenset(lists.doc_ids[row] for row in clicked)
        sessions.append(Session(lists.query_ids[number], shown, names, 1.0, line))
    return ClickLog(sessions)


def _position_user(attractive: np.ndarray, rows: range, rng: np.random.Generator) -> list[int]:
    return [row for rank, row in enumerate(rows, start=1) if rng.random() < attractive[row] / rank]


def _cascade_user(attractive: np.ndarray, rows: range, rng: np.random.Generator) -> list[int]:
    clicked = []
    for row in rows:
        if rng.random() < attractive[row]:
            clicked.append(row)
        if rng.random() < (0.7 if row in clicked else 0.05):
            break
    return clicked


def shown_run(lists: Lists) -> Run:
    """Return the lists in the shown order."""
    return lists.to_run(-np.arange(len(lists.X), dtype=float), "shown")


def known_run(lists: Lists, found: ClickEstimates) -> Run:
    """Return the lists with shown documents first, by their estimated relevance."""
    value = {(q, d): v for q, d, v in zip(found.queries, found.docs, found.relevance.tolist(), strict=True)}
    scores = -np.arange(len(lists.X), dtype=float)
    for row, (number, doc) in enumerate(zip(lists.qid.tolist(), lists.doc_ids, strict=True)):
        scores[row] = value.get((lists.query_ids[number], doc), scores[row] - 1)
    return lists.to_run(scores, "known")


def unseen_run(lists: Lists, method: str, user: User, n_sessions: int, seed: int) -> Run:
    """Return each half of the lists, ranked after training on clicks on the other half."""
    rng = np.random.default_rng([seed, n_sessions, 1])
    halves = np.array_split(rng.permutation(len(lists)), 2)
    runs = []
    for test, train in (halves, halves[::-1]):
        seen = lists.take(train)
        log = simulate(seen, user, n_sessions, rng)
        task = RankingTask(method, seed=seed, preferences=log.estimates())
        ranker = fit_lists(task, replace(seen, y=np.full(len(seen.y), np.nan)))
        runs.append(ranker.rank(lists.take(test)))
    return join_runs(runs, method)


def fit_on(texts: Texts, log: ClickLog, seed: int) -> Searcher:
    """Fit as `tacit fit --clicks` does with a log that names queries by id."""
    clicks = log.named_by(texts.queries, texts=True).pairs(texts.documents)
    return Searcher(seed=seed).fit(texts.documents, clicks=clicks)


def fitted_run(texts: Texts, lists: Lists, user: User, n_sessions: int, seed: int) -> Run:
    """Return each half of the queries, ranked over the whole collection after training on the other half's clicks."""
    rng = np.random.default_rng([seed, n_sessions, 1])
    halves, runs = np.array_split(rng.permutation(len(lists)), 2), []
    for test, train in (halves, halves[::-1]):
        searcher = fit_on(texts, simulate(lists.take(train), user, n_sessions, rng), seed)
        runs.append(searcher.run(texts.asked_by(lists.take(test)), k=N_SHOWN))
    return join_runs(runs, "fit")


def cells(
    lists: Lists, texts: Texts | None, user: User, n_sessions: int, method: str, seed: int
) -> dict[str, tuple[float, float, float]]:
    """Return mean nDCG@10, difference from the shown ranking, and p, for known and for unseen queries."""
    judged = lists.to_judgments()
    base = evaluate(judged, shown_run(lists), "nDCG@10").values["nDCG@10"]
    log = simulate(lists, user, n_sessions, np.random.default_rng([seed, n_sessions]))
    runs = {"known": known_run(lists, log.estimates()), "unseen": unseen_run(lists, method, user, n_sessions, seed)}
    if texts is not None:
        asked = texts.asked_by(lists)
        runs["fit known"] = fit_on(texts, log, seed).run(asked, k=N_SHOWN)
        runs["fit unseen"] = fitted_run(texts, lists, user, n_sessions, seed)
        runs["blend"] = texts.blend.run(asked, k=N_SHOWN)
    found = {}
    for name, run in runs.items():
        values = evaluate(judged, run, "nDCG@10").values["nDCG@10"]
        found[name] = (float(values.mean()), float((values - base).mean()), compare(base, values).randomization)
    return found


def print_grid(data: Path, sets: list[str], counts: list[int], method: str, noise: float, seed: int) -> None:
    """Print the grid, and the cells below the shown ranking."""
    grid = {}
    print(f"{'set':30} {'user':9} {'':10} {'shown':>6}" + "".join(f"{n:>17,}" for n in counts))
    for name in sets:
        lists, _ = read_lists(data, name)
        texts = read_texts(data, name, seed) if name in TEXT_SETS else None
        base = evaluate(lists.to_judgments(), shown_run(lists), "nDCG@10").means()["nDCG@10"]
        for user in KINDS:
            found = {n: cells(lists, texts, User(user, noise), n, method, seed) for n in counts}
            for kind in found[counts[0]]:
                grid |= {(name, user, kind, n): found[n][kind] for n in counts if kind != "blend"}
                row = "".join(f"{found[n][kind][1]:>+9.4f} p {found[n][kind][2]:<6.2g}" for n in counts)
                print(f"{name:30} {user:9} {kind:10} {base:6.4f}{row}", flush=True)
    corrected = holm([p for _, _, p in grid.values()])
    low = [(key, p) for (key, cell), p in zip(grid.items(), corrected, strict=True) if cell[1] < 0 and p < 0.05]
    print(f"{len(low)} of {len(grid)} cells are below the shown ranking (p < .05, Holm)")
    for key, p in low:
        print("  *", *key, f"p {p:.2g}")


def print_real_sessions(data: Path) -> None:
    """Compare two orders of judged shown documents: by rank, and by the click model."""
    folder = data / "clicks" / "trec_session"
    with gzip.open(folder / "sessions.jsonl.gz", "rt") as lines:
        pages = [page for page in map(json.loads, lines) if page["part"] != "human_label"]
    sessions = [
        Session(
            page["qid"], tuple(page["docs"]), frozenset(np.array(page["docs"])[np.array(page["clicks"]) > 0]), 1.0, n
        )
        for n, page in enumerate(pages, start=1)
        if len(set(page["docs"])) == len(page["docs"])
    ]
    found = ClickLog(sessions).estimates()
    grades = read_qrels(folder / "qrels.txt").to_dict()
    judged = Judgments.from_dict({q: {d: max(g, 0.0) for d, g in docs.items()} for q, docs in grades.items()})
    values = {}
    for name, scores in (("shown", found.log_prior), ("click model", found.relevance)):
        run: dict[str, dict[str, float]] = {}
        for query, doc, score in zip(found.queries, found.docs, scores.tolist(), strict=True):
            if doc in grades.get(query, {}):
                run.setdefault(query, {})[doc] = score
        values[name] = evaluate(judged, Run.from_dict(run), "nDCG@10").values["nDCG@10"]
        print(f"TREC Session 2014, {name:12} nDCG@10 {values[name].mean():.4f}")
    print(
        f"{len(sessions)} pages, prior strength {found.strength:.2g}; {compare(values['shown'], values['click model'])}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), type=Path)
    parser.add_argument("--sets", nargs="*", default=["cacm", "OHSUMED-letor2"])
    parser.add_argument("--sessions", nargs="*", type=int, default=[300, 1000])
    parser.add_argument("--full", action="store_true", help="all sets, 100 to 10,000 sessions")
    parser.add_argument("--method", default="standing")
    parser.add_argument("--noise", type=float, default=User("").noise)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.data is None:
        parser.error("--data FOLDER, or TACIT_DATA, is needed")
    print_real_sessions(args.data)
    sets, sessions = ([*TEXT_SETS, *LETOR_SETS], [*N_SESSIONS]) if args.full else (args.sets, args.sessions)
    if sets:
        print_grid(args.data, sets, sessions, args.method, args.noise, args.seed)


if __name__ == "__main__":
    main()
