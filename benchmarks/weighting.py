"""Quality of tf-idf with each weighting on held-out links, the basis of the defaults of `TextVectorizer`.

    python benchmarks/weighting.py --data FOLDER     (FOLDER defaults to $TACIT_DATA)

Protocol of `tacit reproduce links`, split by queries, seed 0, 30,000 words, 1,000 test queries.
"""

import argparse
import os
from pathlib import Path

from tacit.experiments.collections.link_task import LinkTask, read_linked_corpus, split_links
from tacit.features import TextVectorizer
from tacit.retrieve import get_method


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"))
    data = Path(parser.parse_args().data)
    print(f"{'corpus':<12}{'tf':<6}{'idf':<8}{'rank loss %':>12}{'MAP':>8}{'P@10':>8}")
    for name in ("mdn_ja_en", "foldoc"):
        corpus = read_linked_corpus(data / "linked" / name)
        split = split_links(corpus.links, "queries", 0)
        rows, method = split.test_queries(1000, 0), get_method("tfidf")
        for tf in ("raw", "log"):
            for idf in ("plain", "smooth"):
                features = {"tfidf": TextVectorizer(tf=tf, idf=idf).fit_transform(corpus.documents.full_texts())}
                task = LinkTask(features, features, split, rows, None)
                found = task.measure(task.fit(method, None, 0))
                loss, *others = (found[measure].mean() for measure in ("rank_loss", "MAP", "P@10"))
                print(f"{name:<12}{tf:<6}{idf:<8}{100 * loss:>12.2f}{others[0]:>8.3f}{others[1]:>8.3f}", flush=True)


if __name__ == "__main__":
    main()
