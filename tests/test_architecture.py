"""ARCHITECTURE.md and CONTRIBUTING.md name files and functions that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tacit"
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
SUFFIXES = "py|pyi|md|toml|txt|yml"
PATH = re.compile(rf"(?:[\w.-]+/)+(?:[\w.-]+)?|[\w.-]+\.(?:{SUFFIXES})")
PLACE = re.compile(r"((?:[\w-]+/)*[\w-]+\.py):([\w.]+)")
WALKS = ("Fit", "Search", "Rank", "Judge → train → switch", "Advise", "Fit on a cluster")


def quoted(page):
    """What stands in backquotes, outside of blocks of code."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL))


def find_path(name):
    """The file or folder of that name, below the source or below the root, or None."""
    return next((folder / name for folder in (SOURCE, ROOT) if (folder / name).exists()), None)


def defines(file, name):
    """Whether a file has the function or class `name`, or the method `Class.method`."""
    body = ast.parse(file.read_text("utf-8")).body
    for part in name.split("."):
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        found = next((node for node in body if isinstance(node, kinds) and node.name == part), None)
        if found is None:
            return False
        body = found.body
    return True


def problems(page):
    """Names of a page that lead nowhere."""
    missing = []
    for text in quoted(page):
        place = PLACE.fullmatch(text)
        if place:
            file = find_path(place[1])
            if file is None or not defines(file, place[2]):
                missing.append(text)
        elif PATH.fullmatch(text) and find_path(text) is None:
            missing.append(text)
    return missing


@pytest.mark.parametrize("name", PAGES)
def test_every_path_and_function_exists(name):
    page = (ROOT / name).read_text("utf-8")
    assert problems(page) == []
    assert len([text for text in quoted(page) if PATH.fullmatch(text) or PLACE.fullmatch(text)]) > 30


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_promised(name):
    assert "to come" not in (ROOT / name).read_text("utf-8")


def test_every_walk_is_a_list_of_functions():
    sections = dict(re.findall(r"^## ([^:\n]+):?[^\n]*\n(.*?)(?=^## |\Z)", read("ARCHITECTURE.md"), re.M | re.S))
    for walk in WALKS:
        assert len([text for text in quoted(sections[walk]) if PLACE.fullmatch(text)]) >= 5, walk


def test_every_package_has_a_row_on_both_pages():
    packages = {folder.parent.name for folder in SOURCE.glob("*/__init__.py")}
    assert [name for name in packages if f"`{name}/`" not in read("ARCHITECTURE.md")] == []
    assert [name for name in packages if f"| `{name}` |" not in read("CONTRIBUTING.md")] == []


def test_names_that_lead_nowhere_are_found():
    page = "`core/nothing.py` `core/links.py:Links` `core/links.py:Chains` `core/lists.py:Lists.nothing` `no/` `f(x)`"
    wrong = ["core/nothing.py", "core/links.py:Chains", "core/lists.py:Lists.nothing", "no/"]
    assert problems(page) == wrong


def read(name):
    return (ROOT / name).read_text("utf-8")
