"""The file classes of the standard library are the oracle for what we decompress and what we write."""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import DataError, MissingExtraError, UsageError
from tacit.data import files
from tacit.data.files import open_output, read_blocks, read_bytes, read_lines, split_suffix

COMPRESS = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
DECOMPRESS = {
    "": lambda data: data,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}
every_suffix = pytest.mark.parametrize("suffix", COMPRESS)
every_compression = pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix])


def stored(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


def in_pieces(path, chunk_bytes=64):
    """The lines of a file that is read a few bytes at a time."""
    return read_lines(path, read_bytes(path, chunk_bytes=chunk_bytes))


@every_suffix
def test_lines_are_numbered_from_one_and_end_at_either_break(tmp_path, suffix):
    path = stored(tmp_path, "a.txt" + suffix, COMPRESS[suffix](b"one\n\r\ntwo\r\nx\ry\nlast"))
    assert list(read_lines(path)) == [(1, "one"), (2, ""), (3, "two"), (4, "x\ry"), (5, "last")]


@given(
    lines=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r")), max_size=30),
    suffix=st.sampled_from(list(COMPRESS)),
    chunk=st.integers(1, 40),
)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_whatever_the_chunks(tmp_path_factory, lines, suffix, chunk):
    path = tmp_path_factory.mktemp("lines") / f"a.txt{suffix}"
    with open_output(path) as out:
        out.writelines(line + "\n" for line in lines)
    # A mark at the very start would be taken for a byte order mark.
    wanted = [line.removeprefix("\ufeff") if number == 0 else line for number, line in enumerate(lines)]
    assert list(in_pieces(path, chunk)) == list(enumerate(wanted, 1))
    assert DECOMPRESS[suffix](path.read_bytes()) == "".join(line + "\n" for line in lines).encode()


@every_compression
def test_streams_one_after_the_other_are_one_text(tmp_path, suffix):
    one, two = COMPRESS[suffix](b"a\nb"), COMPRESS[suffix](b"c\nd\n")
    path = stored(tmp_path, "a.txt" + suffix, one + b"\0" * 4 + two + b"\0" * 8)
    for chunk in (1, 7, 1 << 17):
        assert [line for _, line in in_pieces(path, chunk)] == ["a", "bc", "d"]


def test_blocks_hold_whole_lines(tmp_path):
    path = stored(tmp_path, "a.txt", b"\xef\xbb\xbfone\ntwo\nthree\nfour")
    assert list(read_blocks(path, read_bytes(path, chunk_bytes=9))) == [
        (1, b"one\n"),
        (2, b"two\nthree\n"),
        (4, b"four"),
    ]


def test_a_mark_at_the_start_is_dropped_and_only_there(tmp_path):
    path = stored(tmp_path, "a.txt", b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert list(read_lines(path)) == [(1, "one"), (2, "\ufefftwo")]
    assert list(read_lines(stored(tmp_path, "b.txt", b"\xef\xbb\xbf"))) == []
    assert list(read_lines(stored(tmp_path, "c.txt", b""))) == []


def test_bad_encoding_names_its_line(tmp_path):
    path = stored(tmp_path, "a.txt", "one\ntwo\nthr\xe9e\n".encode("latin-1"))
    for chunk in (1, 1 << 17):
        with pytest.raises(DataError, match=r"a\.txt:3: this text is not UTF-8 but probably latin-1 \('th"):
            list(in_pieces(path, chunk))


@every_compression
def test_a_file_that_was_cut_or_damaged_says_how_far_it_was_read(tmp_path, suffix):
    whole = COMPRESS[suffix]("".join(f"line {n * n}\n" for n in range(20_000)).encode())
    with pytest.raises(DataError, match="truncated") as cut:
        list(in_pieces(stored(tmp_path, "a.txt" + suffix, whole[:-5])))
    assert cut.value.line is None or 0 < cut.value.line <= 20_000
    damaged = bytearray(whole)
    for place in range(len(whole) * 3 // 4, len(whole) * 3 // 4 + 50):
        damaged[place] ^= 0xA5
    with pytest.raises(DataError, match=r"damaged|truncated|not UTF-8"):
        list(in_pieces(stored(tmp_path, "b.txt" + suffix, bytes(damaged))))
    for name, data in (("c.txt", b"plain text\n"), ("d.txt", whole + b"garbage"), ("e.txt", b"")):
        with pytest.raises(DataError, match=r"damaged|truncated"):
            list(in_pieces(stored(tmp_path, name + suffix, data)))


def test_the_line_reached_is_named(tmp_path):
    whole = gzip.compress("".join(f"line {n * n}\n" for n in range(20_000)).encode())
    path = stored(tmp_path, "a.txt.gz", whole[: len(whole) // 2])
    numbers = []
    with pytest.raises(DataError, match=r"a\.txt\.gz:\d+: gzip data is truncated after this line") as cut:
        numbers.extend(number for number, _ in in_pieces(path))
    assert cut.value.line == max(numbers) > 5_000


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent.txt", "no such file"), ("", "is a folder"), ("a\0b", "want the name of a file"), ("x/y", "no such file")],
)
def test_a_path_that_is_no_file(tmp_path, name, message):
    with pytest.raises((DataError, UsageError), match=message):
        list(read_lines(os.path.join(tmp_path, name)))


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "open", refuse, raising=False)
    with pytest.raises(DataError, match=r"a\.txt: permission denied"):
        list(read_lines(tmp_path / "a.txt"))
    with pytest.raises(DataError, match="cannot be written: permission denied"), open_output(tmp_path / "a.txt"):
        pass


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("é\nb\n".encode())))
    assert list(read_lines("-")) == [(1, "é"), (2, "b")]
    assert not sys.stdin.closed
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="standard input is not open"):
        list(read_lines("-"))


def test_zstd_is_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"tacit-rank\[zstd\]"):
        list(read_lines(stored(tmp_path, "a.txt.zst", b"")))
    with pytest.raises(MissingExtraError, match=r"tacit-rank\[zstd\]"), open_output(tmp_path / "b.zst"):
        pass
    assert os.listdir(tmp_path) == ["a.txt.zst"]


def test_a_bar_follows_large_files_to_their_end(tmp_path, monkeypatch):
    from contextlib import contextmanager

    seen = []

    @contextmanager
    def bar(label, total):
        seen.append((label, total))
        yield seen.append

    monkeypatch.setattr(files, "progress_bar", bar)
    path = stored(tmp_path, "big.txt.gz", gzip.compress(os.urandom(40_000).hex().encode()))
    assert len(list(read_lines(path, read_bytes(path, chunk_bytes=1000, bar_from=40_001)))) == 1
    assert seen[0] == ("reading big.txt.gz", path.stat().st_size)
    assert sum(seen[1:]) == path.stat().st_size
    assert len(list(read_lines(path, read_bytes(path, bar_from=10**6)))) == 1
    assert len([entry for entry in seen if isinstance(entry, tuple)]) == 1


def write_half(path, failure):
    with open_output(path) as out:
        out.write("half" * 100_000)
        raise failure


class TestOutput:
    @every_suffix
    def test_nothing_is_left_of_a_failed_output(self, tmp_path, suffix):
        path = stored(tmp_path, "a.txt" + suffix, b"before")
        for failure in (RuntimeError, KeyboardInterrupt):
            with pytest.raises(failure):
                write_half(path, failure)
            assert path.read_bytes() == b"before"
            assert os.listdir(tmp_path) == [path.name]

    @every_suffix
    def test_the_file_appears_at_the_end_with_the_usual_permissions(self, tmp_path, suffix):
        path, plain = tmp_path / f"a.txt{suffix}", stored(tmp_path, "plain", b"")
        with open_output(path) as out:
            out.write("é\n")
            assert not path.exists()
        assert DECOMPRESS[suffix](path.read_bytes()) == "é\n".encode()
        assert sorted(os.listdir(tmp_path)) == [path.name, "plain"]
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)

    def test_the_same_text_gives_the_same_gzip_file(self, tmp_path):
        for name in ("a.gz", "b.gz"):
            with open_output(tmp_path / name) as out:
                out.write("text\n" * 100)
        assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()

    def test_a_link_stays_a_link_and_a_pipe_a_pipe(self, tmp_path):
        real = stored(tmp_path, "real.txt", b"old")
        (tmp_path / "link.txt").symlink_to(real)
        with open_output(tmp_path / "link.txt") as out:
            out.write("new")
        assert (tmp_path / "link.txt").is_symlink()
        assert real.read_text() == "new"
        os.mkfifo(tmp_path / "pipe")
        with ThreadPoolExecutor(1) as reader:
            received = reader.submit((tmp_path / "pipe").read_text)
            with open_output(tmp_path / "pipe") as out:
                out.write("through")
        assert received.result() == "through"
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)

    @pytest.mark.parametrize("name", ["", "absent/a.txt", "x" * 400])
    def test_a_place_where_no_file_can_be(self, tmp_path, name):
        with pytest.raises(DataError, match="cannot be written"), open_output(os.path.join(tmp_path, name)) as out:
            out.write("text")
        assert os.listdir(tmp_path) == []

    def test_half_a_character_is_refused(self, tmp_path):
        with pytest.raises(DataError, match=r"U\+D800"), open_output(tmp_path / "a.txt") as out:
            out.write("a\ud800")
        assert os.listdir(tmp_path) == []

    def test_standard_output_stays_open_and_is_utf8(self, monkeypatch):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
        sys.stdout.write("first\n")
        with open_output("-") as out:
            out.write("Ω\n")
        sys.stdout.write("last\n")
        sys.stdout.flush()
        assert raw.getvalue().decode() == "first\nΩ\nlast\n"

    def test_standard_output_may_be_text_only(self, monkeypatch):
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        with open_output("-") as out:
            out.write("Ω")
        assert sys.stdout.getvalue() == "Ω"


@pytest.mark.parametrize(
    ("name", "suffixes"),
    [("a.jsonl.gz", (".jsonl", ".gz")), ("a.b/c", ("", "")), ("A.TSV.XZ", (".tsv", ".xz")), ("a.gz", ("", ".gz"))],
)
def test_suffixes(name, suffixes):
    assert split_suffix(name) == suffixes
