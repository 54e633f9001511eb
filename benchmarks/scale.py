"""Cost of `tacit fit` and of searches as a collection grows, from end to end.

    python benchmarks/scale.py [--sizes 10000 100000] [--run 1800000] [--folder DIR] [--epochs 1] [--seed 0]

Collections are generated with the word and in-link frequencies of `wikispeedia` (read from $TACIT_DATA): about 120
different words per document and 13.7 links. A document has a topic, which a fifth of its words come from, and a hidden
topic, which none of its words show. Half of its links go to documents of its topic, which words explain, half to
documents whose hidden topic is its topic: only learned vectors of single items can represent these.

The table has seconds of processor time, of all threads together, so that other work on the machine has little effect:
to read (parse, count and weigh words, read links), to train one epoch of htr-residual with n = 100, to save, and to
open the model; milliseconds per search by a full document in one thread; and the peak memory of `tacit fit`. Slopes are
of log cost over log size. `--run` fits one collection and compares it with tf-idf and BM25 on held-out links.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

# Links are drawn with repetition: 14.8 draws per document give 13.7 different ones, as in 24.7 million for 1.8 million.
N_LINKS, TOPIC_SIZE, TOPIC_WORDS, TOPIC_SHARE = 14.8, 250, 60, 0.2
N_TOKENS = 128  # gives about 120 different words
HELD_SHARE, N_HELD, N_SEARCHES, BLOCK = 0.05, 200, 50, 10_000


def wikispeedia() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return words, their document frequencies, and in-links of every document that has some."""
    from tacit.data import read_collection, read_links
    from tacit.features import TextVectorizer

    folder = Path(os.environ["TACIT_DATA"]) / "linked" / "wikispeedia"
    documents = read_collection(folder / "docs.jsonl.gz")
    links = read_links(folder / "links.tsv.gz", documents, skip_unknown=True)
    reader = TextVectorizer(words=30_000)
    counts = reader.fit_counts(documents.full_texts())
    in_links = np.bincount(links.targets, minlength=len(documents))
    return list(reader.vocabulary_), np.bincount(counts.indices, minlength=counts.shape[1]), in_links[in_links > 0]


def generate(folder: Path, n_docs: int, seed: int) -> dict[str, float]:
    """Write docs.jsonl, links.tsv, and held.tsv with the links of some documents; return the sizes."""
    rng = np.random.default_rng([seed, n_docs])
    words, frequencies, in_links = wikispeedia()
    topics, hidden = (rng.integers(0, max(2, n_docs // TOPIC_SIZE), n_docs) for _ in range(2))
    n_different = write_documents(folder / "docs.jsonl", np.array(words, object), frequencies, topics, rng)
    popularity = rng.choice(in_links, n_docs).astype(np.float64)
    is_held = rng.random(n_docs) < HELD_SHARE
    with (folder / "links.tsv").open("w") as links, (folder / "held.tsv").open("w") as held:
        n_links = 0
        for start in range(0, n_docs, BLOCK):
            rows = np.arange(start, min(start + BLOCK, n_docs))
            sources = np.repeat(rows, rng.poisson(N_LINKS, len(rows)))
            planted = rng.random(len(sources)) < 0.5
            targets = np.where(
                planted,
                draw_members(hidden, topics[sources], popularity, rng),
                draw_members(topics, topics[sources], popularity, rng),
            )
            pairs = np.unique(np.column_stack([sources, targets]), axis=0)
            for source, target in pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs[:, 1] >= 0)].tolist():
                (held if is_held[source] else links).write(f"d{source}\td{target}\n")
                n_links += 1
    return {"documents": n_docs, "links": n_links, "words a document": n_different}


def write_documents(
    path: Path, words: np.ndarray, frequencies: np.ndarray, topics: np.ndarray, rng: np.random.Generator
) -> float:
    """Write documents of words drawn by frequency, some of them from the topic; return mean different words."""
    reach = np.cumsum(frequencies / frequencies.sum())
    of_topic = np.minimum(len(words) - 1, np.searchsorted(reach, rng.random((topics.max() + 1, TOPIC_WORDS))))
    n_different = 0
    with path.open("w") as file:
        for start in range(0, len(topics), BLOCK):
            block = topics[start : start + BLOCK]
            drawn = np.minimum(len(words) - 1, np.searchsorted(reach, rng.random((len(block), N_TOKENS))))
            n_topical = round(TOPIC_SHARE * N_TOKENS)
            drawn[:, :n_topical] = of_topic[block[:, None], rng.integers(0, TOPIC_WORDS, (len(block), n_topical))]
            n_different += np.count_nonzero(np.diff(np.sort(drawn, axis=1), axis=1)) + len(block)
            for place, row in enumerate(words[drawn].tolist()):
                file.write(json.dumps({"id": f"d{start + place}", "text": " ".join(row)}) + "\n")
    return n_different / len(topics)


_orders: dict[int, tuple[np.ndarray, np.ndarray]] = {}


def draw_members(groups: np.ndarray, wanted: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a member of each wanted group, drawn by weight; -1 for an empty group."""
    if id(groups) not in _orders:
        order = np.argsort(groups, kind="stable")
        _orders[id(groups)] = order, np.concatenate([[0.0], np.cumsum(weights[order])])
    order, reach = _orders[id(groups)]
    sizes = np.bincount(groups, minlength=int(wanted.max()) + 1)
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    low, high = reach[firsts[wanted]], reach[firsts[wanted + 1]]
    places = np.searchsorted(reach, low + rng.random(len(wanted)) * (high - low), side="right") - 1
    return np.where(low < high, order[np.minimum(places, len(order) - 1)], -1)


def timed(clock: dict[str, float], name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function, with its seconds added to the clock."""

    def call(*given: Any, **named: Any) -> Any:
        start = time.process_time()
        clock.setdefault("before " + name, start)
        try:
            return work(*given, **named)
        finally:
            clock[name] = clock.get(name, 0.0) + time.process_time() - start

    return call


def fit_in_child(words: list[str]) -> dict[str, float]:
    """Run `tacit fit` in this process: seconds to read, train an epoch and save, and peak memory."""
    from tacit.app.main import main
    from tacit.retrieve.base import CollectionRanker
    from tacit.retrieve.margin.tasks import PairTask
    from tacit.search import Searcher

    clock: dict[str, float] = {}
    CollectionRanker.fit = timed(clock, "fit", CollectionRanker.fit)  # type: ignore[method-assign]
    PairTask.epoch = timed(clock, "epochs", PairTask.epoch)  # type: ignore[method-assign]
    Searcher.save = timed(clock, "save", Searcher.save)  # type: ignore[method-assign]
    start = time.process_time()
    code = main(["fit", *words])
    if code:
        raise SystemExit(code)
    return {
        "read": clock["before fit"] - start,
        "epochs": clock.get("epochs", 0.0),
        "fit": clock["fit"],
        "save": clock["save"],
        "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def search_in_child(model: str, docs: str, held: str) -> dict[str, float]:
    """Return seconds to open a model, milliseconds per search, and measures of held-out links."""
    from tacit.metrics import full_ranking_measures
    from tacit.search import Searcher

    start = time.process_time()
    searcher = Searcher.load(model)
    found = {"open": time.process_time() - start}
    texts, relevant, excluded = held_queries(searcher, docs, held)
    rows = searcher.features(texts)
    searcher.ranker_.rank(rows[:1], 10, threads=1)
    start = time.process_time()
    for row in range(min(N_SEARCHES, rows.shape[0])):
        searcher.ranker_.rank(rows[row : row + 1], 10, threads=1)
    found["search"] = 1000 * (time.process_time() - start) / min(N_SEARCHES, rows.shape[0])
    values = [
        full_ranking_measures(
            searcher.ranker_.scores(rows[row : row + 1]), relevant[row : row + 1], excluded[row : row + 1]
        )
        for row in range(rows.shape[0])
    ]
    found |= {name: float(np.mean([value[name][0] for value in values])) for name in ("rank_loss", "AP")}
    return found | {"GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def held_queries(searcher: Any, docs: str, held: str) -> tuple[list[str], Any, Any]:
    """Return texts of a few documents whose links are held out, these links, and the documents themselves."""
    import scipy.sparse as sp

    row_of, linked = searcher.documents_.row_of, dict[str, list[int]]()
    for line in Path(held).read_text().splitlines():
        source, target = line.split("\t")
        linked.setdefault(source, []).append(row_of[target])
    asked = sorted(linked, key=lambda name: int(name[1:]))
    asked = [asked[place] for place in np.linspace(0, len(asked) - 1, min(N_HELD, len(asked))).astype(int)]
    texts, wanted = {}, set(asked)
    with open(docs) as lines:
        for number, line in enumerate(lines):
            if f"d{number}" in wanted:
                texts[f"d{number}"] = json.loads(line)["text"]
    shape, n_docs = len(asked), len(row_of)
    pairs = [(row, item) for row, name in enumerate(asked) for item in linked[name]]
    relevant = sp.csr_array((np.ones(len(pairs)), np.array(pairs).T), shape=(shape, n_docs))
    selves = sp.csr_array((np.ones(shape), (np.arange(shape), [row_of[name] for name in asked])), shape=(shape, n_docs))
    return [texts[name] for name in asked], relevant, selves


def in_child(*words: object) -> dict[str, float]:
    """Run a part of this script in a separate process, to measure its peak memory."""
    done = subprocess.run([sys.executable, __file__, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(
    folder: Path, n_docs: int, args: argparse.Namespace, methods: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """Generate a collection, then fit and search it by each method."""
    start = time.perf_counter()
    made = in_child("--child", "generate", folder, n_docs, args.seed)
    print(f"generated in {time.perf_counter() - start:.0f} s: {made}", file=sys.stderr, flush=True)
    docs, links, held = (folder / name for name in ("docs.jsonl", "links.tsv", "held.tsv"))
    found = {}
    for method in methods:
        words = [docs, "-o", folder / method, "--method", method]
        if method == "htr-residual":
            words += ["--links", links, "--dim", 100, "--set", f"max_epochs={args.epochs}", "--seed", args.seed]
            words += [] if args.checkpoint is None else ["--checkpoint", args.checkpoint]
        found[method] = in_child("--child", "fit", *words)
        searched = in_child("--child", "search", folder / method, docs, held)
        found[method] |= {name: value for name, value in searched.items() if name != "GiB"}
        found[method]["search GiB"] = searched["GiB"]
        print(f"{n_docs:,} {method}: {found[method]}", file=sys.stderr, flush=True)
    return found


def print_table(sizes: list[int], rows: list[dict[str, float]], n_epochs: int) -> None:
    """Print one line for each size, and the slopes."""
    names = {"read": "read, s", "epoch": "epoch, s", "save": "save, s", "open": "open, s", "search": "search, ms"}
    names |= {"GiB": "fit, GiB", "search GiB": "search, GiB"}
    table = [row | {"epoch": row["epochs"] / n_epochs} for row in rows]
    print(f"{'documents':>10}" + "".join(f"{name:>13}" for name in names.values()))
    for size, row in zip(sizes, table, strict=True):
        print(f"{size:>10,}" + "".join(f"{row[name]:>13.2f}" for name in names))
    if len(sizes) > 1:
        slopes = [np.polyfit(np.log(sizes), np.log([row[name] for row in table]), 1)[0] for name in names]
        print(f"{'slope':>10}" + "".join(f"{slope:>13.2f}" for slope in slopes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--run", type=int, metavar="N", help="one collection, compared with tf-idf and BM25")
    parser.add_argument("--folder", help="keep collections and models there (default: a temporary folder)")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--checkpoint", help="folder for `tacit fit --checkpoint`")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() if args.folder is None else nullcontext(args.folder) as name:
        Path(name).mkdir(parents=True, exist_ok=True)
        if args.run:
            found = measure(Path(name), args.run, args, ("htr-residual", "tfidf", "bm25"))
            print(f"{'system':<14}{'rank_loss %':>13}{'MAP':>8}{'fit, s':>10}{'fit, GiB':>10}{'search, ms':>12}")
            for method, row in found.items():
                cost = f"{row['read'] + row['fit'] + row['save']:>10.0f}{row['GiB']:>10.2f}{row['search']:>12.1f}"
                print(f"{method:<14}{100 * row['rank_loss']:>13.2f}{row['AP']:>8.3f}{cost}")
            return
        rows = [measure(Path(name), size, args, ("htr-residual",))["htr-residual"] for size in args.sizes]
    print_table(args.sizes, rows, args.epochs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        part, given = sys.argv[2], sys.argv[3:]
        if part == "generate":
            result = generate(Path(given[0]), int(given[1]), int(given[2]))
        else:
            result = fit_in_child(given) if part == "fit" else search_in_child(*given)
        print(json.dumps(result))
    else:
        main()
