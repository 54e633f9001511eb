"""The package: every exported name is there, and using one imports no more than it needs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tacit.data


def test_every_name_is_there_once():
    assert tacit.data.__all__ == sorted(set(tacit.data.__all__))
    assert {"read_letor", "read_collection", "read_qrels"} <= set(tacit.data.__all__)
    for name in tacit.data.__all__:
        assert callable(getattr(tacit.data, name))
        assert name in dir(tacit.data)
    with pytest.raises(AttributeError, match="no attribute 'read_everything'"):
        tacit.data.read_everything  # noqa: B018


def test_type_checkers_see_the_same_names():
    stub = ast.parse(Path(tacit.data.__file__).with_suffix(".pyi").read_text("utf-8"))
    lines = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert sorted(alias.asname for line in lines for alias in line.names) == tacit.data.__all__


def test_reading_a_run_loads_no_compiler():
    program = "import sys; from tacit.data import read_run; assert 'numba' not in sys.modules, 'numba was loaded'"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
