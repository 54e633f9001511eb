"""Exports to XGBoost's forms and the plugins' linear form: another evaluator orders 10,000 rows as we do."""

import json

import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import Lists, TacitError
from tacit.integrations.exportable import to_linear
from tacit.integrations.opensearch import engine_files, feature_set_body, model_body
from tacit.integrations.xgboost import dump_json, make_trees, model_json
from tacit.rerank import METHODS, get_method
from tacit.search import save

NAMES = ["bm25", "length", "age", "clicks"]


@pytest.fixture(scope="module")
def lists():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4)).round(2)
    y = np.where(rng.random(300) < 0.3, np.nan, (X[:, 0] - X[:, 1] + rng.normal(size=300) > 0.5).astype(float))
    return Lists(X, y, np.arange(0, 301, 20), [f"q{n}" for n in range(15)], [""] * 300)


@pytest.fixture(scope="module")
def rows():
    """10,000 rows of 32-bit values, as search engines have them."""
    return np.random.default_rng(6).normal(size=(10_000, 4)).round(2).astype(np.float32)


def fitted(method, lists, **params):
    return get_method(method).offer(seed=0).set_params(**params).fit(lists)


def assert_same_order(ours, theirs):
    """No pair that is clearly apart for us is the other way round there: rounding to 32 bits is all that differs."""
    order = np.argsort(ours, kind="stable")
    ours, theirs = ours[order].astype(np.float64), theirs[order].astype(np.float64)
    rounding = 2e-6 * np.ptp(ours)
    highest = np.maximum.accumulate(theirs)
    behind = np.searchsorted(ours, ours - rounding, side="left") - 1  # the last row that is clearly below
    assert (theirs >= np.where(behind >= 0, highest[np.maximum(behind, 0)], -np.inf)).all()
    assert len(np.unique(ours)) > 10


@pytest.mark.parametrize(
    "method", ["rankboost", "adacost", "rankboost-semi", "lightgbm", "lightgbm-pointwise", "sslambdamart"]
)
def test_xgboost_loads_the_model_and_orders_rows_as_we_do(need, method, lists, rows, tmp_path):
    xgboost = need("xgboost")
    if method in ("lightgbm", "lightgbm-pointwise", "sslambdamart"):
        pytest.importorskip("lightgbm")
    ranker = fitted(method, lists, **({} if "boost" in method or method == "adacost" else {"n_trees": 40}))
    rows = rows.copy()
    if ranker._allow_nan:
        rows[::7, 1] = np.nan
    (tmp_path / "model.json").write_text(json.dumps(model_json(make_trees(ranker), NAMES)))
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    theirs = booster.predict(xgboost.DMatrix(rows, feature_names=NAMES))
    assert_same_order(ranker.predict(rows.astype(np.float64), np.zeros(len(rows))), theirs)
    assert theirs.min() >= 0
    assert_same_trees(booster.get_dump(dump_format="json"), dump_json(make_trees(ranker), NAMES))


def assert_same_trees(theirs, ours):
    """The dump that search engines read is XGBoost's own dump of the model."""
    assert len(theirs) == len(ours)
    for text, tree in zip(theirs, ours, strict=True):
        assert flat(json.loads(text)) == flat(tree)


def flat(node):
    numbers = [float(np.float32(node[key])) for key in ("leaf", "split_condition") if key in node]
    names = [node.get(key) for key in ("nodeid", "depth", "split", "yes", "no", "missing")]
    return [*numbers, *names, *(flat(child) for child in node.get("children", []))]


def plugin_score(trees, row):
    """The plugins' evaluator: 32 bits, left where the threshold is above the value, 0 for what is missing."""
    total = np.float32(0)
    for node in trees:
        while "leaf" not in node:
            left = np.float32(node["split_condition"]) > row[NAMES.index(node["split"])]
            node = node["children"][0 if left else 1]
        total += np.float32(node["leaf"])
    return total


def test_the_plugins_form_of_trees(lists, rows):
    ranker = fitted("rankboost", lists, n_rounds=30)
    model = model_body(ranker, NAMES, "m")["model"]["model"]
    assert model["type"] == "model/xgboost+json"
    trees = json.loads(model["definition"])["splits"]
    theirs = np.array([plugin_score(trees, row) for row in rows[:500]])
    assert_same_order(ranker.predict(rows[:500].astype(np.float64)), theirs)


def test_a_missing_value_goes_where_zero_goes_in_engines(lists):
    ranker = fitted("rankboost", lists, n_rounds=30)
    for tree in json.loads(model_body(ranker, NAMES, "m")["model"]["model"]["definition"])["splits"]:
        assert tree["missing"] == (tree["yes"] if tree["split_condition"] > 0 else tree["no"])
    assert all(tree[0].missing_left for tree in make_trees(ranker))  # no stump of ours fires on a missing value


LINEAR = {
    "linear": {}, "auc-logistic": {}, "auc-semi": {}, "ranksvm": {},
    "standing": {"view": "features"}, "ssbt": {"scale": "global"},
}  # fmt: skip


@pytest.mark.parametrize("method", LINEAR)
def test_the_plugins_linear_form(method, lists, rows):
    ranker = fitted(method, lists, **LINEAR[method])
    model = model_body(ranker, NAMES, "m")["model"]["model"]
    weights, norms = json.loads(model["definition"]), model.get("feature_normalizers", {})
    theirs = np.zeros(len(rows), np.float32)
    for name, weight in weights.items():
        scale = norms.get(name, {"standard": {"mean": 0, "standard_deviation": 1}})["standard"]
        value = (rows[:, NAMES.index(name)] - np.float32(scale["mean"])) / np.float32(scale["standard_deviation"])
        theirs += np.float32(weight) * value
    assert model["type"] == "model/linear"
    assert_same_order(ranker.predict(rows.astype(np.float64)), theirs)


def test_every_other_method_is_refused_with_an_alternative_that_can_be_exported(lists):
    from tacit.integrations.exportable import has_trees, nearest

    for name in METHODS:
        ranker = get_method(name).offer(seed=0)
        ranker.view_ = "quantiles"
        if not has_trees(ranker) and name not in LINEAR.keys() - {"standing", "ssbt"}:
            found = nearest(ranker).ranker
            assert has_trees(found) or to_linear(found.fit(lists)) is not None, name
    with pytest.raises(TacitError, match="depend on the full list"):
        model_body(fitted("standing", lists), NAMES, "m")


def test_command_refuses_and_tells_what_the_alternative_costs(lists, tmp_path, monkeypatch, capsys):
    from tacit.data import write_letor

    monkeypatch.chdir(tmp_path)
    train, vali = lists.take(range(10)), lists.take(range(10, 15))
    write_letor(train, "train.txt")
    write_letor(vali, "vali.txt")
    ranker = fitted("standing", train)
    save(ranker, "s.model")
    command = ["export", "s.model", "--to", "opensearch", "-o", "ltr"]
    assert main(command) == 2
    assert "tacit rank --method standing --set view=features (--train and --vali" in capsys.readouterr().err
    assert main([*command, "--train", "train.txt"]) == 2
    assert "--train and --vali go together" in capsys.readouterr().err
    assert main([*command, "--train", "train.txt", "--vali", "vali.txt"]) == 2
    cheap = fitted("standing", train, view="features")
    told = f"nDCG-letor@10 {cheap.score(vali):.4f} instead of {ranker.score(vali):.4f} on vali.txt"
    assert told in capsys.readouterr().err


def test_from_texts_to_the_files_of_an_engine(world, tmp_path, monkeypatch, capsys):
    from tacit.data import write_collection, write_qrels

    monkeypatch.chdir(tmp_path)
    documents, queries, judgments = world
    write_collection(documents, "docs.jsonl")
    write_collection(queries, "queries.jsonl")
    write_qrels(judgments, "qrels.txt")
    texts = ["docs.jsonl", "--queries", "queries.jsonl", "--qrels", "qrels.txt"]
    assert main(["features", *texts, "--engine", "--names", "names.txt", "-o", "lists.txt"]) == 0
    rank = ["rank", "lists.txt", "lists.txt", "--method", "rankboost", "--save", "r.model", "-o", "run.txt"]
    assert main(rank) == 0
    assert main(["export", "r.model", "--to", "opensearch", "--names", "names.txt", "-o", "ltr"]) == 0
    files = {path.name: json.loads(path.read_text()) for path in (tmp_path / "ltr").iterdir()}
    assert set(files) == {"model.json", "featureset.json", "index.json"}
    names = [feature["name"] for feature in files["featureset.json"]["featureset"]["features"]]
    trees = json.loads(files["model.json"]["model"]["model"]["definition"])["splits"]
    assert {tree["split"] for tree in trees} <= set(names)
    assert names.index("body_bm25") < names.index("body_log_bm25")  # the plugins compute features in this order
    capsys.readouterr()
    assert main(["export", "r.model", "--to", "elasticsearch", "-o", "plain"]) == 0
    assert "no feature set: columns without a query: 12, the first is f1" in capsys.readouterr().err
    assert main(["export", "r.model", "--to", "linear"]) == 2
    assert "is a sum of trees" in capsys.readouterr().err


def test_columns_that_no_engine_computes_are_named():
    with pytest.raises(TacitError, match=r"1 of 2 columns, the first is 'title.lm_dirichlet'"):
        feature_set_body(["body.bm25", "title.lm_dirichlet"])


def test_only_text_columns_get_a_feature_set(lists):
    assert set(engine_files(fitted("rankboost", lists), NAMES, "m")) == {"model.json"}
