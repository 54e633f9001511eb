"""The names of `import tacit`: few, lazy, and those of the packages."""

import subprocess
import sys
from importlib import import_module

import tacit


def test_names_are_few_and_those_of_their_packages():
    assert 25 <= len(tacit.__all__) <= 35
    for name, home in tacit._HOMES.items():
        assert getattr(tacit, name) is getattr(import_module(f"tacit{home}"), name)
    assert set(tacit.__all__) <= set(dir(tacit))


def test_importing_tacit_imports_nothing_heavy():
    code = (
        "import sys, tacit; dir(tacit); print([m for m in ('numpy', 'scipy', 'numba', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_type_checkers_see_every_name():
    """What is imported under TYPE_CHECKING is what the lazy table offers."""
    import ast
    import inspect

    tree = ast.parse(inspect.getsource(tacit))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {(alias.name, node.module) for node in block.body for alias in node.names}
    assert seen == {(name, f"tacit{home}") for name, home in tacit._HOMES.items()}
