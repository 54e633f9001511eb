"""`tacit verify` on the command line."""

import json

import pytest

from tacit.core import Collection
from tacit.search import Searcher
from tacit.store import Stored, load_model, save_model


@pytest.fixture
def folder(tmp_path):
    docs = Collection(["a", "b"], ["Cats", "Dogs"], ["they purr", "they bark"])
    Searcher("tfidf").fit(docs).save(tmp_path / "m")
    return tmp_path / "m"


def test_a_line_for_each_file(folder, tacit):
    code, out, err = tacit("verify", folder)
    assert (code, err) == (0, "")
    assert [line.split(",")[0] for line in out.splitlines()] == ["model.json: ok", "arrays.safetensors: ok"]
    file = folder / "arrays.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    code, out, err = tacit("verify", folder)
    assert (code, err) == (1, "")
    assert out.splitlines()[1].startswith("arrays.safetensors: is damaged: array '")
    code, out, _ = tacit("verify", folder, "--json")
    found = json.loads(out)
    assert (code, found["ok"], found["files"][0]["problem"]) == (1, False, "")
    assert tacit("verify", "absent")[::2] == (1, "tacit: absent: there is no such model folder\n")


def test_texts_that_cannot_be_unpacked_are_found_behind_right_checksums(folder, tacit):
    stored = load_model(folder)
    arrays = stored.arrays | {"documents/texts/blocks": stored.arrays["documents/texts/blocks"] ^ 1}
    save_model(folder, Stored(stored.kind, stored.params, arrays))
    message = f"tacit: {folder}: the texts are damaged: block 0 cannot be decompressed\n"
    assert tacit("verify", folder)[::2] == (1, message)
