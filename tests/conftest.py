"""What tests of several rooms share: where the real collections are."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real collections, or a skip with the reason."""
    folder = os.environ.get("TACIT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real collections: set TACIT_DATA to their folder")
    return Path(folder)
