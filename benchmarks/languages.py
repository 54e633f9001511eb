"""Search in the 12 languages of XQuAD, and from one language into another.

    python benchmarks/languages.py [--data DIR]

For each language: the language detected by `auto`, and the mean average precision of `bm25` and `blend` on its 1,190
questions and 240 paragraphs, read as English (`en`), in the detected language (`auto`) and without a language (`any`).
`bm25` uses stems if the language has a stemmer.

Then, for pairs of languages, the mean reciprocal rank of `cl-lsi` and of the default mixture: 70% of the articles give
pairs of paragraphs for training; paragraphs and questions of the others are queries.
"""

import argparse
import os
from pathlib import Path

import numpy as np

import tacit
from tacit.core import Collection, Links
from tacit.features import find_language, has_stemmer

Grades = dict[str, dict[str, float]]
METHODS = ("bm25", "blend")
ACROSS = ("cl-lsi", "ssi-cross+cl-lsi")
LANGUAGE_PAIRS = ("de-en", "es-en", "ro-es", "ru-en", "zh-en", "th-en", "en-ar", "hi-de")


def of_language(collection: Collection, language: str) -> Collection:
    """Return the texts of one language."""
    return collection.take([row for row, name in enumerate(collection.ids) if name.startswith(f"{language}-")])


def average_precision(method: str, language: str, documents: Collection, queries: Collection, qrels: Grades) -> float:
    """Return the mean average precision of a method on texts read in a language."""
    searcher = tacit.Searcher(method, language=language, stem=has_stemmer(language)).fit(documents)
    judged = tacit.Judgments.from_dict({query: qrels[query] for query in queries.ids})
    return tacit.evaluate(judged, searcher.run(queries, 100), ["AP"]).means()["AP"]


def across(pair: str, documents: Collection, queries: Collection, qrels: Grades) -> list[float]:
    """Return mean reciprocal ranks of paragraphs, then of questions, by each method of `ACROSS`."""
    asking, asked = pair.split("-")
    texts, items = of_language(documents, asking), of_language(documents, asked)
    articles = np.array([documents.extras["article"][documents.row_of[name]] for name in texts.ids])
    names = sorted(set(articles.tolist()))
    test = np.isin(articles, np.random.default_rng(0).choice(names, int(0.3 * len(names)), replace=False))
    train, held = np.flatnonzero(~test), np.flatnonzero(test)
    questions = of_language(queries, asking)
    target = np.array([texts.row_of[next(iter(qrels[name]))] for name in questions.ids])
    of_test = np.flatnonzero(test[target])
    found = []
    for method in ACROSS:
        searcher = tacit.Searcher(method, language=asked, query_language=asking)
        searcher.fit(items, queries=texts, pairs=Links(train, train, len(texts), len(items)))
        for queried, rows in ((texts.take(held), held), (questions.take(of_test), target[of_test])):
            hits = searcher.rank(queried, 100).items == rows[:, None]
            found.append(float((hits / np.arange(1, hits.shape[1] + 1)).sum(axis=1).mean()))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA", "data"))
    folder = Path(parser.parse_args().data) / "text" / "xquad_12lang"
    documents = tacit.read_collection(folder / "docs.jsonl.gz", extras=["article"])
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
    print("\npair   " + "  ".join(f"{method}/{what}" for method in ACROSS for what in ("paragraphs", "questions")))
    for pair in LANGUAGE_PAIRS:
        print(f"{pair}  " + "  ".join(f"{value:.3f}" for value in across(pair, documents, queries, qrels)))


if __name__ == "__main__":
    main()
