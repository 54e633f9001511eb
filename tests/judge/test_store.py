"""The judgment store: nothing is lost, nothing is changed, and every mistake is one line."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.core import Collection, StoreError, TacitError
from tacit.judge import Judgment, JudgmentStore, typed_query_id
from tacit.judge import store as store_module
from tacit.judge.database import SYNCHRONOUS
from tacit.judge.records import as_utc

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def path(tmp_path):
    return tmp_path / "my.judgments"


def pairs(store, **which):
    return {(j.query, j.document, j.judge): j.grade for j in store.current(**which)}


@pytest.mark.parametrize("topic", ["\ud800", 5, b"zoo"])
def test_topics_that_cannot_be_kept_are_refused(path, topic):
    with JudgmentStore(path) as store:
        store.add_queries(Collection(["q1"], [""], ["cats"]))
        with pytest.raises(TacitError, match="the topic of a query|topics is .*, want a list of texts or None"):
            store.add_queries(Collection(["q2"], [""], ["dogs"]), [topic])
        with pytest.raises(TacitError, match="the topic of a query|topic is .*, want a text, or None"):
            store.change_query("q1", topic=topic)


def test_a_changed_mind_is_a_new_record_and_the_last_one_holds(path):
    with JudgmentStore(path) as store:
        store.record("cats", "a", 2, "ann", rank=3, model="m1", probability=0.25, display="shuffled")
        store.record("cats", "a", 0, "ann")
        store.record("cats", "b", None, "ann")
        cats = store.query_id("cats")
    with JudgmentStore(path, read_only=True) as store:
        assert pairs(store) == {(cats, "a", "ann"): 0, (cats, "b", "ann"): None}
        first, second, _ = store.history()
        assert (first.grade, first.rank, first.model, first.probability) == (2, 3, "m1", 0.25)
        assert (first.text, first.display, first.action) == ("cats", "shuffled", "judged")
        assert first.time < second.time
        assert store.current()[0].probability == 0.25, "the pair was still chosen with this probability"


def test_withdrawn_judgments_leave_the_pair_unjudged(path):
    with JudgmentStore(path) as store:
        store.record("cats", "a", 2, "ann")
        store.record("cats", "a", 1, "bob")
        store.withdraw("cats", "a", "ann")
        assert list(pairs(store).values()) == [1]
        store.record("cats", "a", 3, "ann")
        assert pairs(store, judge="ann") == {(store.query_id("cats"), "a", "ann"): 3}


def test_a_clock_set_back_does_not_bring_the_old_grade_back(path, monkeypatch):
    with JudgmentStore(path) as store:
        store.record("cats", "a", 2, "ann")
        monkeypatch.setattr(store_module, "utc_now", lambda: "2001-01-01T00:00:00.000000Z")
        store.record("cats", "a", 1, "ann")
        assert [j.grade for j in store.current()] == [1]


def test_records_cannot_be_changed_or_deleted(path):
    with JudgmentStore(path) as store:
        store.record("cats", "a", 2, "ann")
    database = sqlite3.connect(path)
    for statement in ("DELETE FROM judgment", "UPDATE judgment SET grade = 0"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            database.execute(statement)
    database.close()


def test_the_file_is_in_the_durable_mode(path, monkeypatch):
    monkeypatch.setattr("tacit.judge.database.SYNCHRONOUS", SYNCHRONOUS)  # conftest.py turns it off
    with JudgmentStore(path) as store:
        assert store._ask("PRAGMA journal_mode") == [("wal",)]
        assert store._ask("PRAGMA synchronous") == [(2,)]


def test_typed_queries_have_stable_ids_and_known_queries_keep_theirs(path):
    with JudgmentStore(path) as store:
        store.add_queries(Collection(["q 1", "q2"], ["", ""], ["big cats", "small\tcats"]), ["zoo", None])
        assert store.query_id("q2") == "q2"
        assert store.query_id("big cats") == "q 1"
        assert store.query_id("small\tcats") == "q2"
        typed = store.record("  Where do\nbig cats live? ", "a", 1, "ann")
        assert typed.query == typed_query_id("Where do big cats live?")
        assert typed.text == "Where do big cats live?"
        assert store.queries().texts == ["big cats", "small\tcats", "Where do big cats live?"]
        assert store.queries().extras["topic"] == ["zoo", None, None]


def test_two_queries_never_share_an_id(path):
    with JudgmentStore(path) as store:
        store.add_queries(Collection([typed_query_id("cats")], [""], ["something else"]))
        record = store.record("cats", "a", 1, "ann")
        assert record.query == typed_query_id("cats", 32)
        assert store.query_id("cats") == record.query
        store.add_queries(Collection([typed_query_id("dogs", n) for n in (16, 32, 64)], [""] * 3, ["x", "y", "z"]))
        with pytest.raises(StoreError, match="has the id of another query"):
            store.record("dogs", "a", 1, "ann")


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_ids_of_typed_queries_can_stand_in_a_trec_file(text):
    if not text.split():
        return
    assert len(typed_query_id(text).split()) == 1
    assert typed_query_id(text).isascii()


def test_a_known_query_has_one_text(path):
    with JudgmentStore(path) as store:
        store.import_records([Judgment("q1", "a", 1.0, "ann", "2026-01-01T00:00:00Z")])
        store.add_queries(Collection(["q1"], [""], ["cats"]))
        assert store.history()[0].text == "cats"
        with pytest.raises(TacitError, match="query 'q1' has the text 'cats' in this store, found 'dogs'"):
            store.add_queries(Collection(["q9", "q1"], ["", ""], ["x", "dogs"]))
        assert store.queries().ids == ["q1"], "a refused call adds nothing"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grade": -1}, "grade is -1, want a number >= 0"),
        ({"grade": float("nan")}, "grade is nan, want"),
        ({"grade": True}, "grade is True, want"),
        ({"grade": "2"}, "grade is '2', want"),
        ({"document": ""}, "document id is empty"),
        ({"document": "a\tb"}, "want no tabs"),
        ({"document": 7}, "document id is 7, want text"),
        ({"document": "\ud800"}, "half of a character"),
        ({"judge": " ann"}, "judge is ' ann', want no spaces at its ends"),
        ({"judge": ""}, "judge is empty"),
        ({"query": "  "}, "want at least one word"),
        ({"query": "\ud800"}, "half of a character"),
        ({"probability": 0}, "probability is 0, want a number > 0 and <= 1"),
        ({"probability": 1.5}, "probability is 1.5"),
        ({"rank": 0}, "rank is 0, want a whole number >= 1"),
        ({"rank": 1.5}, "rank is 1.5"),
        ({"kind": "robot"}, "kind of judge is 'robot', want one of person, program"),
        ({"query": "x" * 1_000_001}, "has 1000001 characters"),
    ],
)
def test_a_wrong_judgment_is_refused_in_one_line_and_nothing_is_recorded(path, changed, message):
    given = {"query": "cats", "document": "a", "grade": 1, "judge": "ann"} | changed
    with JudgmentStore(path) as store:
        with pytest.raises(TacitError, match=message) as caught:
            store.record(**given)
        assert "\n" not in str(caught.value)
        assert len(store) == len(store.queries()) == len(store.judges()) == 0


def test_a_judge_is_a_person_or_a_program_and_stays_it(path):
    with JudgmentStore(path) as store:
        store.record("cats", "a", 1, "llm", kind="program")
        store.record("cats", "b", 1, "llm")
        store.record("cats", "b", 1, "ann")
        assert [tuple(judge) for judge in store.judges()] == [("ann", "person", 1), ("llm", "program", 2)]
        with pytest.raises(TacitError, match="judge 'llm' is a program in this store"):
            store.record("cats", "c", 1, "llm", kind="person")
        assert len(store) == 3


def test_times_are_utc():
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert as_utc(noon) == as_utc("2026-01-31T13:00:00+01:00") == "2026-01-31T12:00:00.000000Z"
    for wrong in ("2026-01-31T12:00:00", "yesterday", "", None, 7, "9999-12-31T23:59:59-12:00"):
        with pytest.raises(TacitError, match="want a date and time with its offset"):
            as_utc(wrong)


def test_imported_records_come_back_as_they_were_and_once(path):
    records = [
        Judgment("q1", "a", 2.5, "ann", "2026-01-01T00:00:00.000000Z", "cats", "person", 4, "m", 0.125, "shuffled"),
        Judgment("q1", "a", None, "ann", "2026-01-02T00:00:00.000000Z", "cats"),
        Judgment("q1", "a", None, "", "2026-01-03T00:00:00.000000Z", "cats", probability=0.5, action="drawn"),
        Judgment("q2", "a", None, "llm", "2026-01-04T00:00:00.000000Z", None, "program", action="withdrawn"),
    ]
    with JudgmentStore(path) as store:
        assert store.import_records(records) == 4
        assert store.history() == records
        assert store.import_records(records) == 0
        assert [(j.grade, j.probability) for j in store.current()] == [(None, 0.5)]


def test_an_older_record_imported_later_does_not_replace_a_newer_one(path):
    with JudgmentStore(path) as store:
        store.import_records([Judgment("q", "a", 2.0, "ann", "2026-01-02T00:00:00Z")])
        store.import_records([Judgment("q", "a", 0.0, "ann", "2026-01-01T00:00:00Z")])
        assert [j.grade for j in store.current()] == [2]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("qr"), st.sampled_from("ab"), st.sampled_from([0, 1, None]), st.booleans())))
def test_current_is_what_a_dictionary_would_hold(tmp_path_factory, actions):
    expected = {}
    with JudgmentStore(tmp_path_factory.mktemp("s") / "s") as store:
        for query, document, grade, withdrawn in actions:
            key = (store.query_id(query), document, "ann")
            if withdrawn:
                store.withdraw(query, document, "ann")
                expected.pop(key, None)
            else:
                store.record(query, document, grade, "ann")
                expected[key] = grade
        assert pairs(store) == expected
        assert store.judged() == store.judged("ann") == {key[:2] for key in expected}
        assert store.judged("bob") == set()
        assert [judge.n_judgments for judge in store.judges()] == [len(expected)] * bool(actions)
        assert len(store) == len(actions)


def test_threads_may_share_a_store_and_processes_a_file(path):
    def judge(store, name):
        for number in range(25):
            store.record(f"query {number % 3}", str(number), 1, name)

    with JudgmentStore(path) as one, JudgmentStore(path) as two:
        threads = [threading.Thread(target=judge, args=(s, f"{n}")) for n, s in enumerate((one, one, two, two))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(one) == 100
        assert [judge.n_judgments for judge in two.judges()] == [25] * 4
        assert len(one.queries()) == 3


def test_many_may_create_the_same_store_at_once(path):
    failures = []

    def create(number):
        try:
            with JudgmentStore(path) as store:
                store.record("cats", "a", 1, f"judge{number}")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with JudgmentStore(path) as store:
        assert len(store) == 8


def refused(path, match, **how):
    with pytest.raises(StoreError, match=match) as caught:
        JudgmentStore(path, **how)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_what_is_no_store_is_refused_and_left_as_it_was(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("these are notes\n" * 100)
    refused(text, "is not a judgment store")
    assert text.read_text() == "these are notes\n" * 100
    other = tmp_path / "other.db"
    database = sqlite3.connect(other)
    database.execute("CREATE TABLE t (x)")
    database.commit()
    database.close()
    before = other.read_bytes()
    refused(other, "is an SQLite file of another program")
    assert other.read_bytes() == before
    refused(tmp_path, "is a folder")
    refused(tmp_path / "missing", "no such judgment store", read_only=True)
    refused(tmp_path / "missing", "no such judgment store", create=False)
    refused(tmp_path / "no" / "folder", "cannot be opened or created")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["notes.txt", "other.db"]


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE judge", "CREATE VIEW judge AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
         "SELECT x AS name, x AS kind FROM c"),
        ("CREATE TRIGGER slow AFTER INSERT ON judgment BEGIN SELECT 1; END",),
        ("DROP TRIGGER keep_judgments", "CREATE TRIGGER keep_judgments AFTER INSERT ON judge BEGIN SELECT 1; END"),
        ("DROP TABLE judge", "CREATE VIRTUAL TABLE judge USING fts5(name, kind)"),
    ],
)  # fmt: skip
def test_a_file_with_statements_of_its_own_is_refused(path, statements):
    """A view can hold a query without end."""
    JudgmentStore(path).close()
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.close()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="is not from tacit"):
            JudgmentStore(path, read_only=read_only)


def test_a_newer_version_is_refused(path):
    JudgmentStore(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version=2")
    database.close()
    refused(path, "is a judgment store of version 2, want 1; update tacit")


def test_a_truncated_store_is_refused(path):
    with JudgmentStore(path) as store:
        for number in range(50):
            store.record("cats", str(number), 1, "ann")
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(StoreError, match="is damaged|is not a judgment store"), JudgmentStore(path) as store:
        store.history()


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    with JudgmentStore(path) as store:
        store.record("cats", "a", 1, "ann")
        assert len(store) == 1


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs /proc, where no file can be made")
def test_a_place_where_nothing_can_be_written_is_refused():
    refused(Path("/proc/my.judgments"), "cannot be opened or created")


def test_a_store_opened_for_reading_takes_no_judgment(path):
    JudgmentStore(path).close()
    with JudgmentStore(path, read_only=True) as store, pytest.raises(StoreError, match="read-only"):
        store.record("cats", "a", 1, "ann")


def test_a_store_in_a_read_only_folder_can_be_read(path, monkeypatch):
    with JudgmentStore(path) as store:
        store.record("cats", "a", 1, "ann")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with JudgmentStore(path, read_only=True) as store:
        assert len(store) == 1


def test_a_full_disk_is_one_line_and_loses_nothing(path):
    with JudgmentStore(path) as store:
        store.record("cats", "a", 1, "ann")
        (pages,) = store._ask("PRAGMA page_count")[0]
        store._ask(f"PRAGMA max_page_count={pages}")
        many = [Judgment("q", f"{number} {'x' * 1000}", 1.0, "ann", "2026-01-01T00:00:00Z") for number in range(1000)]
        with pytest.raises(StoreError, match="the disk is full; this change was not recorded") as caught:
            store.import_records(many)
        assert "\n" not in str(caught.value)
    with JudgmentStore(path) as store:
        assert len(store) == 1
        store.record("cats", "b", 1, "ann")


def test_a_file_that_may_not_grow_is_one_line(path):
    code = (
        "import resource, signal, sys; from tacit.judge import JudgmentStore; from tacit.core import StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); store = JudgmentStore(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); told = 0\n"
        "try:\n"
        "    for n in range(100_000): store.record('cats', str(n), 1, 'ann'); told += 1\n"
        "except StoreError as error: print(told, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    told, message = done.stdout.split(" ", 1)
    assert message.count("\n") == 1
    assert "this change was not recorded" in message
    with JudgmentStore(path) as store:
        assert len(store) == int(told) > 0


def test_a_locked_store_is_one_line(path, monkeypatch):
    monkeypatch.setattr("tacit.judge.database.SECONDS_TO_WAIT", 0.05)
    with JudgmentStore(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another process"):
            store.record("cats", "a", 1, "ann")
        other.execute("ROLLBACK")
        other.close()
        store.record("cats", "a", 1, "ann")


def test_a_closed_store_is_one_line(path):
    store = JudgmentStore(path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.record("cats", "a", 1, "ann")


@pytest.mark.slow
def test_killed_processes_lose_no_acknowledged_judgment():
    script = ROOT / "benchmarks" / "judgment_kills.py"
    done = subprocess.run([sys.executable, str(script), "--kills", "20"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["lost"] == 0
    assert found["acknowledged"] > 0
