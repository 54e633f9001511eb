"""Errors over seeds: averaged where the digits are the same, joined where they are not."""

import numpy as np
from scipy.stats import ttest_rel

from tacit.experiments.collections.usps import tables_over_seeds
from tacit.experiments.report import Row


def row(system, split, seed, errors, dim=100):
    setting = {"split": split, "seed": seed} | ({} if system == "raw" else {"dim": dim})
    return Row(system, {"error": np.array(errors, float)}, 0.1, setting)


def test_one_seed_has_no_tables():
    assert tables_over_seeds([row("raw", "standard", 0, [0, 1])], 100) == []


def test_means_and_tests_over_seeds():
    rows = [
        row("raw", "standard", 0, [1, 1, 0, 1]),
        row("htr-rbf", "standard", 0, [0, 1, 0, 0]),
        row("htr-rbf", "standard", 0, [1, 1, 1, 1], dim=10),
        row("raw", "standard", 1, [1, 1, 0, 1]),
        row("htr-rbf", "standard", 1, [0, 0, 0, 0]),
        row("htr-rbf", "standard", 1, [1, 1, 1, 0], dim=10),
        row("raw", "random", 0, [1, 0]),
        row("raw", "random", 1, [0, 0]),
        row("htr-rbf", "random", 0, [1, 1]),
        row("htr-rbf", "random", 1, [0, 0]),
    ]
    sections = {section.title: section.rows for section in tables_over_seeds(rows, 100)}
    assert sections["error %, standard split, all seeds"] == [["raw", "75.00", "75.00"], ["htr-rbf", "12.50", "87.50"]]
    assert sections["error %, random split, all seeds"] == [["raw", "25.00"], ["htr-rbf", "50.00"]]
    tests = [line[:3] for title, lines in sections.items() if title.startswith("tests") for line in lines]
    assert tests == [["htr-rbf", "raw", "62.50"], ["raw", "htr-rbf", "25.00"]]
    same_digits = ttest_rel([1, 1, 0, 1], [0, 0.5, 0, 0]).pvalue
    assert sections["tests, standard split, 100 numbers, all seeds, Holm-corrected"][0][3] == f"{same_digits:.2g}"
