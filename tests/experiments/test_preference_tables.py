"""Tables over seeds: queries are tested, not seeds."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from tacit.experiments.lists.preference_tables import depth_table, mean_values, preference_tables
from tacit.experiments.report import Row


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    level = {"linear": 0.3, "ssbt-beta0": 0.5, "ssbt-judged": 0.3, "ssbt": 0.4, "sslambdamart": 0.2,
             "lightgbm": 0.1, "upper-bound": 0.6}  # fmt: skip
    return [
        Row(system, {"MAP": rng.normal(value, 0.1, 40)}, 1.0, {"share": share, "seed": seed})
        for seed in (0, 1)
        for share in (0.1, 0.5)
        for system, value in level.items()
    ]


def test_seeds_are_averaged_query_by_query(rows):
    mine = [row.values["MAP"] for row in rows if row.system == "ssbt" and row.setting["share"] == 0.5]
    np.testing.assert_allclose(mean_values(rows, "MAP")["ssbt", 0.5], (mine[0] + mine[1]) / 2)


def test_lines_compare_with_the_best_supervised_row_and_with_itself(rows):
    means, tests = preference_tables(rows)
    assert means.header == ["system", "10%", "50%"]
    assert [line[0] for line in means.rows] == [
        "linear",
        "ssbt-beta0",
        "ssbt-judged",
        "ssbt",
        "sslambdamart",
        "lightgbm",
        "upper-bound",
    ]
    lines = {line[0]: line[1:] for line in tests.rows}
    assert [name for name in lines if "upper-bound" in name] == ["upper-bound, best supervised"]
    assert "upper-bound" not in str([line for name, line in lines.items() if "upper-bound" not in name])
    assert all("upper-bound − " in cell and " +0." in cell for cell in lines["upper-bound, best supervised"])
    values = mean_values(rows, "MAP")
    raw = sorted(wilcoxon(values["ssbt", s] - values["ssbt-judged", s]).pvalue for s in (0.1, 0.5))
    assert f"p {raw[1]:.2g} / {max(2 * raw[0], raw[1]):.2g}" in " ".join(lines["ssbt, ssbt-judged"])
    assert all(cell.startswith("-") for cell in lines["ssbt, ssbt-beta0"])  # which is no supervised row:
    assert "ssbt-beta0" not in " ".join(lines["ssbt, best supervised"])
    assert all(cell.startswith(("ssbt − ", "+")) for cell in lines["ssbt, best supervised"])
    assert all(cell.startswith("+") for cell in lines["sslambdamart, lightgbm"])  # itself without unjudged rows


def test_depths_are_compared_with_the_least_one():
    rng = np.random.default_rng(1)
    rows = [
        Row("linear", {"MAP": rng.normal(depth / 10, 0.1, 40)}, 1.0, {"seed": seed, "depth": depth})
        for seed in (0, 1)
        for depth in (2, 4)
    ]
    table = depth_table([*rows, Row("linear", {"MAP": np.zeros(40)}, 1.0, {"share": 0.1, "seed": 0})], "MAP")[0]
    first, second = (np.mean([r.values["MAP"] for r in rows if r.setting["depth"] == d], axis=0) for d in (2, 4))
    p = wilcoxon(second - first).pvalue
    assert table.rows == [["linear", f"{first.mean():.3f}", f"{second.mean():.3f} (p {p:.2g})"]]
    assert depth_table([], "MAP") == []
