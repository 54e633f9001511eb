"""Average precision by the language that texts are read in, on the 12 languages of XQuAD.

    python benchmarks/languages.py [--data DIR]

For each language: the language that `auto` finds, and the mean average precision of `bm25` and `blend` on its 1,190
questions and 240 paragraphs, read as English (`en`), in the language found (`auto`) and without a language (`any`).
`bm25` is on stems where the language has a stemmer.
"""

import argparse
import os
from pathlib import Path

import tacit
from tacit.core import Collection
from tacit.features import find_language, has_stemmer

Grades = dict[str, dict[str, float]]
METHODS = ("bm25", "blend")


def of_language(collection: Collection, language: str) -> Collection:
    """The texts of one language."""
    return collection.take([row for row, name in enumerate(collection.ids) if name.startswith(f"{language}-")])


def average_precision(method: str, language: str, documents: Collection, queries: Collection, qrels: Grades) -> float:
    """Mean average precision of a method on texts read in a language."""
    searcher = tacit.Searcher(method, language=language, stem=has_stemmer(language)).fit(documents)
    judged = tacit.Judgments.from_dict({query: qrels[query] for query in queries.ids})
    return tacit.evaluate(judged, searcher.run(queries, 100), ["AP"]).means()["AP"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA", "data"))
    folder = Path(parser.parse_args().data) / "text" / "xquad_12lang"
    documents = tacit.read_collection(folder / "docs.jsonl.gz")
    queries = tacit.read_queries(folder / "queries.jsonl")
    qrels = tacit.read_qrels(folder / "qrels.txt").to_dict()
    print("language  auto  " + "  ".join(f"{method}/{how:<4}" for method in METHODS for how in ("en", "auto", "any")))
    for language in sorted({name.split("-")[0] for name in documents.ids}):
        texts, asked = of_language(documents, language), of_language(queries, language)
        found = find_language(texts)
        values = [
            f"{average_precision(method, how, texts, asked, qrels):.3f}".rjust(len(method) + 5)
            for method in METHODS
            for how in ("en", found, "any")
        ]
        print(f"{language:<8}  {found:<4}  " + "  ".join(values))


if __name__ == "__main__":
    main()
