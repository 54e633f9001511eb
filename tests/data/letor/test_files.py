"""A slow parser of lines is the oracle: same bits for good files, same line refused for bad ones."""

import os
import re
import subprocess
import sys
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import DataError, Lists, TacitError
from tacit.data.letor import build
from tacit.data.letor.files import read_letor

BLANKS = " \t\r"


class RefusedError(Exception):
    """The oracle found a line that is wrong; the argument is its number."""


def slow_number(word, line):
    try:
        value = float(word) if set(word) <= set(b"0123456789+-.eE") else np.nan
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise RefusedError(line)
    return value


def slow_names(comment):
    text = comment.strip(BLANKS)
    marked = re.match(r"docid(?:[ \t\r]*=|[ \t\r]+|$)[ \t\r]*(.*)", text, re.DOTALL)
    words = re.split("([ \t\r]+)", marked[1] if marked else text)
    return words[0], "".join(words[2:])


def slow_row(words, line):
    if len(words) < 2 or not words[1].startswith(b"qid:") or words[1] == b"qid:":
        raise RefusedError(line)
    grade = slow_number(words[0], line)
    if grade < 0 and grade != -1:
        raise RefusedError(line)
    cells, last = {}, 0
    for word in words[2:]:
        index, colon, value = word.partition(b":")
        if not colon or not index.isdigit() or not last < int(index) <= 1_000_000:
            raise RefusedError(line)
        last = int(index)
        cells[last] = np.nan if value == b"NULL" else slow_number(value, line)
    return (np.nan if grade == -1 else grade), words[1][4:], cells


def slow_lists(data):
    """Lists as `read_letor` should give them."""
    grades, rows, query_ids, starts, names = [], [], [], [], []
    for line, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        body, _, comment = raw.partition(b"#")
        words = [word for word in re.split(b"[ \t\r]", body) if word]
        if not words:
            continue
        grade, query, cells = slow_row(words, line)
        try:
            query, comment = query.decode(), comment.decode()
        except UnicodeDecodeError:
            raise RefusedError(line) from None
        if not query_ids or query != query_ids[-1]:
            if query in query_ids:
                raise RefusedError(line)
            query_ids.append(query)
            starts.append(len(rows))
        grades.append(grade)
        rows.append(cells)
        names.append(slow_names(comment))
    if not rows:
        raise RefusedError(None)
    X = np.zeros((len(rows), max(max(cells, default=0) for cells in rows)))
    for row, cells in enumerate(rows):
        for index, value in cells.items():
            X[row, index - 1] = value
    doc_ids, comments = [name for name, _ in names], [rest for _, rest in names]
    return Lists(X, np.array(grades), np.array([*starts, len(rows)]), query_ids, doc_ids, comments)


def slow_outcome(data):
    """(lists, None) or (None, the line refused)."""
    try:
        return slow_lists(data), None
    except RefusedError as refused:
        return None, refused.args[0]


def assert_same(lists, wanted):
    assert lists.X.dtype == np.float64
    assert lists.X.flags.c_contiguous
    np.testing.assert_array_equal(lists.X, wanted.X)
    there = ~np.isnan(wanted.X)
    assert np.array_equal(np.signbit(lists.X[there]), np.signbit(wanted.X[there]))  # -0.0 is not 0.0
    np.testing.assert_array_equal(lists.y, wanted.y)
    np.testing.assert_array_equal(lists.starts, wanted.starts)
    assert list(lists.query_ids) == list(wanted.query_ids)
    assert list(lists.doc_ids) == list(wanted.doc_ids)
    rests = [""] * len(wanted.X)
    assert list(lists.comments or rests) == list(wanted.comments or rests)


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    path = tmp_path_factory.mktemp("letor") / "lists.txt"

    def write_and_read(data, **options):
        path.write_bytes(data)
        return read_letor(path, **options)

    return write_and_read


def test_reads_every_part_of_a_row(read):
    lists = read(
        b"# made by hand\n"
        b"2 qid:10 1:0.5 3:-1e-2 #docid = GX008 inc = 1 prob = 0.08\r\n"
        b"\n"
        b"-1\tqid:10  2:NULL\t4:+.5 \r\n"
        b"0.5 qid:9b 1:7#x y"
    )
    assert_same(
        lists,
        Lists(
            X=np.array([[0.5, 0, -0.01, 0], [0, np.nan, 0, 0.5], [7, 0, 0, 0]]),
            y=np.array([2, np.nan, 0.5]),
            starts=np.array([0, 2, 3]),
            query_ids=["10", "9b"],
            doc_ids=["GX008", "", "x"],
            comments=["inc = 1 prob = 0.08", "", "y"],
        ),
    )


@pytest.mark.parametrize(
    ("comment", "doc_id", "rest"),
    [
        ("", "", ""),
        ("#", "", ""),
        ("#docid = X", "X", ""),
        ("# docid=X", "X", ""),
        ("#docid X", "X", ""),
        ("#docid=X inc = 1", "X", "inc = 1"),
        ("#  docid  =  X  inc  =  1  ", "X", "inc  =  1"),
        ("#GX1-2 spam", "GX1-2", "spam"),
        ("#docids = X", "docids", "= X"),
        ("#docid", "", ""),
        ("#docid =", "", ""),
        ("#docid = = a", "=", "a"),
        ("#docid = a#b #c", "a#b", "#c"),
        ("#docid = é 日本", "é", "日本"),
    ],
)
def test_takes_the_document_id_from_the_comment(read, comment, doc_id, rest):
    for end in ("", "\n", "\r\n"):
        lists = read(f"1 qid:1 1:1 {comment}{end}".encode())
        assert lists.doc_ids == [doc_id]
        assert list(lists.comments) == ([rest] if rest else [])


def test_hard_grades_follow_the_same_rule(read):
    tie = "-0.999999999999999944488848768742172978818416595458984375"  # halfway to -1, rounds to it
    lists = read(f"{tie} qid:1 1:1\n1e-30 qid:1 1:1\n{'1' * 30} qid:1 1:1\n".encode())
    np.testing.assert_array_equal(lists.y, [np.nan, 1e-30, float("1" * 30)])


def test_given_number_of_features_sets_the_width(read):
    assert read(b"1 qid:1 2:1\n", n_features=4).X.tolist() == [[0, 1, 0, 0]]
    assert read(b"1 qid:1\n").X.shape == (1, 0)
    with pytest.raises(DataError, match=r"lists.txt:2: feature index is '3', want at most 2"):
        read(b"1 qid:1 2:1\n1 qid:1 1:5 3:1\n", n_features=2)
    for wrong in (0, -1, 2.0, 10**9, "46"):
        with pytest.raises(TacitError, match="n_features"):
            read(b"1 qid:1 2:1\n", n_features=wrong)


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1).map(repr),
    st.decimals(-100, 100, places=6).map(str),
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(
        ["0", "-0", "1", "0.000000", "5.", ".5", "1e22", "1e23", "1e-400", "0e999999999999", "0" * 30 + "1"]
    ),
)
GRADES = st.one_of(st.sampled_from(["0", "1", "2", "-1", "-1.0", "1.5", "-0.1e1"]), st.floats(0, 1e6).map(repr))
GAPS = st.sampled_from([" ", " ", " ", "  ", "\t", " \r"])
TEXTS = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)
COMMENTS = st.one_of(
    st.just(""), TEXTS.map("#{}".format), TEXTS.map("#docid = {}".format), TEXTS.map("# docid{}".format)
)
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\n\n", "\n# 1 qid:\n", "\n \t\n"])


@st.composite
def good_rows(draw, query):
    indices = sorted(draw(st.sets(st.integers(1, 12), max_size=6)))
    values = [draw(st.one_of(NUMBERS, st.just("NULL"))) for _ in indices]
    fields = [draw(GRADES), f"qid:{query}", *(f"{i}:{value}" for i, value in zip(indices, values, strict=True))]
    return "".join(field + draw(GAPS) for field in fields) + draw(COMMENTS) + draw(ENDS)


@st.composite
def good_files(draw):
    words = st.text(st.characters(exclude_characters=" \t\r\n#", exclude_categories=["Cs"]), min_size=1, max_size=4)
    queries = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    rows = [draw(good_rows(query)) for query in queries for _ in range(draw(st.integers(1, 3)))]
    return "".join(rows).encode()


@given(good_files())
@settings(max_examples=60, deadline=None)
def test_good_files_give_the_same_bits_as_the_oracle(read, data):
    assert_same(read(data), slow_lists(data))


@given(good_files(), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_texts_may_be_cut_between_any_lines(data, size):
    lines = data.splitlines(keepends=True) if b"\r" not in data else [line + b"\n" for line in data.split(b"\n")]
    builder, first = build.ListsBuilder("f", None, most=1_000_000), 1
    for start in range(0, len(lines), size):
        text = b"".join(lines[start : start + size])
        builder.add(first, text)
        first += text.count(b"\n")
    assert_same(builder.finish(), slow_lists(data))


def test_small_chunks_change_nothing(read, monkeypatch):
    data = b"".join(
        b"%d qid:%d %d:0.%d %d:1 #docid = d%d\n" % (row % 3, row // 7, 1 + row // 9, row, 40 + row // 5, row)
        for row in range(100)
    )
    assert_same(read(data, block_bytes=11), slow_lists(data))
    assert_same(read(data, block_bytes=64), slow_lists(data))


def test_rows_that_grow_wider_step_by_step(read):
    data = b"".join(b"1 qid:1 %d:%d\n" % (index, index) for index in range(1, 301))
    assert np.array_equal(read(data).X, np.diag(np.arange(1.0, 301)))


def midpoints(rng, n):
    """Decimals at, just below and just above the middle between two doubles: the hardest to round."""
    with localcontext() as context:
        context.prec = 200
        for value in np.exp(rng.uniform(-12, 12, n)):
            middle = (Decimal(float(value)) + Decimal(float(np.nextafter(value, np.inf)))) / 2
            digits = int(rng.integers(15, 24))
            yield f"{middle:f}"
            yield f"{middle:.{digits}g}"
            yield f"{middle + Decimal(10) ** -60:f}"
            yield f"{middle - Decimal(10) ** -60:f}"


def test_numbers_are_rounded_as_float_rounds_them(read):
    rng = np.random.default_rng(0)
    texts = [*midpoints(rng, 500)]
    texts += [repr(x) for x in (rng.random(3000) * 10.0 ** rng.integers(-9, 9, 3000)).tolist()]
    texts += [f"{x:.20f}" for x in rng.random(500)]
    texts += [f"{m}e{e}" for m, e in zip(rng.integers(0, 10**18, 3000), rng.integers(-30, 30, 3000), strict=True)]
    texts += [
        "9007199254740993",
        "9007199254740993e0",
        "9007199254740992e22",
        "9007199254740993e22",
        "123456789012345678",
    ]
    lists = read("".join(f"0 qid:1 1:{text}\n" for text in texts).encode())
    assert lists.X[:, 0].tolist() == [float(text) for text in texts]


@given(good_files(), st.data())
@settings(max_examples=100, deadline=None)
def test_damaged_files_are_refused_where_the_oracle_refuses_them(read, data, choices):
    spoiled = bytearray(data)
    for _ in range(choices.draw(st.integers(1, 3))):
        at = choices.draw(st.integers(0, len(spoiled)))
        n_cut = choices.draw(st.sampled_from([0, 1, 1, 2, 10]))
        new = st.one_of(
            st.binary(max_size=2), st.sampled_from([*b"0123456789 \t\r\n:#.-+eEN"]).map(lambda c: bytes([c]))
        )
        spoiled[at : at + n_cut] = choices.draw(new)
    wanted, refused_line = slow_outcome(bytes(spoiled))
    if wanted is not None:
        assert_same(read(bytes(spoiled)), wanted)
        return
    with pytest.raises(DataError) as caught:
        read(bytes(spoiled))
    assert caught.value.line == refused_line


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_read_or_refused(read, data):
    wanted, _ = slow_outcome(data)
    if wanted is None:
        with pytest.raises(DataError, match=r"lists\.txt"):
            read(data)
    else:
        assert_same(read(data), wanted)


# --- the compiler and the real sets


def test_works_without_the_compiler(tmp_path):
    path = tmp_path / "lists.txt"
    numbers = [
        "0.1",
        "-5e-3",
        "NULL",
        "123456789012345678",
        "0.12345678901234567",
        "1e30",
        "0." + "3" * 40,
        "2e-9999999",
    ]
    path.write_text("".join(f"1 qid:{row // 2} 2:{number} #docid = d\n" for row, number in enumerate(numbers)))
    program = f"from tacit.data.letor.files import read_letor; print(read_letor({os.fspath(path)!r}).X[:, 1].tolist())"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([float(number.replace("NULL", "nan")) for number in numbers])


@pytest.mark.parametrize(
    ("name", "n_rows", "n_queries", "n_features", "n_without_relevant"),
    [
        ("OHSUMED-letor2", 16_140, 106, 25, None),
        ("OHSUMED-letor3-QueryLevelNorm", 16_140, 106, 45, 1),
        ("MQ2008", 15_211, 784, 46, 220),
    ],
)
def test_real_sets_have_the_counts_their_readme_states(
    data_folder, name, n_rows, n_queries, n_features, n_without_relevant
):
    from sklearn.datasets import load_svmlight_file

    path = data_folder / "letor" / name / f"{name}.txt.gz"
    lists = read_letor(path)
    assert lists.X.shape == (n_rows, n_features)
    assert len(lists) == n_queries
    relevant = np.maximum.reduceat(lists.y, lists.starts[:-1])
    assert n_without_relevant in (None, (relevant == 0).sum())
    X, y, qid = load_svmlight_file(str(path), query_id=True)
    np.testing.assert_array_equal(lists.X, X.toarray())
    np.testing.assert_array_equal(lists.y, y)
    np.testing.assert_array_equal(np.array(lists.query_ids, int)[lists.qid], qid)
    assert all(lists.doc_ids)
