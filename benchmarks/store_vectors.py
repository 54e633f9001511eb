"""Encode a collection once: vectors that `encoder_weight.py --stored` reads.

    python benchmarks/store_vectors.py MODEL --corpus chorus_products --tokens 64

MODEL is the name or folder of a sentence-transformers model. Documents are cut after the given number of tokens, so
each has one vector. Writes TACIT_DATA/vectors/CORPUS.npz: `docs` and `queries` (float16, unit length) with their ids.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from tacit.experiments.collections.question_task import read_questions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--tokens", type=int, default=256)
    args = parser.parse_args()
    data = Path(os.environ["TACIT_DATA"])
    task, model = read_questions(data, args.corpus), SentenceTransformer(args.model, device="cpu")
    model.max_seq_length = args.tokens
    found: dict[str, np.ndarray] = {}
    for key, ids, texts in (("docs", "doc_ids", task.documents), ("queries", "query_ids", task.queries)):
        vectors = model.encode(list(texts.full_texts()), normalize_embeddings=True, show_progress_bar=True)
        found |= {key: vectors.astype(np.float16), ids: np.array(texts.ids)}
    (data / "vectors").mkdir(exist_ok=True)
    np.savez(data / "vectors" / f"{args.corpus}.npz", **found)


if __name__ == "__main__":
    main()
