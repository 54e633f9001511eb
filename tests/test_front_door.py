"""The names of `import tacit`: few, lazy, and those of the packages."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tacit

SOURCE = Path(tacit.__file__).parent
LAZY = sorted(".".join(("tacit", *stub.parent.relative_to(SOURCE).parts)) for stub in SOURCE.rglob("__init__.pyi"))


def test_names_are_few_and_those_of_their_packages():
    assert 25 <= len(tacit.__all__) <= 35
    assert set(tacit.__all__) <= set(dir(tacit))


def test_importing_tacit_imports_nothing_heavy():
    code = (
        "import sys, tacit; dir(tacit); print([m for m in ('numpy', 'scipy', 'numba', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", LAZY)
def test_type_checkers_see_every_name(package):
    """The stub that type checkers read lists the names that the package offers."""
    module = import_module(package)
    stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    listed = {alias.name: node.module for node in imports for alias in node.names}
    assert sorted(listed) == module.__all__
    for name, home in listed.items():
        assert getattr(module, name) is getattr(import_module(home), name)
