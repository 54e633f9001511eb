"""Train on a few judged queries and compare with BM25 on unseen queries.

    python examples/few_judged_queries.py

The corpus is the documentation of the installed libraries; a query is the title of an object in plain words, and
the first "See Also" entries of the object are its relevant documents.
"""

from __future__ import annotations

import numpy as np

import tacit


def main() -> None:
    """Fit on half of the queries, measure on the other half."""
    documents, links = tacit.read_pydocs()
    sources = np.unique(links.sources)[:80]
    queries = documents.take(sources)
    texts = [title.replace(".", " ").replace("_", " ") for title in queries.titles]
    queries = tacit.Collection(queries.ids, [""] * len(texts), texts)
    grades = {
        documents.ids[source]: {documents.ids[target]: 1 for target in links.targets[links.sources == source]}
        for source in sources.tolist()
    }
    train, test = queries.take(range(40)), queries.take(range(40, len(queries)))
    known = tacit.Judgments.from_dict({name: grades[name] for name in train.ids})
    unseen = tacit.Judgments.from_dict({name: grades[name] for name in test.ids})
    for searcher in (
        tacit.Searcher("bm25", stem=True).fit(documents),
        tacit.Searcher("lsi+tfidf", dim=30).fit(documents, queries=train, qrels=known),
    ):
        found = tacit.evaluate(unseen, searcher.run(test, exclude_self=True), ["nDCG@10"]).means()
        print(f"{searcher.method}: nDCG@10 {found['nDCG@10']:.3f} on {len(test)} unseen queries")


if __name__ == "__main__":
    main()
