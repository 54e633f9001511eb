"""`tacit warm`: compile the loops ahead, so that the first fit and the first search do not wait

Loops are compiled for this machine when they are first used, which takes up to half a minute, and are kept for later
processes. Run it once after an install or an update, for example when a container is built.
"""

from __future__ import annotations

import argparse
import time
from typing import TextIO

EXAMPLES = "example:\n  tacit warm"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Fit and search small models."""
    from tacit.search.warming import warm

    start = time.perf_counter()
    warm()
    out.write(f"the compiled loops are ready ({time.perf_counter() - start:.1f} s)\n")
    return 0
