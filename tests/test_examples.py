"""The scripts in `examples` run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.skipif("TACIT_DATA" not in os.environ, reason="TACIT_DATA is not set: no Cranfield collection")
def test_judging_learning_and_the_verdict():
    command = [sys.executable, str(EXAMPLES / "judge_and_learn.py"), "--queries", "24"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("judgments of 24 queries")
    assert lines[1].startswith("verdict: ")
    assert "unseen queries, nDCG@10" in lines[2]
