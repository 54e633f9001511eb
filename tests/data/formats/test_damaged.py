"""Damaged binary files are read or refused in one line, whatever byte is wrong."""

import random
import sqlite3

import pandas as pd
import pytest

from tacit.core import TacitError
from tacit.data import read_collection

ROWS = pd.DataFrame([{"id": f"a{n}", "text": "word " * n, "n": n * 1.5, "t": ["x"] * n} for n in range(20)])


def write(path):
    if path.suffix == ".db":
        with sqlite3.connect(path) as database:
            ROWS.drop(columns="t").to_sql("x", database, index=False)
        database.close()
    else:
        (ROWS.to_parquet if path.suffix == ".parquet" else ROWS.to_feather)(path)
    return path.read_bytes()


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".db"])
def test_any_wrong_bytes(tmp_path, suffix):
    data, rng, n_refused = write(tmp_path / f"whole{suffix}"), random.Random(0), 0
    path = tmp_path / f"docs{suffix}"
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
