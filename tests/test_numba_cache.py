"""An install that cannot be written, and a user without a home: compiled code goes to a private temporary folder."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import tacit
from tacit import numba_cache

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import tacit
assert tacit.__file__.startswith(sys.argv[1]), tacit.__file__
from tacit.data import read_letor
from tacit.kernels.topk import top_k_rows
print(read_letor(sys.argv[2]).X.tolist())
"""


def may_run_unprivileged(folder):
    """Whether we are root, can start Python as nobody, and nobody then has no rights of root."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        return False
    asked = "import os, sys, numba; sys.exit(os.access(sys.argv[1], os.W_OK))"
    try:
        done = subprocess.run([*NOBODY, sys.executable, "-c", asked, folder], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


@pytest.fixture
def shared_folder():
    """A folder that every user may enter, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_read_only_install_without_a_home(shared_folder):
    tmp_path, install = shared_folder, shared_folder / "install"
    shutil.copytree(Path(tacit.__file__).parent, install / "tacit", ignore=shutil.ignore_patterns("__pycache__"))
    if not may_run_unprivileged(install):
        pytest.skip("needs root, setpriv and a Python that other users may start")
    (tmp_path / "lists.txt").write_text("1 qid:1 1:0.5\n")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)
    settings = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": str(temporary)}
    for _ in range(2):
        done = subprocess.run(
            [*NOBODY, sys.executable, "-c", PROGRAM, str(install), str(tmp_path / "lists.txt")],
            env=settings, capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "[[0.5]]\n"), done.stderr
        assert done.stderr.startswith(f"compiled code is cached in {temporary}/tacit-numba-65534, because neither ")
        assert done.stderr.count("\n") == 1
    assert [path.name for path in temporary.iterdir()] == ["tacit-numba-65534"]
    assert any(temporary.rglob("*.nbc"))


def test_the_folder_is_private_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first = numba_cache.private_folder()
    assert numba_cache.private_folder() == first
    assert stat.S_IMODE(os.stat(first).st_mode) == 0o700
    os.chmod(first, 0o777)  # others may have written into it
    other = numba_cache.private_folder()
    assert other != first
    assert stat.S_IMODE(os.stat(other).st_mode) == 0o700


def test_a_link_in_its_place_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / f"tacit-numba-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    assert os.path.realpath(numba_cache.private_folder()) != str(tmp_path / "elsewhere")


@pytest.mark.parametrize(("writable", "chosen"), [("beside", False), ("user", False), ("", True)])
def test_numba_is_left_alone_where_it_can_write(tmp_path, monkeypatch, caplog, writable, chosen):
    import numba

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    kind = {"__pycache__": "beside"}
    monkeypatch.setattr(numba_cache, "can_write", lambda folder: kind.get(folder.name, "user") == writable)
    numba_cache.ensure_cache(__file__)
    assert (numba_cache.private_folder() == numba.config.CACHE_DIR) == chosen
    assert len(caplog.messages) == chosen
    os.environ.pop("NUMBA_CACHE_DIR", None)
