"""Files that were made to exhaust time or memory end soon, in one line, in little memory."""

import bz2
import gzip
import lzma
import resource
import subprocess
import sys
import time
from itertools import pairwise

import pytest
import zstandard

from tacit.core import DataError, UsageError
from tacit.data import files, read_collection, read_run
from tacit.data.compression import decompress
from tacit.data.wiki.markup import plain_page
from tacit.data.wiki.pages import _REDIRECT
from tacit.data.wiki.titles import Site

PACK = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstandard.ZstdCompressor().compress}


def test_many_repeated_keys_take_linear_time(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"id": "a", ' + ", ".join(f'"k{n}": 1' for n in range(60_000)) + ', "k59999": 1}')
    start = time.process_time()
    with pytest.raises(DataError, match=":1: the key 'k59999' occurs twice in one object"):
        read_collection(path)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("suffix", PACK)
def test_what_is_unpacked_at_once_is_small(suffix):
    packed = PACK[suffix](b"a" * 60_000_000)
    pieces = [len(piece) for piece in decompress([packed], suffix)]
    assert sum(pieces) == 60_000_000
    assert max(pieces) <= 32 << 20


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("name", ["docs.jsonl", "docs.csv", "docs.json", "docs.xml", "run.txt"])
def test_an_endless_line_is_refused_while_it_is_unpacked(tmp_path, monkeypatch, name, suffix):
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 1 << 20)
    start = {"docs.json": b'[{"id": "', "docs.xml": b"<mediawiki><page><title>", "docs.csv": b'id,text\n1,"'}.get(
        name, b""
    )
    path = tmp_path / (name + suffix)
    path.write_bytes(PACK[suffix](start + b"a" * 12_000_000))
    reader = read_run if name == "run.txt" else read_collection
    with pytest.raises(DataError, match=r"of more than 1 MiB; TACIT_MAX_LINE_MIB=N raises the limit"):
        reader(path)
    monkeypatch.setenv("TACIT_MAX_LINE_MIB", "0")
    with pytest.raises(UsageError, match="TACIT_MAX_LINE_MIB is '0', want a whole number of MiB"):
        reader(path)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="the system has no limit of memory")
def test_a_bomb_needs_little_memory(tmp_path):
    path = tmp_path / "docs.jsonl.bz2"
    stream = bz2.compress(b"a" * 50_000_000)
    path.write_bytes(stream * 60)  # 3 GB in 3 KB
    code = (
        "import resource, sys; from tacit.data import read_collection\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: read_collection(sys.argv[1])\n"
        "except ValueError as error: print(error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    message, grown = done.stdout.splitlines()
    assert "a line of more than 64 MiB" in message
    assert int(grown) < 400


@pytest.mark.parametrize("encoding", ["utf-7", "rot13", "hex", "idna", "no-such", "punycode", "utf-8-sig"])
def test_encodings_that_xml_cannot_have(tmp_path, encoding):
    path = tmp_path / "dump.xml"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?><mediawiki><page></page></mediawiki>')
    with pytest.raises(DataError, match=r"dump\.xml"):
        read_collection(path)


def test_pages_within_pages(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_text("<mediawiki><page><title>a</title><page></page></page></mediawiki>")
    with pytest.raises(DataError, match=r"dump\.xml:1: a <page> is inside another <page>"):
        read_collection(path)
    path.write_text("<mediawiki>" + "<a>" * 1000)
    with pytest.raises(DataError, match="nested more than 100 deep"):
        read_collection(path)


ATOMS = ["<a", "a", "<", "#redirect", "{{", "[[", "]]", "[http://", "<!--", "<ref", "<ref>", "<nowiki>", "&#", "''"]
ATOMS += ["__A", "( ", "|", "\n|", "\n{|\n|", " ", "\n", "[[File:|", "1x", "[[a|", "%", "[[%41", "\xa0", "[[a]]"]


def seconds(text):
    start = time.process_time()
    plain_page(text, Site())
    _REDIRECT.match(text)
    return time.process_time() - start


@pytest.mark.parametrize("prefix", ["", "<a", "#redirect", "{{", "[[", "\n{|\n|"])
@pytest.mark.parametrize("atom", ATOMS)
def test_markup_is_cleaned_in_linear_time(prefix, atom):
    sizes = [25_000, 50_000, 100_000]
    taken = [seconds(prefix + (atom * size)[:size]) for size in sizes]
    # Quadratic time took 12 s for 50,000 characters of an open tag, and four times as long for twice as many.
    assert all(later < 3.5 * earlier + 0.5 for earlier, later in pairwise(taken)), taken
