"""Folds that overlap, repeat or lack a part are refused with the name of the fold."""

import json

import pytest

from tacit.core import DataError, TacitError
from tacit.data.letor.files import read_letor
from tacit.data.letor.folds import read_folds

GOOD = {"train": ["1", "2"], "vali": ["3"], "test": ["4"]}


def test_reads_parts_by_name_and_numbers_as_text(tmp_path):
    path = tmp_path / "folds.json"
    path.write_text(json.dumps({"A": GOOD, "B": {"train": [5], "vali": [], "test": ["x"]}}))
    folds = read_folds(path)
    assert list(folds) == ["A", "B"]
    train, vali, test = folds["A"]
    assert (train, vali, test) == (["1", "2"], ["3"], ["4"])
    assert folds["B"].train == ["5"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "folds.json:1: is not JSON"),
        ('{"A":\n{"train" ["1"]}}', "folds.json:2: is not JSON"),
        ("[" * 100_000, "is not JSON of a sensible size"),
        ("1" * 5000, "is not JSON of a sensible size"),
        ("[]", "has no folds"),
        ("{}", "has no folds"),
        ('{"A": {}, "A": {}}', "name 'A' occurs twice"),
        ({"A": ["1"]}, "fold 'A' has none of them, want 'train', 'vali' and 'test'"),
        ({"A": {"train": ["1"], "test": ["2"]}}, "fold 'A' has 'train', 'test', want"),
        ({"A": {**GOOD, "more": []}}, "want 'train', 'vali' and 'test'"),
        ({"A": {**GOOD, "test": "45"}}, "test of fold 'A' is not a list"),
        ({"A": {**GOOD, "test": [4.5]}}, "test of fold 'A' contains a float"),
        ({"A": {**GOOD, "test": [True]}}, "test of fold 'A' contains a bool"),
        ({"A": {**GOOD, "test": []}}, "test of fold 'A' is empty"),
        ({"A": {**GOOD, "test": ["4", 4]}}, "test of fold 'A' has query '4' twice"),
        ({"A": GOOD, "B": {**GOOD, "test": ["9", "2"]}}, "query '2' is in both train and test of fold 'B', want"),
        (
            {"A": {**GOOD, "vali": ["8", "1", "2"]}},
            r"query '1' is in both train and vali of fold 'A' \(2 queries are\)",
        ),
    ],
)
def test_refuses_folds_that_make_no_sense(tmp_path, text, problem):
    path = tmp_path / "folds.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    with pytest.raises(DataError, match=problem):
        read_folds(path)


@pytest.mark.parametrize("name", ["OHSUMED-letor2", "OHSUMED-letor3-QueryLevelNorm", "MQ2008"])
def test_real_folds_test_each_query_once(data_folder, name):
    folder = data_folder / "letor" / name
    folds, lists = read_folds(folder / "folds.json"), read_letor(folder / f"{name}.txt.gz")
    assert len(folds) == 5
    assert sorted(q for fold in folds.values() for q in fold.test) == sorted(lists.query_ids)
    fold = folds["Fold1"]
    assert list(lists.take_queries(fold.test).query_ids) == fold.test
    with pytest.raises(TacitError, match="'no such query'"):
        lists.take_queries([*fold.vali, "no such query"])
