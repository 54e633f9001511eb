"""The AUC loss on 100,000 documents: linear in the rows, equal to the sum over pairs on small data.

    python benchmarks/auc.py

One list, 1% of it relevant. The sum over pairs is quadratic, so it is measured on sizes where it takes seconds.
"""

import time

import numpy as np

from tacit.rerank.linear.auc import AucLoss, AucRanker
from tacit.rerank.rows import group_rows

SIZES = (12_500, 25_000, 50_000, 100_000)
N_FEATURES, N_REPEATS = 45, 7


def world(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of random features and their grades."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES))
    return X, (X[:, 0] + rng.normal(size=n_rows) > 3.3).astype(float)


def best_time(work) -> float:  # noqa: ANN001
    times = []
    for _ in range(N_REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def sum_over_pairs(y: np.ndarray, h: np.ndarray) -> float:
    return float(np.exp(h[y < 1][None, :] - h[y >= 1][:, None]).mean())


def main() -> None:
    print(f"{'rows':>9}{'positive':>10}{'loss ms':>10}{'pairs ms':>11}{'difference':>12}{'fit s':>8}")
    seconds = []
    for n_rows in SIZES:
        X, y = world(n_rows)
        h = X[:, 0] / 3
        loss = AucLoss.of(group_rows(X, y, np.zeros(n_rows)))
        seconds.append(best_time(lambda loss=loss, h=h: loss.value_and_gradient(h)))
        pairwise = [np.nan, np.nan]
        if n_rows <= 25_000:
            start = time.perf_counter()
            exact = sum_over_pairs(y, h)
            pairwise = [1000 * (time.perf_counter() - start), abs(loss.value_and_gradient(h)[0] / exact - 1)]
        start = time.perf_counter()
        AucRanker().fit(X, y)
        fitted = time.perf_counter() - start
        figures = f"{1000 * seconds[-1]:>10.2f}{pairwise[0]:>11.0f}{pairwise[1]:>12.1e}{fitted:>8.2f}"
        print(f"{n_rows:>9,}{int(y.sum()):>10,}{figures}")
    slope = np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]
    print(f"time grows with rows to the power {slope:.2f} (1 = linear)")


if __name__ == "__main__":
    main()
