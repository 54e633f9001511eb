"""Where a model may be saved and loaded: foreign files are never touched, and every refusal names the path."""

import os

import pytest

from tacit.core import StoreError, UsageError
from tacit.store import Stored, check_destination, load_model, save_model
from tacit.store import folder as model_folder

SMALL = Stored("LsiRanker", {"dim": 2}, {})


def refused_by_all(path, match):
    """Saving and asking beforehand say the same."""
    for call in (check_destination, lambda place: save_model(place, SMALL)):
        with pytest.raises((StoreError, UsageError), match=match) as caught:
            call(path)
        assert "\n" not in str(caught.value)


def test_a_file_is_never_overwritten(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    refused_by_all(path, r"notes\.txt: is a file, want a folder")
    refused_by_all(path / "model", r"notes\.txt: is a file, want a folder")
    with pytest.raises(StoreError, match=r"notes\.txt: is a file, want a folder with model\.json"):
        load_model(path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["notes.txt", "arrays.safetensors", ".hidden"])
def test_a_folder_with_other_things_is_left_alone(tmp_path, name):
    (tmp_path / name).write_text("mine")
    refused_by_all(tmp_path, f"contains '{name}' and no tacit model")
    with pytest.raises(StoreError, match=r"has no model\.json, so it is no model folder"):
        load_model(tmp_path)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("text", ["{}", '{"format": "keras"}', "not json", ""])
def test_a_model_json_of_another_program_is_left_alone(tmp_path, text):
    (tmp_path / "model.json").write_text(text)
    refused_by_all(tmp_path, r"model\.json: .*nothing was saved over it")
    assert (tmp_path / "model.json").read_text() == text


def test_an_empty_folder_and_missing_parents_are_welcome(tmp_path):
    for path in (tmp_path / "a" / "b" / "model", tmp_path / "a", tmp_path / "empty"):
        if path.name == "empty":
            path.mkdir()
            check_destination(path)
            save_model(str(path), SMALL)
            assert load_model(str(path)).kind == "LsiRanker"
        elif path.name == "model":
            check_destination(path)
            save_model(path, SMALL)
    refused_by_all(tmp_path / "a", "contains 'b' and no tacit model")


def test_other_files_in_a_model_folder_stay(tmp_path):
    save_model(tmp_path, SMALL)
    (tmp_path / "README.md").write_text("mine")
    save_model(tmp_path, Stored("Other", {}, {}))
    assert load_model(tmp_path).kind == "Other"
    assert (tmp_path / "README.md").read_text() == "mine"


def test_only_the_permitted_kinds_are_loaded(tmp_path):
    save_model(tmp_path, SMALL)
    for kinds in (["LsiRanker", "Searcher"], {"LsiRanker"}, "LsiRanker", None):
        assert load_model(tmp_path, kinds=kinds).kind == "LsiRanker"
    for kinds, named in ((["B", "A"], "want A or B"), ("Lsi", "want Lsi"), ("LsiRankers", "want LsiRankers")):
        with pytest.raises(StoreError, match=f"contains a model of class 'LsiRanker', {named}"):
            load_model(tmp_path, kinds=kinds)


def test_missing_parts_are_named(tmp_path):
    save_model(tmp_path / "m", SMALL)
    (tmp_path / "m" / "arrays.safetensors").unlink()
    with pytest.raises(StoreError, match=r"m/arrays\.safetensors: is missing"):
        load_model(tmp_path / "m")
    with pytest.raises(StoreError, match="nothing: there is no such model folder"):
        load_model(tmp_path / "nothing")
    (tmp_path / "half" / ".saving").mkdir(parents=True)
    with pytest.raises(StoreError, match="its first save was not finished"):
        load_model(tmp_path / "half")
    save_model(tmp_path / "half", SMALL)
    assert sorted(os.listdir(tmp_path / "half")) == ["arrays.safetensors", "model.json"]


@pytest.mark.parametrize("file", ["model.json", "arrays.safetensors"])
def test_links_pipes_and_folders_are_no_model_files(tmp_path, file):
    save_model(tmp_path / "m", SMALL)
    path, away = tmp_path / "m" / file, tmp_path / "away"
    os.replace(path, away)
    path.symlink_to(away)
    with pytest.raises(StoreError, match=f"{file}: is a symbolic link"):
        load_model(tmp_path / "m")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(StoreError, match=f"{file}: is not a plain file"):
        load_model(tmp_path / "m")
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreError, match=f"{file}: is not a plain file"):
        load_model(tmp_path / "m")


def test_a_link_to_a_model_folder_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    save_model(tmp_path / "link", SMALL)
    assert load_model(tmp_path / "link").kind == load_model(tmp_path / "real").kind
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="dangling: cannot be written: it is a link"):
        save_model(tmp_path / "dangling", SMALL)


def test_a_planted_stage_is_not_followed(tmp_path):
    save_model(tmp_path / "m", SMALL)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (tmp_path / "m" / ".saving").symlink_to(tmp_path / "mine")
    refused_by_all(tmp_path / "m", r"\.saving: was not created by a save")
    (tmp_path / "m" / ".saving").unlink()
    (tmp_path / "m" / ".saving").write_text("mine")
    refused_by_all(tmp_path / "m", r"\.saving: was not created by a save")
    assert os.listdir(tmp_path / "mine") == ["file"]


def test_permission_errors_are_told(tmp_path, monkeypatch):
    save_model(tmp_path / "m", SMALL)

    def deny(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", deny)
    with pytest.raises(StoreError, match="m: cannot be read: Permission denied"):
        load_model(tmp_path / "m")
    with pytest.raises(StoreError, match="m: cannot be written: Permission denied"):
        save_model(tmp_path / "m", SMALL)
    monkeypatch.undo()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    refused_by_all(tmp_path / "m", "m: cannot be written: no permission")
    refused_by_all(tmp_path / "new" / "n", "cannot be written: no permission")


def test_a_disk_that_is_full_is_told(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model_folder, "write_arrays", fail)
    with pytest.raises(StoreError, match=r"m: cannot be written: No space left on device"):
        save_model(tmp_path / "m", SMALL)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "a\nb/" + "x" * 5000])
def test_paths_that_are_none(path):
    refused_by_all(path, None)
    with pytest.raises((StoreError, UsageError)):
        load_model(path)
