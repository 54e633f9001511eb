"""The command line called in this process."""

import pytest

from tacit.app.main import main


@pytest.fixture
def tacit(capfd):
    """tacit(*words) runs a command and gives its exit code, what it wrote to stdout, and to stderr."""

    def call(*words):
        code = main([str(word) for word in words])
        out, err = capfd.readouterr()
        return code, out, err

    return call
