"""Damaged stores: reading one ends in one line, and repair saves every record whose pages are whole."""

import contextlib
import random
import shutil
import sqlite3

import pytest

from tacit.app.main import main
from tacit.core import Collection, StoreError, TacitError
from tacit.judge import JudgmentStore, merged_judgments, repair_store
from tacit.judge.columns import read_columns
from tacit.judge.repair import read_tables

PAGE = 4096
N_CORRUPTIONS = 150
LONG = "where do cats sleep " * 2000  # on several pages


def fill(path, n=300, seed=0):
    chance = random.Random(seed)
    with JudgmentStore(path) as store:
        names = [f"q{n}" for n in range(30)]
        texts = [f"text number {n} of cats é" for n in range(30)]
        store.add_queries(Collection(names, [""] * 30, texts), ["zoo"] * 10 + [None] * 20)
        for _ in range(n):
            query = chance.choice([*names, "a typed query", LONG])
            shown = {"rank": chance.choice([None, 3, 70_000]), "probability": chance.choice([None, 0.5, 1])}
            store.record(query, f"doc{chance.randrange(200)}", chance.choice([0, 1, 2.5, None]), "ann", **shown)
        store.withdraw("q1", "doc1", "ann")
        store.record("q1", "doc2", 1, "bot", kind="program", model="m1", display="shuffled")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "my.judgments"
    fill(path)
    return path


def contents(path):
    with JudgmentStore(path, read_only=True) as store:
        return store.history(), {query: (text, topic) for query, text, topic in queries(store)}


def queries(store):
    found = store.queries()
    return zip(found.ids, found.texts, found.extras["topic"], strict=True)


def test_a_whole_store_is_saved_whole(whole, tmp_path, capsys):
    assert main(["judgments", "repair", str(whole), "-o", str(tmp_path / "new")]) == 0
    assert contents(tmp_path / "new") == contents(whole)
    assert capsys.readouterr() == (f"{tmp_path}/new: 302 records of 32 queries saved\n", "")
    assert main(["judgments", "repair", str(whole), "-o", str(tmp_path / "new")]) == 1
    assert capsys.readouterr().err == f"tacit: {tmp_path}/new: exists already, want the name of a new file\n"


def test_rows_are_those_that_sqlite_reads(whole):
    database = sqlite3.connect(whole)
    for name, rows in read_tables(whole).items():
        found = database.execute(f"SELECT rowid, * FROM {name}").fetchall()
        if name != "judge":  # the number of a row is its first column, which is stored once
            found = [(number, None, *rest) for number, _, *rest in found]
        assert rows == {number: tuple(rest) for number, *rest in found}
    database.close()


def test_what_is_only_in_the_log_is_saved(tmp_path):
    with JudgmentStore(tmp_path / "a") as store:
        store.record("cats", "d1", 1, "ann")
        store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for number in range(200):
            store.record(f"query {number}", f"d{number}", 2, "ann")
        for suffix in ("", "-wal"):
            shutil.copy(f"{tmp_path}/a{suffix}", f"{tmp_path}/copy{suffix}")
        expected = store.history()
    repair_store(tmp_path / "copy", tmp_path / "new")
    assert contents(tmp_path / "new")[0] == expected


def test_every_record_outside_of_a_damaged_page_is_saved(whole, tmp_path):
    records, known = contents(whole)
    data = whole.read_bytes()
    n_lost = []
    for start in range(0, len(data), PAGE):
        (tmp_path / "bad").write_bytes(data[:start] + b"\xff" * PAGE + data[start + PAGE :])
        new = tmp_path / f"new{start}"
        repaired = repair_store(tmp_path / "bad", new)
        saved, texts = contents(new)
        pairs = {(j.document, j.grade, j.judge, j.time) for j in records}
        assert {(j.document, j.grade, j.judge, j.time) for j in saved} <= pairs
        lost = len(records) - len(saved)
        n_lost.append(lost)
        assert lost <= PAGE // 30, "no more than a page holds"
        if lost and start:
            assert texts == known
            assert set(saved) <= set(records)
        elif not repaired.without_query and not repaired.judges:
            assert saved == records
    assert sum(n_lost) == len(records), "each record is lost with its own page only"


def test_lost_queries_and_judges_are_reported_and_nobody_becomes_a_person(tmp_path, capsys):
    fill(tmp_path / "a", n=5)
    data = (tmp_path / "a").read_bytes()
    database = sqlite3.connect(tmp_path / "a")
    roots = dict(database.execute("SELECT name, rootpage FROM sqlite_master WHERE name IN ('query', 'judge')"))
    database.close()
    for number in roots.values():
        data = data[: (number - 1) * PAGE] + bytes(PAGE) + data[number * PAGE :]
    (tmp_path / "bad").write_bytes(data)
    assert main(["judgments", "repair", str(tmp_path / "bad"), "-o", str(tmp_path / "new")]) == 0
    err = capsys.readouterr().err
    assert "made-up query id (unreadable-N): " in err
    assert "saved as programs, because their kind is damaged: ann, bot" in err
    saved, _ = contents(tmp_path / "new")
    assert len(saved) == 7
    assert {record.kind for record in saved} == {"program"}


def test_a_file_without_any_record_is_refused_and_nothing_is_written(tmp_path):
    for content in (b"", b"\r" * 10_000, random.Random(0).randbytes(20_000)):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(StoreError, match="bad: no record can be read; nothing was written"):
            repair_store(tmp_path / "bad", tmp_path / "new")
        assert not (tmp_path / "new").exists()
    with pytest.raises(StoreError, match="missing: No such file"):
        repair_store(tmp_path / "missing", tmp_path / "new")


def corrupted(data, chance):
    """The file with a few places damaged in one of six ways."""
    data, kind = bytearray(data), chance.randrange(6)
    for _ in range(chance.choice([1, 1, 3, 10, 100])):
        at = chance.randrange(len(data))
        if kind == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            data[at : at + 20] = chance.randbytes(20)
        elif kind == 2:
            data[at] = chance.randrange(256)
        elif kind == 3:
            data[at : at + PAGE] = bytes(len(data[at : at + PAGE]))
        elif kind == 4:
            return bytes(data[: max(at, 100)])
        else:
            source = chance.randrange(len(data))
            data[at : at + 100] = data[source : source + 100][: len(data) - at]
    return bytes(data)


def read_everything(path):
    with JudgmentStore(path, read_only=True) as store:
        store.history(), store.current(), store.judges(), store.queries(), store.judged(), store.ranks("ann")
        read_columns(store)
        merged_judgments(store, [], "median")


def append(path):
    with JudgmentStore(path) as store:
        store.record("q1", "doc1", 1, "ann")


def refusal_of(use, path):
    try:
        use(path)
    except TacitError as error:
        return str(error)
    return ""


def test_any_damage_ends_in_one_line(tmp_path):
    fill(tmp_path / "a", n=60)
    data = (tmp_path / "a").read_bytes()
    n_refused = 0
    for number in range(N_CORRUPTIONS):
        bad, new = tmp_path / f"bad{number}", tmp_path / f"new{number}"
        bad.write_bytes(corrupted(data, random.Random(number)))
        for use in (read_everything, append, lambda path, new=new: repair_store(path, new)):
            refusal = refusal_of(use, bad)
            n_refused += bool(refusal)
            assert "\n" not in refusal, number
        if new.exists():
            contents(new)
        for path in tmp_path.glob("bad*"):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
    assert n_refused > N_CORRUPTIONS / 3
