"""Speed of `TextVectorizer` compared with scikit-learn's on the 63,714 package descriptions of Debian.

    python benchmarks/vectorizing.py --data FOLDER     (FOLDER defaults to $TACIT_DATA)

Both sides get the same texts, words (runs of letters and digits), lower case, 30,000 columns, one thread, and run in
turn in one process; the best of three runs counts. Before timing, the counts of both are compared entry by entry, with
our tokenizer given to scikit-learn.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from tacit.features import TextVectorizer, tokenizer_for

N_WORDS = 30000
SAME_WORDS = {"token_pattern": r"[^\W_]+", "max_features": N_WORDS}


def read_texts(folder: Path) -> list[str]:
    """Return title and text of every package."""
    with gzip.open(folder / "linked" / "debian_ja_en" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [f"{doc['title']}\n{doc['text']}" for doc in map(json.loads, lines)]


def check_equal_counts(texts: list[str], ngrams: tuple[int, int]) -> str:
    """Count with both and compare; ties at the limit are resolved differently, so all columns are kept here."""
    ours = TextVectorizer(words=None, ngrams=ngrams, min_df=5)
    counts = ours.fit_counts(texts)
    theirs = CountVectorizer(tokenizer=tokenizer_for("en"), token_pattern=None, ngram_range=ngrams, min_df=5)
    wanted = sp.csr_array(theirs.fit_transform(texts))
    if set(ours.vocabulary_) != set(theirs.vocabulary_):
        return "DIFFERENT WORDS"
    columns = np.array([theirs.vocabulary_[gram] for gram in ours.vocabulary_])
    different = (counts != wanted[:, columns].astype(np.float32)).nnz
    return f"equal ({counts.shape[1]} columns, {counts.nnz} entries)" if not different else f"{different} DIFFER"


def best_of_three(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of the fastest run of each; runs alternate, so that both see the same machine load."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        for work, record in zip((ours, theirs), seconds, strict=True):
            start = time.perf_counter()
            work()
            record.append(time.perf_counter() - start)
    return min(seconds[0]), min(seconds[1])


def cases(texts: list[str]) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return the timed functions: ours and scikit-learn's, by name."""
    pairs = {"ngrams": (1, 2)}
    fitted_ours = TextVectorizer(words=N_WORDS).fit(texts)
    fitted_theirs = TfidfVectorizer(**SAME_WORDS).fit(texts)
    return {
        "fit, counts": (
            lambda: TextVectorizer(words=N_WORDS).fit_counts(texts),
            lambda: CountVectorizer(**SAME_WORDS).fit_transform(texts),
        ),
        "fit, tf-idf": (
            lambda: TextVectorizer(words=N_WORDS).fit_transform(texts),
            lambda: TfidfVectorizer(**SAME_WORDS).fit_transform(texts),
        ),
        "transform, tf-idf": (lambda: fitted_ours.transform(texts), lambda: fitted_theirs.transform(texts)),
        "fit, counts of 1- and 2-grams": (
            lambda: TextVectorizer(words=N_WORDS, **pairs).fit_counts(texts),
            lambda: CountVectorizer(ngram_range=(1, 2), **SAME_WORDS).fit_transform(texts),
        ),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), type=Path)
    folder = parser.parse_args().data
    if folder is None:
        parser.error("give --data or set TACIT_DATA")
    texts = read_texts(folder)
    print(f"{len(texts)} texts, {sum(map(len, texts)) / 1e6:.1f} million characters")
    print(f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn {sklearn.__version__}")
    for ngrams in ((1, 1), (1, 2)):
        print(f"counts of {ngrams}-grams: {check_equal_counts(texts, ngrams)}")
    print("\n| work | tacit, s | scikit-learn, s | ratio |\n|---|---|---|---|")
    for name, work in cases(texts).items():
        ours, theirs = best_of_three(*work)
        print(f"| {name} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.1f} |", flush=True)


if __name__ == "__main__":
    main()
