"""Names of lazy packages: `dir` and tab completion show them before they are imported, and each can be imported."""

import rlcompleter
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tacit

SOURCE = Path(tacit.__file__).parent
LAZY = sorted(
    ".".join(["tacit", *stub.relative_to(SOURCE).parent.parts]).rstrip(".") for stub in SOURCE.rglob("__init__.pyi")
)


@pytest.mark.parametrize("name", LAZY)
def test_dir_shows_every_name_and_sub_package(name):
    package = import_module(name)
    found = dir(package)
    assert set(package.__all__) <= set(found)
    for public in package.__all__:
        assert getattr(package, public) is not None
    folders = [path.parent.name for path in Path(package.__file__).parent.glob("*/__init__.py")]
    assert set(folders) <= set(found)
    with pytest.raises(AttributeError, match="has no attribute 'nothing_of_this_name'"):
        package.nothing_of_this_name  # noqa: B018


def test_tab_completion():
    completer = rlcompleter.Completer({"tacit": tacit})
    assert completer.complete("tacit.rerank.Standing", 0).startswith("tacit.rerank.StandingRanker")
    assert completer.complete("tacit.Search", 0).startswith("tacit.Searcher")


def test_sub_packages_need_no_import_and_are_not_imported_before():
    code = (
        "import sys, tacit; dir(tacit); assert 'tacit.rerank' not in sys.modules;"
        "assert tacit.rerank.METHODS and tacit.integrations.__doc__"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
