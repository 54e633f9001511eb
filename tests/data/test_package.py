"""The room's door: every promised name is there, and asking for one loads no more than it needs."""

import subprocess
import sys

import pytest

import tacit.data


def test_every_name_is_there_once():
    assert tacit.data.__all__ == sorted(set(tacit.data.__all__))
    assert set(tacit.data.__all__) >= set(tacit.data._HOME_OF)
    for name in tacit.data.__all__:
        assert callable(getattr(tacit.data, name))
        assert name in dir(tacit.data)
    with pytest.raises(AttributeError, match="no attribute 'read_everything'"):
        tacit.data.read_everything  # noqa: B018


def test_reading_a_run_loads_no_compiler():
    program = "import sys; from tacit.data import read_run; assert 'numba' not in sys.modules, 'numba was loaded'"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
