"""`tacit warm`: compile numerical code in advance, so that the first fit and the first search do not wait

Numba compiles the loops for this machine on first use, which takes up to half a minute, and caches them for later
processes. Run this command once after an install or an update, for example when you build a container.
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
