"""The Japanese-English dictionary: entries as the package writes them, and files that are none."""

import pytest

from tacit.core import DataError
from tacit.data import has_edict, read_edict
from tacit.data.edict import FOLDER

LINES = """\
　？？？ /EDICT, a title/Created: 2021-02-03/
コール・スタック /(n) {comp} call stack/(P)/
配列 [はいれつ] /(n,vs,adj-no) (1) arrangement/(2) array/(P)/
ＤＮＡ [ディーエヌエー] /(n) DNA/
無 [しど] /
"""


def write(folder, text, name="edict"):
    (folder / name).write_bytes(text.encode("euc_jp"))


def test_entries_without_notes_under_words_and_readings(tmp_path):
    write(tmp_path, LINES)
    write(tmp_path, "配列 [はいれつ] /(n) array/matrix/\nはいれつ /(n) own entry/\n", "compdic")
    found = read_edict(tmp_path)
    assert found["コールスタック"] == ["call stack"]
    assert found["配列"] == ["arrangement", "array", "matrix"]
    assert found["はいれつ"] == ["own entry"]
    assert found["dna"] == ["DNA"]
    assert found["無"] == []


def test_what_is_no_dictionary_is_refused(tmp_path):
    assert not has_edict(tmp_path)
    with pytest.raises(DataError, match="package edict"):
        read_edict(tmp_path)
    write(tmp_path, "配列 array\n")
    with pytest.raises(DataError, match=r"edict:1: is not an entry"):
        read_edict(tmp_path)
    (tmp_path / "edict").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not EUC-JP"):
        read_edict(tmp_path)


@pytest.mark.skipif(not has_edict(), reason="needs Debian's package edict")
def test_the_installed_dictionary_knows_common_words():
    found = read_edict(FOLDER)
    assert "array" in found["配列"]
    assert "browser" in found["ブラウザ"]
    assert len(found) > 200_000
