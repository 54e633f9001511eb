"""What tests of several packages share: where the real collections are, and which files begin."""

import os
from pathlib import Path

import pytest

LONG_FILES = {
    "test_compiled_and_cached.py",
    "test_page.py",
    "test_blend.py",
    "test_contract.py",
    "test_changes.py",
    "test_examples.py",
}


def pytest_collection_modifyitems(items):
    """Run the longest files first, so that no process is left alone with one of them at the end."""
    items.sort(key=lambda item: item.path.name not in LONG_FILES)


@pytest.fixture(autouse=True, scope="session")
def quick_sync():
    """Do not wait for the disk: only a power cut could tell, and many saves would take minutes on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real collections, or a skip with the reason."""
    folder = os.environ.get("TACIT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real collections: set TACIT_DATA to their folder")
    return Path(folder)
