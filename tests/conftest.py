"""What tests of several packages share: where the real collections are, which files begin, and which are slow."""

import gc
import os
from contextlib import suppress
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
LONG_FILES = {
    "test_compiled_and_cached.py",
    "test_page.py",
    "test_ranker.py",
    "test_contract.py",
    "test_changes.py",
    "test_docs.py",
    "test_examples.py",
    "test_real_collections.py",
}
# Files and folders that `--quick` leaves out: they start a browser or other processes, compile from scratch, train for
# long, attack, or run every method or page. Tests on real collections are skipped by `--quick`, too.
SLOW = {
    "app/test_add_remove.py",
    "app/test_assist.py",
    "app/test_checkpoint.py",
    "app/test_outputs.py",
    "app/web/test_any_request.py",
    "app/web/test_limits.py",
    "app/web/test_page.py",
    "app/web/test_server.py",
    "app/web/test_training.py",
    "app/web/test_workspace.py",
    "data/letor/test_files.py",
    "data/pydocs",
    "data/test_attacks.py",
    "distributed",
    "experiments",
    "integrations",
    "judge/advise",
    "judge/test_columns.py",
    "judge/test_repair.py",
    "metrics/test_significance.py",
    "rerank/test_contract.py",
    "rerank/test_estimator_checks.py",
    "rerank/test_limits.py",
    "retrieve/blend/test_examples.py",
    "retrieve/blend/test_residual.py",
    "retrieve/margin/test_open_training.py",
    "retrieve/test_checkpoint.py",
    "search/test_changes.py",
    "search/test_two_stage.py",
    "store/test_kill.py",
    "test_compiled_and_cached.py",
    "test_contract.py",
    "test_docs.py",
    "test_examples.py",
    "test_hostile_models.py",
    "test_numba_cache.py",
    "test_plugins.py",
    "test_readme.py",
    "test_release.py",
    "test_saved_models.py",
    "test_shell_examples.py",
}


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out slow files and real collections (conftest.py)")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: left out by --quick, as are the files of SLOW in conftest.py")
    if config.getoption("--quick"):
        os.environ.pop("TACIT_DATA", None)


def pytest_ignore_collect(collection_path, config):
    """Slow files are not even imported by `--quick`."""
    if config.getoption("--quick") and collection_path.is_relative_to(TESTS):
        return collection_path.relative_to(TESTS).as_posix() in SLOW or None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A file of tests that cannot be imported is an error; the collector of doctests would leave it out in silence."""
    report = yield
    if report.skipped and collector.path.name.startswith("test_") and "unable to import" in str(report.longrepr):
        report.outcome, report.longrepr = "failed", f"{collector.path} cannot be imported"
    return report


def pytest_collection_modifyitems(config, items):
    """Leave out slow tests where asked; run the longest files first, so that no process ends with one of them."""
    if config.getoption("--quick"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    items.sort(key=lambda item: item.path.name not in LONG_FILES)


def pytest_collection_finish():
    """Thousands of tests and their modules stay to the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


with suppress(ImportError):  # not every environment of CI has it
    from hypothesis import HealthCheck, settings

    # On a busy machine a process may wait for seconds, which says nothing about the strategies.
    settings.register_profile("tacit", suppress_health_check=[HealthCheck.too_slow], deadline=None)
    settings.load_profile("tacit")


@pytest.fixture(autouse=True, scope="session")
def quick_sync():
    """Do not wait for the disk: only a power cut could tell, and many saves would take minutes on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr("tacit.judge.database.SYNCHRONOUS", "OFF")
        yield


@pytest.fixture(autouse=True, scope="session")
def one_core():
    """One thread where a test asks for no number of them: the machine is shared by two processes of tests, and handing
    a step on few rows to a second thread costs more than the step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda process: {0})
        yield


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real collections, or a skip with the reason."""
    folder = os.environ.get("TACIT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real collections: set TACIT_DATA to their folder")
    return Path(folder)
