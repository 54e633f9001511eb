"""Train on feature lists with one judged row in ten: a supervised ranker and one that also uses the unjudged rows.

    python examples/lists_with_few_labels.py

The lists are generated. The features of a row are its true relevance plus noise. Their scale differs from list to list,
as the scores of search engines do.
"""

from __future__ import annotations

import numpy as np

from tacit import Lists
from tacit.rerank import get_method


def draw(n_lists: int, rng: np.random.Generator) -> Lists:
    """Generate lists of 30 judged rows with three useful features and two noise features."""
    n_rows = 30 * n_lists
    relevance = rng.normal(size=n_rows)
    scale = np.exp(rng.normal(size=n_lists)).repeat(30)
    X = np.column_stack([relevance + rng.normal(size=n_rows) for _ in range(3)] + [rng.normal(size=(n_rows, 2))])
    names = [f"q{number}" for number in range(n_lists)]
    return Lists(X * scale[:, None], (relevance > 1).astype(float), np.arange(0, n_rows + 1, 30), names, [""] * n_rows)


def main() -> None:
    """Train on few labels and measure on lists with all labels."""
    rng = np.random.default_rng(0)
    train, test = draw(20, rng), draw(50, rng)
    train.y[rng.random(len(train.y)) < 0.9] = np.nan  # unjudged
    print(f"{int((train.y >= 0).sum())} of {len(train.y)} rows are judged")
    for name in ("linear", "standing"):
        print(f"{name}: nDCG-letor@10 {get_method(name).make().fit(train).score(test):.3f}")


if __name__ == "__main__":
    main()
