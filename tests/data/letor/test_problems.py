"""Every wrong file is refused with its name, the line, what was found and what is wanted."""

import bz2
import gzip
import io
import lzma
import re
import sys

import pytest

from tacit.core import DataError
from tacit.data.letor.files import read_letor


@pytest.fixture
def read(tmp_path):
    def write_and_read(data, **options):
        path = tmp_path / "lists.txt"
        path.write_bytes(data)
        return read_letor(path, **options)

    return write_and_read


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (b"x qid:1 1:1", "grade is 'x', want a number >= 0, or -1 for unjudged"),
        (b"-2 qid:1 1:1", "grade is '-2', want"),
        (b"-0.5 qid:1 1:1", "grade is '-0.5', want"),
        (b"nan qid:1 1:1", "grade is 'nan', want"),
        (b"-2e400 qid:1", "grade is '-2e400', want"),
        (b"-1.00000000000000000000000000000001e1 qid:1", "grade is '-1.0000"),
        (b"1", "the row has no query, want 'grade qid:ID index:value ...'"),
        (b"1 # qid:3", "the row has no query"),
        (b"1 1:0.5 2:0.5", "'1:0.5' follows the grade, want 'grade qid:ID"),
        (b"1qid:3 1:0.5", "grade is '1qid:3', want"),
        (b"1 QID:3 1:0.5", "'QID:3' follows the grade"),
        (b"1 qid: 1:0.5", "qid is empty, want qid:ID"),
        (b"1 qid:3 1:0.5 spam", "field 'spam' has no colon, want index:value"),
        (b"1 qid:3 qid:4", "feature index is 'qid', want a whole number >= 1"),
        (b"1 qid:3 0:0.5", "feature index is '0', want a whole number >= 1"),
        (b"1 qid:3 -1:0.5", "feature index is '-1', want a whole number >= 1"),
        (b"1 qid:3 :0.5", "feature index is '', want a whole number >= 1"),
        (b"1 qid:3 1.5:0.5", "feature index is '1.5', want a whole number >= 1"),
        (b"1 qid:3 2:0 2:0", "feature index is '2' after 2, want ascending indices"),
        (b"1 qid:3 2:0 1:0", "feature index is '1' after 2, want ascending indices"),
        (b"1 qid:3 1000001:1", "feature index is '1000001', want at most 1000000"),
        (
            b"1 qid:3 " + b"9" * 5000 + b":1",
            "feature index is '9999999999999999999999999999999999999999...', want at most",
        ),
        (b"1 qid:3 1:", "value of feature 1 is '', want a finite number or NULL"),
        (b"1 qid:3 1:nan", "value of feature 1 is 'nan', want"),
        (b"1 qid:3 1:inf", "value of feature 1 is 'inf', want"),
        (b"1 qid:3 1:1e309", "value of feature 1 is '1e309', want"),
        (b"1 qid:3 1:1_0", "value of feature 1 is '1_0', want"),
        (b"1 qid:3 1:0x1", "value of feature 1 is '0x1', want"),
        (b"1 qid:3 1:1.2.3", "value of feature 1 is '1.2.3', want"),
        (b"1 qid:3 1:.", "value of feature 1 is '.', want"),
        (b"1 qid:3 1:1e", "value of feature 1 is '1e', want"),
        (b"1 qid:3 1:1e+", "value of feature 1 is '1e+', want"),
        (b"1 qid:3 1:NUL", "value of feature 1 is 'NUL', want"),
        (b"1 qid:3 1:NULLS", "value of feature 1 is 'NULLS', want"),
        (b"1 qid:3 1:\xff", r"value of feature 1 is '\\xff', want"),
        (b"1 qid:3 1:1 #docid = \xff\xfe", "byte 0xff is not UTF-8, want UTF-8 text"),
        (b"1 qid:\xc3 1:1", "byte 0xc3 is not UTF-8"),
        (b"1 qid:1 1:1", "query '1' occurs again after other queries; its rows began in line 2; want the rows"),
    ],
)
def test_says_which_line_is_wrong_and_why(read, row, problem):
    good = b"# head \xff\n1 qid:1 1:1\n\n1 qid:2 1:1 # fine\n"
    after = b"\n1 qid:5 1:bad #\xff\n"
    with pytest.raises(DataError, match=re.escape(problem)) as caught:
        read(good + row + after)
    assert caught.value.line == 5
    assert "\n" not in str(caught.value)


def test_a_query_that_comes_back_in_a_later_text_is_found(read):
    with pytest.raises(DataError, match=r"lists\.txt:4: query 'a' occurs again .* began in line 1"):
        read(b"1 qid:a 1:1\n1 qid:a 1:1\n1 qid:b 1:1\n1 qid:a 1:1\n", block_bytes=16)


@pytest.mark.parametrize("block_bytes", [1, 50, 10_000])
def test_lines_are_counted_over_all_chunks(read, block_bytes):
    with pytest.raises(DataError, match=r"lists\.txt:41: value of feature 1 is 'x'"):
        read(b"1 qid:a 1:1\n\n" * 20 + b"1 qid:a 1:x\n" + b"1 qid:a 1:1\n" * 20, block_bytes=block_bytes)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# only\n#comments", b" \t\r\n"])
def test_a_file_without_rows_is_refused(read, data):
    with pytest.raises(DataError, match=r"lists\.txt: has no rows"):
        read(data)


def test_a_table_too_sparse_to_be_dense_is_refused_before_it_is_made(read, monkeypatch):
    # 2^24 free cells hold 16 rows of a million; 32 cells for each of the few hundred bytes do not hold another.
    wide = b"0 qid:1 1000000:1\n"
    with pytest.raises(DataError, match=r":17: 17 rows by 1000000 features are too sparse") as caught:
        read(wide * 20)
    assert "32 cells for each byte" in str(caught.value)
    assert read(wide * 2 + b"\n" * 10**6).X.shape == (2, 1_000_000)  # blank lines ask for no cells
    narrow = b"0 qid:1 1:1\n" * 100
    with pytest.raises(DataError, match=r":101: 101 rows by 1000000 features are too sparse"):
        read(narrow + wide)
    with pytest.raises(DataError, match="rows by 1000000 features are too sparse"):
        read(narrow + wide, block_bytes=64)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)])
def test_compressed_files_are_read_and_cut_ones_refused(tmp_path, suffix, pack):
    path, data = tmp_path / f"lists.txt{suffix}", b"1 qid:1 1:0.5 #docid = a\n" * 1000
    path.write_bytes(pack(data))
    lists = read_letor(path)
    assert (lists.X.tolist(), lists.doc_ids, len(lists)) == ([[0.5]] * 1000, ["a"] * 1000, 1)
    path.write_bytes(pack(data)[:-9])
    with pytest.raises(DataError, match="truncated"):
        read_letor(path)


def test_standard_input_and_missing_files(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 qid:1 1:x\n")))
    with pytest.raises(DataError, match="<stdin>:1: value of feature 1"):
        read_letor("-")
    with pytest.raises(DataError, match="no such file"):
        read_letor(tmp_path / "none.txt")
