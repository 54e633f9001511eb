"""Memory and time to read a collection, and to open its model, by size; and to read dumps.

    python benchmarks/reading.py [--documents 50000 200000] [--data FOLDER]     (FOLDER defaults to $TACIT_DATA)

Documents have about 120 distinct words, drawn by a Zipf law from 300,000. Each size runs in a separate process: peak
memory after tf-idf and after `bm25` is saved, with texts in a file throughout, as for large collections. Another
process opens the model and runs one query. Seconds are CPU time. The dumps are in FOLDER/wikidump; mwparserfromhell
converts the same pages if it is installed.
"""

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

N_WORDS = 300_000


def write_documents(path: Path, n_documents: int) -> None:
    rng = np.random.default_rng(0)
    shares = np.cumsum(1 / np.arange(1, N_WORDS + 1) ** 1.05)
    with path.open("w") as out:
        for number in range(n_documents):
            drawn = np.searchsorted(shares, rng.random(rng.integers(100, 230)) * shares[-1])
            words = [f"w{word:x}" for word in drawn.tolist()]
            out.write(json.dumps({"id": str(number), "title": " ".join(words[:3]), "text": " ".join(words)}) + "\n")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit(path: str, model: str) -> None:
    from tacit.core import texts
    from tacit.data import read_collection
    from tacit.features import TextVectorizer
    from tacit.search import Searcher

    texts.MEMORY_CHARACTERS = 1 << 20
    start = time.process_time()
    documents = read_collection(path)
    TextVectorizer().fit_transform(documents.full_texts())
    figures = [time.process_time() - start, peak()]
    Searcher("bm25").fit(documents).save(model)
    print(json.dumps([*figures, peak()]))


def open_model(model: str) -> None:
    from tacit.search import Searcher

    start = time.process_time()
    searcher = Searcher.load(model)
    opened = time.process_time() - start
    searcher.search("w1 w20 w300")
    print(json.dumps([opened, time.process_time() - start, peak()]))


def read_dumps(folder: Path) -> None:
    from tacit.data.files import read_bytes
    from tacit.data.wiki.markup import plain_page
    from tacit.data.wiki.pages import DumpPages

    pages = []
    start = time.process_time()
    for path in sorted(folder.iterdir()):
        dump = DumpPages(read_bytes(path), path.name)
        pages += [(page.text, dump.site) for page in dump if page.text and page.redirect is None]
    size = sum(len(text) for text, _ in pages) / 1e6
    print(f"\n{len(pages)} pages, {size:.1f} million characters of wikitext")
    print(f"XML and bzip2      {size / (time.process_time() - start):6.1f} million characters a second")
    start = time.process_time()
    for text, site in pages:
        plain_page(text, site)
    print(f"text and links     {size / (time.process_time() - start):6.1f}")
    if importlib.util.find_spec("mwparserfromhell"):
        parser = importlib.import_module("mwparserfromhell")
        start = time.process_time()
        for text, _ in pages:
            parser.parse(text, skip_style_tags=True).strip_code()
        print(f"mwparserfromhell   {size / (time.process_time() - start):6.1f}")


def in_process(*words: object) -> list[float]:
    done = subprocess.run([sys.executable, __file__, *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[50_000, 200_000])
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"))
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--open", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fit or args.open:
        fit(*args.fit) if args.fit else open_model(args.open)
        return
    print("documents  tf-idf s  tf-idf MiB  bm25 MiB    open s  first search s  MiB", flush=True)
    for n_documents in args.documents:
        with tempfile.TemporaryDirectory() as folder:
            path, model = Path(folder, "docs.jsonl"), Path(folder, "model")
            write_documents(path, n_documents)
            seconds, weighed, fitted = in_process("--fit", path, model)
            opened, searched, mapped = in_process("--open", model)
        print(
            f"{n_documents:9,}{seconds:10.1f}{weighed:12,.0f}{fitted:10,.0f}{opened:10.2f}{searched:16.2f}{mapped:6,.0f}"
        )
    if args.data:
        read_dumps(Path(args.data, "wikidump"))


if __name__ == "__main__":
    main()
