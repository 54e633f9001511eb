"""Models are opened without reading them; texts stay in the file; `tacit verify` reads every byte."""

import contextlib

import numpy as np
import pytest

from tacit.core import Collection, StoreError
from tacit.core.texts import TextBlocks
from tacit.search import Searcher
from tacit.store import Stored, arrays, header, load_model, pack_strings, save_model, verify_model

DOCS = Collection(["a", "b", "c"], ["Cats", "Dogs", ""], ["they purr", "they bark 日本", ""])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "m"
    Searcher("bm25").fit(DOCS).save(folder)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    stored = load_model(saved)
    save_model(tmp_path / "m", stored)
    return tmp_path / "m", stored


def test_texts_stay_in_the_file_until_they_are_read(saved, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(TextBlocks, "_read", None)
        searcher = Searcher.load(saved)
        assert len(searcher.documents_) == 3
        assert not searcher.documents_.texts.blocks.flags.owndata
        assert "row_of" not in vars(searcher.documents_)
    assert [*searcher.documents_] == [*DOCS]
    assert searcher.search("bark")[0].snippet.text == "they bark 日本"


def test_added_and_removed_documents_are_saved_with_the_others(saved, tmp_path):
    searcher = Searcher.load(saved)
    searcher.add(Collection(["d", "e"], ["", "Zebra"], ["a horse", "striped"])).remove(["a", "d"])
    wanted = [("b", "Dogs", "they bark 日本"), ("c", "", ""), ("e", "Zebra", "striped")]
    assert [*searcher.documents_] == wanted
    searcher.save(tmp_path / "n")
    again = Searcher.load(tmp_path / "n")
    assert [*again.documents_] == wanted
    assert again.search("striped")[0].id == "e"
    again.save(tmp_path / "n")  # over the file that it is mapped to
    assert [*Searcher.load(tmp_path / "n").documents_] == wanted == [*again.documents_]


@pytest.mark.parametrize("version", [1, 2])
def test_a_folder_of_an_older_version_is_refused_in_one_line(copy, monkeypatch, version):
    folder, stored = copy
    with monkeypatch.context() as patch:
        patch.setattr(header, "FORMAT_VERSION", version)
        save_model(folder, stored)
    wanted = f"^{folder}/model.json: has format version {version}, this tacit reads 3: fit it again$"
    with pytest.raises(StoreError, match=wanted):
        Searcher.load(folder)
    save_model(folder, stored)  # and can be replaced
    assert [*Searcher.load(folder).documents_] == [*DOCS]


@pytest.mark.parametrize(
    ("name", "value"),
    [("starts", [0, 10**9]), ("starts", [1, 2]), ("starts", []), ("rows", [0, 2]), ("rows", [0]), ("rows", [3, 0])],
)
def test_limits_of_blocks_that_cannot_be_are_refused(copy, name, value):
    folder, stored = copy
    changed = stored.arrays | {f"documents/texts/{name}": np.array(value, np.int64)}
    save_model(folder, Stored(stored.kind, stored.params, changed))
    with pytest.raises(StoreError, match=rf"^{folder}: array 'documents/texts/(starts|rows)'"):
        Searcher.load(folder)


def test_an_id_that_repeats_is_told_when_ids_are_looked_up(copy):
    folder, stored = copy
    save_model(folder, Stored(stored.kind, stored.params, stored.arrays | pack_strings("documents/ids", ["a"] * 3)))
    searcher = Searcher.load(folder)
    with pytest.raises(ValueError, match="id 'a' is more than once"):
        searcher.remove(["a"])


def test_every_changed_byte_of_the_arrays_is_found_by_verify_and_opens_or_is_refused(copy, monkeypatch):
    folder, _ = copy
    monkeypatch.setattr(arrays, "SMALL_BYTES", 0)  # as if all of them were large
    file = folder / "arrays.safetensors"
    whole = file.read_bytes()
    first = 8 + int.from_bytes(whole[:8], "little")
    assert [check.problem for check in verify_model(folder)] == ["", ""]
    for place in range(first, len(whole), 3):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :])
        assert "is damaged: array" in verify_model(folder)[1].problem
        with contextlib.suppress(StoreError):
            searcher = Searcher.load(folder)
            assert np.isfinite(searcher.ranker_.scores(searcher.features(["they bark"]))).all()
            list(searcher.documents_)
    file.write_bytes(whole[:-1])
    with pytest.raises(StoreError, match=r"arrays\.safetensors: has \d+ bytes, want"):
        verify_model(folder)
