"""Damaged binary files are read or refused in one line, whatever byte is wrong."""

import random
import sqlite3

import pandas as pd
import pytest

from tacit.core import TacitError
from tacit.data import read_collection
from tacit.data.formats.registry import FORMATS

ROWS = pd.DataFrame([{"id": f"a{n}", "text": "word " * n, "n": n * 1.5, "t": ["x"] * n} for n in range(20)])


def write_database(path):
    with sqlite3.connect(path) as database:
        ROWS.drop(columns="t").to_sql("x", database, index=False)
    database.close()


WRITERS = {"parquet": ROWS.to_parquet, "Arrow": ROWS.to_feather, "SQLite": write_database}
CERTAIN = [form for form in FORMATS if form.is_certain]  # the others are text; `test_attacks.py` and `test_fuzz.py`


@pytest.mark.parametrize("form", CERTAIN, ids=lambda form: form.name)
def test_any_wrong_bytes(tmp_path, form):
    path, rng, n_refused = tmp_path / f"docs{form.suffixes[0]}", random.Random(0), 0
    WRITERS[form.name](path)
    data = path.read_bytes()
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged[: rng.randrange(len(damaged)) if rng.random() < 0.2 else None])
        problem = str(path)
        try:
            read_collection(path)
        except TacitError as error:
            n_refused, problem = n_refused + 1, str(error)
        assert "\n" not in problem
        assert str(path) in problem
    assert n_refused > 20
