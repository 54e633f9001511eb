"""Features selected by per-list rankers, and statistics of importance weights (TRANS tables 4-5, figures 3, 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Lists, one_blas_thread
from tacit.experiments.figures import new_figure, save
from tacit.experiments.lists.letor_task import FoldLists, measure_lists
from tacit.experiments.report import Row, Section
from tacit.features.kernel_pca import DEFAULT_KERNELS, KernelPca
from tacit.metrics import compare_systems
from tacit.rerank import KliepAdaptation, RankBoostRanker, Rows
from tacit.rerank.list_columns import scale_within_lists
from tacit.rerank.transduction.guarded import CommitteeRanker

SHOWN = ("MAP", "nDCG-letor@10")
LEAST_GAIN = 0.2
N_TOP, N_LISTS, N_HISTOGRAMS, N_BINS, N_ROUNDS = 5, 12, 6, 12, 50


@dataclass(frozen=True)
class Analysis:
    """Tables and figures of one fold."""

    sections: Sequence[Section]
    figures: dict[str, Callable[[Path], None]]


def analyse_fold(fold: FoldLists, seed: int) -> Analysis:
    """Analyse the rankers and weights of up to N_LISTS test lists."""
    lists = [fold.test.X[fold.test.rows(number)] for number in range(len(fold.test))]
    longest = sorted(range(len(lists)), key=lambda number: -len(lists[number]))[:N_LISTS]
    looked_at = [lists[number] for number in sorted(longest) if len(lists[number]) >= 2]
    rows = Rows.of(fold.train)
    weights = _weights(rows, looked_at, seed)
    scaled = replace(rows, X=scale_within_lists(rows.X, rows.list_of, "zscore"))
    z_scores = [scale_within_lists(X, np.zeros(len(X), np.int64), "zscore") for X in looked_at]
    statistics = [weight_statistics(found) for found in (weights, _weights(scaled, z_scores, seed))]
    where = f"{len(looked_at)} test lists of {fold.name}"
    table = Section(
        f"Importance weights of training pairs (means over {where})",
        ["statistic", "raw features", "z-scores"],
        [[name, *(f"{values[name]:.4f}" for values in statistics)] for name in statistics[0]],
    )
    figures: dict[str, Callable[[Path], None]] = {
        "weights": partial(_draw_weights, weights[:N_HISTOGRAMS]),
        "two-lists": partial(_draw_two_lists, fold.test, _strongest_features(rows)),
    }
    return Analysis([table], figures)


def _weights(rows: Rows, lists: Sequence[np.ndarray], seed: int) -> list[np.ndarray]:
    with one_blas_thread():
        return [KliepAdaptation(seed=seed).weights(rows, rows.X, X) for X in lists]


def improved_lists(folds: Sequence[FoldLists], fg: Row, baseline: Row) -> Section:
    """Return kinds of the strongest features of FG's rankers for the lists that it improves most (table 4)."""
    gains = fg.values["MAP"] > (1 + LEAST_GAIN) * baseline.values["MAP"]
    first, kinds = 0, Counter[str]()
    for fold in folds:
        numbers = np.flatnonzero(gains[first : first + len(fold.test)]).tolist()
        first += len(fold.test)
        lists = [X for X in (fold.test.X[fold.test.rows(number)] for number in numbers) if len(X) >= 2]
        with one_blas_thread():
            kinds.update(" + ".join(found) for found in _top_kinds(Rows.of(fold.train), lists))
    where = f"{kinds.total()} test lists whose AP is more than {LEAST_GAIN:.0%} above {baseline.system}"
    return Section(
        f"Kinds of the {N_TOP} strongest features of FG's rankers ({where})",
        ["kinds", "lists"],
        [[name, str(count)] for name, count in kinds.most_common()],
    )


def guard_parts(folds: Sequence[FoldLists], guarded: Row) -> Section:
    """Compare `guarded` with its supervised part alone: the share of its gain due to transduction."""
    values: list[dict[str, np.ndarray]] = []
    for fold in folds:
        ranker = CommitteeRanker().fit(fold.train.X, fold.train.y, fold.train.qid)
        values.append(measure_lists(fold.test, ranker.predict(fold.test.X, fold.test.qid)))
    lines = []
    for metric in SHOWN:
        alone = np.concatenate([part[metric] for part in values])
        test = compare_systems({"guarded": guarded.values[metric], "supervised": alone}, metric)[0]
        lines.append([metric, f"{alone.mean():.4f}", f"{guarded.metrics[metric]:.4f}", f"{test.p:.3g}"])
    title = "guarded and its supervised half alone: RankBoost averaged over rounds, and a linear ranker"
    return Section(title, ["metric", "supervised half", "guarded", "p"], lines)


def weight_statistics(weights: Sequence[np.ndarray]) -> dict[str, float]:
    """Return means over lists of the median, quantiles, mode, deviation and entropy of weights.

    The entropy is of a histogram with 12 bins, so at most ln 12 = 2.48; the mode is the middle of its fullest bin.

    >>> {name: round(value, 3) for name, value in weight_statistics([np.arange(12.0)]).items()}["entropy"]
    2.485
    """
    found = []
    for values in weights:
        counts, edges = np.histogram(values, bins=N_BINS)
        shares = counts[counts > 0] / counts.sum()
        fullest = int(np.argmax(counts))
        mode = (edges[fullest] + edges[fullest + 1]) / 2
        quantiles = np.quantile(values, [0.5, 0.75, 0.25])
        found.append([*quantiles, mode, values.std(), -(shares * np.log(shares)).sum()])
    names = ("median", "75th quantile", "25th quantile", "mode", "standard deviation", "entropy")
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def _top_kinds(rows: Rows, lists: Sequence[np.ndarray]) -> list[list[str]]:
    """Return, for each list, the kinds of the features with the largest stump weights in its FG ranker."""
    ranker = RankBoostRanker(n_rounds=N_ROUNDS, threads=1)
    prepared = ranker.prepare(rows)
    order = ["original", *(kernel.kind for kernel in DEFAULT_KERNELS)]
    found = []
    for X in lists:
        pca = KernelPca().fit(X)
        stumps = ranker.fit_prepared(prepared, extra=pca.transform(rows.X)).stumps_
        names = ["original"] * rows.X.shape[1] + pca.families_
        strength = np.bincount(stumps.features, weights=np.abs(stumps.weights), minlength=len(names))
        top = {names[f] for f in np.argsort(-strength, kind="stable")[:N_TOP] if strength[f] > 0}
        found.append([kind for kind in order if kind in top])
    return found


def _strongest_features(rows: Rows) -> tuple[int, int]:
    stumps = RankBoostRanker(n_rounds=N_ROUNDS, threads=1)
    fitted = stumps.fit_prepared(stumps.prepare(rows)).stumps_
    strength = np.bincount(fitted.features, weights=np.abs(fitted.weights), minlength=rows.X.shape[1])
    first, second = np.argsort(-strength, kind="stable")[:2].tolist()
    return first, second


def _draw_weights(weights: Sequence[np.ndarray], path: Path) -> None:
    figure, axes = new_figure(9, 5, n_columns=3, n_rows=2)
    for axis, values in zip(np.ravel(axes), weights, strict=False):
        axis.hist(values, bins=40, color="#4c78a8")
        axis.set(xlabel="importance weight", ylabel="training pairs")
    save(figure, path)


def _draw_two_lists(lists: Lists, features: tuple[int, int], path: Path) -> None:
    """Draw the two lists whose principal directions over two features differ most (figure 3)."""
    spread = np.array([lists.X[lists.rows(n)][:, features].std(axis=0) for n in range(len(lists))])
    ratio = np.log((spread[:, 0] + 1e-9) / (spread[:, 1] + 1e-9))
    figure, axes = new_figure(9, 4, n_columns=2)
    for axis, number in zip(axes, (int(np.argmax(ratio)), int(np.argmin(ratio))), strict=True):
        _draw_list(axis, lists, number, features)
    save(figure, path)


def _draw_list(axis: Any, lists: Lists, number: int, features: tuple[int, int]) -> None:
    X, relevant = lists.X[lists.rows(number)][:, features], lists.y[lists.rows(number)] >= 1
    axis.scatter(*X[~relevant].T, marker="x", s=14, color="#999999", label="not relevant")
    axis.scatter(*X[relevant].T, s=18, color="#4c78a8", label="relevant")
    axis.set(xlabel=f"feature {features[0] + 1}", ylabel=f"feature {features[1] + 1}")
    axis.set_title(f"query {lists.query_ids[number]}")
    axis.legend()
