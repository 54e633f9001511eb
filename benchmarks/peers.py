"""tacit compared with tantivy and bm25s: indexing, folder, memory, and searches with titles and snippets.

    python benchmarks/peers.py [--documents N ...] [--queries N] [--systems NAME ...] [--data FOLDER]

Documents are the English ones of 14 public collections in the folder named by TACIT_DATA (package descriptions,
manuals, encyclopedia, news, abstracts, products, code): about 155,000 with 210 million characters, shuffled with seed
0. `--documents` uses the first N of them. A larger number splits the texts into that many passages with equal numbers
of words. A query has 2 to 6 words of a document that occur in fewer than a tenth of 2,000 documents, drawn with seed 0.

Every system runs in a separate process with one thread. Times are processor time: indexing from lists of titles and
texts to a written folder; a search from the text of the query to ten hits with titles and highlighted snippets, on the
folder as it was opened again. bm25s makes no snippets; its searches return titles only. tacit's documents also have a
number, and the same queries are asked again of the documents with one of 100 numbers (`filtered ms`). Memory is the
largest resident set of the process that indexes, less that before, and of the one that searches. The first searches
compile loops or read the folder and are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

COLLECTIONS = {
    "linked": ("debian_ja_en", "foldoc", "mdn_ja_en", "wikispeedia"),
    "text": (
        *("cacm", "chorus_products", "cisi", "cosqa_code", "cranfield", "cystic_fibrosis", "reuters21578"),
        *("scifact", "stackfaq", "traceability"),
    ),
}
SIZES = (10_000, 50_000, 155_000)
SYSTEMS = ("tantivy", "bm25s", "tacit bm25", "tacit blend")
K, WARM = 10, 50  # hits of a query; queries before the time is taken
FILTER = "part = 7"  # one of 100 parts
Search = Callable[[str], list[tuple[str, str]]]  # query to (title, snippet) of each hit


def read_documents(folder: Path, wanted: int) -> list[tuple[str, str]]:
    """Return titles and texts: some of the documents, or all of them in passages."""
    from tacit import read_collection

    found = [
        (document.title, document.text)
        for group, names in COLLECTIONS.items()
        for name in names
        for document in read_collection(folder / group / name / "docs.jsonl.gz")
    ]
    order = np.random.default_rng(0).permutation(len(found)).tolist()
    if wanted <= len(found):
        return [found[row] for row in order[:wanted]]
    words = [(found[row][0], found[row][1].split()) for row in order]
    size = sum(len(text) for _, text in words) / wanted
    passages = [
        (title, " ".join(text[first : first + round(size)]))
        for title, text in words
        for first in range(0, max(1, len(text)), round(size))
    ]
    return [passages[row] for row in np.random.default_rng(1).permutation(len(passages))[:wanted].tolist()]


def draw_queries(documents: list[tuple[str, str]], n_queries: int) -> list[str]:
    """Return two to six words of a document that are not too common."""
    from tacit.features import tokenizer_for

    rng, words_of = np.random.default_rng(0), tokenizer_for("en")
    sample = [set(words_of(documents[row][1])) for row in rng.permutation(len(documents))[:2000].tolist()]
    frequency: dict[str, int] = {}
    for words in sample:
        for word in words:
            frequency[word] = frequency.get(word, 0) + 1
    queries = list[str]()
    while len(queries) < n_queries:
        title, text = documents[int(rng.integers(len(documents)))]
        words = list(dict.fromkeys(words_of(f"{title} {text}")))
        rare = [word for word in words if len(word) > 2 and frequency.get(word, 0) < len(sample) / 10]
        if len(rare) >= 6:
            queries.append(" ".join(rare[place] for place in rng.permutation(len(rare))[: rng.integers(2, 7)].tolist()))
    return queries


def index_tacit(method: str, documents: list[tuple[str, str]], folder: str) -> None:
    from tacit import Collection, Searcher

    titles, texts = zip(*documents, strict=True)
    rows = range(len(documents))
    named = Collection([str(row) for row in rows], list(titles), list(texts), {"part": [row % 100 for row in rows]})
    Searcher(method, language="en", threads=1).fit(named).save(f"{folder}/model")


def open_tacit(folder: str, filter: str | None = None) -> Search:
    from tacit import Searcher
    from tacit.search.warming import warm_searcher

    searcher = Searcher.load(f"{folder}/model")
    warm_searcher(searcher)  # as `tacit serve` does
    return lambda query: [(hit.title, hit.snippet.marked()) for hit in searcher.search(query, K, filter=filter)]


def tantivy_schema() -> object:
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in ("title", "body"):
        builder.add_text_field(name, stored=True, tokenizer_name="en_stem")
    return builder.build()


def index_tantivy(documents: list[tuple[str, str]], folder: str) -> None:
    import tantivy

    writer = tantivy.Index(tantivy_schema(), path=folder).writer(heap_size=256 << 20, num_threads=1)
    for title, text in documents:
        writer.add_document(tantivy.Document(title=[title], body=[text]))
    writer.commit()
    writer.wait_merging_threads()


def open_tantivy(folder: str) -> Search:
    import tantivy

    schema = tantivy_schema()
    index = tantivy.Index(schema, path=folder)
    index.reload()
    searcher = index.searcher()

    def search(text: str) -> list[tuple[str, str]]:
        query = index.parse_query(text, ["title", "body"])
        snippets = tantivy.SnippetGenerator.create(searcher, query, schema, "body")
        found = [searcher.doc(address) for _, address in searcher.search(query, K).hits]
        return [(document["title"][0], snippets.snippet_from_doc(document).to_html()) for document in found]

    return search


def index_bm25s(documents: list[tuple[str, str]], folder: str) -> None:
    import bm25s
    import Stemmer

    texts = [f"{title} {text}" for title, text in documents]
    tokens = bm25s.tokenize(texts, stopwords=None, stemmer=Stemmer.Stemmer("english"), show_progress=False)
    ranker = bm25s.BM25()
    ranker.index(tokens, show_progress=False)
    ranker.save(folder, corpus=[{"title": title, "text": text} for title, text in documents], show_progress=False)


def open_bm25s(folder: str) -> Search:
    import bm25s
    import Stemmer

    ranker, stemmer = bm25s.BM25.load(folder, load_corpus=True, mmap=True), Stemmer.Stemmer("english")

    def search(text: str) -> list[tuple[str, str]]:
        tokens = bm25s.tokenize([text], stopwords=None, stemmer=stemmer, return_ids=False, show_progress=False)
        found = ranker.retrieve(tokens, k=K, show_progress=False).documents[0]
        return [(document["title"], "") for document in found]

    return search


def index(system: str, source: str, folder: str) -> dict[str, float]:
    """Index the documents of a file; processor seconds, megabytes in memory and in the folder."""
    with open(source) as lines:
        documents = [tuple(json.loads(line)) for line in lines]
    forget_peak()
    before, start = resident(), time.process_time()
    if system == "tantivy":
        index_tantivy(documents, folder)
    elif system == "bm25s":
        index_bm25s(documents, folder)
    else:
        index_tacit(system.split()[1], documents, folder)
    seconds = time.process_time() - start
    size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    return {"index s": seconds, "index MB": resident() - before, "folder MB": size / 1e6}


def search(system: str, source: str, folder: str) -> dict[str, float]:
    """Search an opened folder; return processor milliseconds per query, and megabytes in memory."""
    queries: list[str] = json.loads(Path(source).read_text())
    opened = {"tantivy": open_tantivy, "bm25s": open_bm25s}.get(system, open_tacit)(folder)
    found = {"search ms": milliseconds(opened, queries), "search MB": resident()}
    if system.startswith("tacit"):
        found["filtered ms"] = milliseconds(open_tacit(folder, FILTER), queries)
    return found


def milliseconds(opened: Search, queries: list[str]) -> float:
    """Processor milliseconds of a query, after the first ones."""
    for query in queries[:WARM]:
        opened(query)
    start = time.process_time()
    for query in queries[WARM:]:
        opened(query)
    return 1000 * (time.process_time() - start) / len(queries[WARM:])


def forget_peak() -> None:
    """Let `resident` count from now on: reading may have needed more than is still in use."""
    Path("/proc/self/clear_refs").write_text("5")


def resident() -> float:
    """Return the maximum resident set of this program in megabytes; `getrusage` would include the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1000


def in_process(step: str, *words: str) -> dict[str, float]:
    """Return the result of a step in a separate process with one thread."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
    ended = subprocess.run(
        [sys.executable, __file__, "--step", step, *words],
        env=os.environ | dict.fromkeys(names, "1"),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return found


def measure(size: int, systems: list[str], n_queries: int, data: Path) -> None:
    """Print the rows of one size."""
    with tempfile.TemporaryDirectory() as folder:
        documents = read_documents(data, size)
        source, asked = f"{folder}/documents.jsonl", f"{folder}/queries.json"
        Path(source).write_text("".join(json.dumps(document) + "\n" for document in documents))
        Path(asked).write_text(json.dumps(draw_queries(documents, n_queries + WARM)))
        characters = sum(len(title) + len(text) for title, text in documents)
        print(f"\n{len(documents):,} documents, {characters / 1e6:.0f} million characters\n")
        print("| system | search ms | times tantivy | filtered ms | index s | folder MB | index MB | search MB |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
        base = float("nan")
        for system in systems:
            place = f"{folder}/{system}"
            os.mkdir(place)
            found = in_process("index", system, source, place) | in_process("search", system, asked, place)
            base = found["search ms"] if system == "tantivy" else base
            filtered = f"{found['filtered ms']:.2f}" if "filtered ms" in found else ""
            cells = [f"{found['search ms']:.2f}", f"{found['search ms'] / base:.1f}", filtered]
            cells += [f"{found['index s']:.1f}"]
            cells += [f"{found[name]:.0f}" for name in ("folder MB", "index MB", "search MB")]
            print(f"| {system} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Run one step, or all of them."""
    if sys.argv[1:2] == ["--step"]:
        step, *words = sys.argv[2:]
        print(json.dumps({"index": index, "search": search}[step](*words)))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--queries", type=int, default=1000, metavar="N")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS, metavar="NAME")
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"), metavar="FOLDER")
    args = parser.parse_args()
    if args.data is None:
        sys.exit("set TACIT_DATA to the folder of the collections, or give --data")
    for size in args.documents:
        measure(size, list(args.systems), args.queries, args.data)


if __name__ == "__main__":
    main()
