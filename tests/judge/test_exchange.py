"""Judgments into a store and out of it, and several judges to one grade."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.core import DataError, TacitError, UsageError
from tacit.data.columns import id_problem
from tacit.judge import (
    MERGES,
    Judgment,
    JudgmentStore,
    import_judgments,
    merged_judgments,
    read_csv,
    read_judgments,
    write_csv,
)

names = st.text(min_size=1, max_size=8).filter(lambda text: not id_problem(text) and text.isprintable())
records = st.builds(
    Judgment,
    query=names,
    document=names,
    grade=st.none() | st.floats(0, 1e300),
    judge=names,
    time=st.datetimes().map(lambda time: time.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")),
    text=st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(str.strip),
    kind=st.sampled_from(["person", "program"]),
    rank=st.none() | st.integers(1, 2**53),
    model=st.none() | names,
    probability=st.none() | st.floats(0, 1, exclude_min=True),
    display=st.none() | names,
)


@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=50)
@given(st.lists(records, max_size=5))
def test_csv_gives_every_record_back(tmp_path_factory, given_records):
    path = tmp_path_factory.mktemp("csv") / "records.csv"
    write_csv(given_records, path)
    assert read_csv(path) == given_records


def test_a_store_comes_back_from_its_csv(tmp_path):
    with JudgmentStore(tmp_path / "one") as store:
        store.record('"big", cats\r\n', "a", 2.5, "ann", rank=2, model="v1", probability=1 / 3, display="shuffled")
        store.record("cats", "b", None, "llm", kind="program")
        store.withdraw("cats", "b", "llm")
        store.record_draw([Judgment("q", "d", None, "", "2026-01-01T00:00:00Z", probability=0.1, action="drawn")])
        everything = store.history()
    write_csv(everything, tmp_path / "all.csv.gz")
    with JudgmentStore(tmp_path / "two") as store:
        done = import_judgments(store, tmp_path / "all.csv.gz")
        assert (done.n_read, done.n_new) == (4, 4)
        assert store.history() == everything
        assert import_judgments(store, tmp_path / "all.csv.gz").n_new == 0


def test_a_small_csv_is_enough(tmp_path):
    (tmp_path / "a.csv").write_text("query,text,document,grade\nq1,,d1,2\n,big  cats,d1,\n")
    with JudgmentStore(tmp_path / "s") as store:
        import_judgments(store, tmp_path / "a.csv", judge="llm", kind="program")
        one, two = store.current()
        assert (one.query, one.grade, one.judge, one.kind) == ("q1", 2, "llm", "program")
        assert (two.query, two.text, two.grade) == (store.query_id("big cats"), "big cats", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: the columns are '', want query,document,grade"),
        ("query,document\n", ":1: the columns are 'query,document', want"),
        ("query,document,grade,colour\n", "colour"),
        ("query,document,grade,grade\n", "each once"),
        ("query,document,grade\nq,d\n", ":2: 2 columns, want 3"),
        ("query,document,grade\nq,d,two\n", ":2: grade is 'two', want a finite number"),
        ("query,document,grade\nq,d,-1\n", ":2: grade is -1.0, want a number >= 0"),
        ("query,document,grade\n\nq,,1\n", ":3: document id is empty"),
        ("query,document,grade\n,d,1\n", ":2: query id is empty"),
        ("query,document,grade,time\nq,d,1,today\n", ":2: time is 'today', want"),
        ("query,document,grade,rank\nq,d,1,1.5\n", ":2: rank is 1.5, want a whole number"),
        ("query,document,grade,probability\nq,d,1,2\n", ":2: probability is 2"),
        ("query,document,grade,action\nq,d,1,liked\n", ":2: action is 'liked', want one of"),
        ("query,document,grade,action\nq,d,1,withdrawn\n", ":2: a record that is withdrawn has the grade 1"),
        ('query,document,grade\nq,"d,1\n', ": is not CSV"),
        ("query,document,grade\nq,d,\x001\n", ":2: grade is"),
    ],
)
def test_mistakes_in_a_csv_are_one_line_and_import_nothing(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with JudgmentStore(tmp_path / "s") as store:
        with pytest.raises(TacitError, match=message) as caught:
            import_judgments(store, tmp_path / "a.csv")
        assert str(caught.value).startswith(str(tmp_path / "a.csv"))
        assert "\n" not in str(caught.value)
        assert len(store) == 0


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"query,document,grade\nq,\xff,1\n")
    with pytest.raises(DataError, match=r":2: byte 0xff is not UTF-8"):
        read_csv(tmp_path / "a.csv")


def test_qrels_are_imported_once_and_changes_are_new_records(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 a 2 0.5\nq1 0 b 0\nq2 0 a -1\n")
    with JudgmentStore(tmp_path / "s") as store:
        assert import_judgments(store, path, judge="nist").n_new == 2
        assert import_judgments(store, path, judge="nist").n_new == 0
        path.write_text("q1 0 a 1 0.5\nq1 0 b 0\n")
        assert import_judgments(store, path, judge="nist").n_new == 1
        assert {(j.document, j.grade, j.probability) for j in store.current()} == {("a", 1, 0.5), ("b", 0, None)}
        assert len(store) == 3


@pytest.fixture
def three_judges(tmp_path):
    with JudgmentStore(tmp_path / "s") as store:
        for judge, grades in {"ann": (0, 2, 1), "bob": (2, 2, None), "cat": (1, 0, 0)}.items():
            for document, grade in zip("xyz", grades, strict=True):
                store.record("q", document, grade, judge, probability=0.5 if judge == "ann" else None)
        store.record("q", "x", 9, "llm", kind="program")
        store.record("r", "x", None, "ann")
        yield store


@pytest.mark.parametrize(
    ("merge", "expected"),
    [
        ("last", {"x": 1, "y": 0, "z": 0}),
        ("mean", {"x": 1, "y": 4 / 3, "z": 0.5}),
        ("median", {"x": 1, "y": 2, "z": 0.5}),
        ("majority", {"x": 0, "y": 2, "z": 0}),
        ("lowest", {"x": 0, "y": 0, "z": 0}),
        ("highest", {"x": 2, "y": 2, "z": 1}),
    ],
)
def test_merges_are_of_people_only(three_judges, merge, expected):
    judgments = merged_judgments(three_judges, merge=merge)
    assert list(judgments.to_dict().values()) == [expected, {}]
    assert judgments.probability.tolist() == [0.5] * 3
    assert set(MERGES) == {"last", "mean", "median", "majority", "lowest", "highest"}


def test_programs_are_merged_where_they_are_named(three_judges):
    (grades,) = merged_judgments(three_judges, ["bob", "llm"], "mean").to_dict().values()
    assert grades["x"] == 5.5


def test_one_judge(three_judges):
    (grades,) = merged_judgments(three_judges, ["llm"]).to_dict().values()
    assert grades == {"x": 9}


@pytest.mark.parametrize(
    ("judges", "merge", "message"),
    [
        ([], None, r"several judges: 'ann' \(person, 4\), 'bob' .* 'llm' \(program, 1\); name one"),
        (["ann", "bob"], None, "name one"),
        (["dan"], None, "has no judge 'dan', only 'ann'"),
        (["ann", "bob"], "best", "merge is 'best', want one of last"),
    ],
)
def test_who_is_meant_must_be_said(three_judges, judges, merge, message):
    with pytest.raises(UsageError, match=message):
        merged_judgments(three_judges, judges, merge)


def test_the_only_person_is_meant_where_the_others_are_programs(tmp_path):
    with JudgmentStore(tmp_path / "s") as store:
        store.record("q", "x", 1, "ann")
        store.record("q", "x", 9, "llm", kind="program")
        assert list(merged_judgments(store).to_dict().values()) == [{"x": 1.0}]


def test_programs_alone_are_not_merged_unnamed(tmp_path):
    with JudgmentStore(tmp_path / "s") as store:
        with pytest.raises(UsageError, match="has no judgments"):
            merged_judgments(store)
        store.record("q", "x", 1, "a", kind="program")
        assert len(merged_judgments(store)) == 1
        store.record("q", "x", 1, "b", kind="program")
        with pytest.raises(UsageError, match="no judge is a person"):
            merged_judgments(store, merge="mean")


def test_read_judgments_takes_stores_and_files(three_judges, tmp_path):
    three_judges.close()
    assert len(read_judgments(tmp_path / "s", ["ann"])) == 3
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    assert len(read_judgments(tmp_path / "qrels")) == 1
    with pytest.raises(UsageError, match="is not a judgment store"):
        read_judgments(tmp_path / "qrels", ["ann"])
    with pytest.raises(DataError, match="no such file"):
        read_judgments(tmp_path / "missing")
