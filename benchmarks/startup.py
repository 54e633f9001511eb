"""Time of `tacit --help` against `python -c "import numpy"`: the best of ten runs each, alternating.

python benchmarks/startup.py
"""

import subprocess
import sys
import time


def seconds(words: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


commands = {
    "import numpy": [sys.executable, "-c", "import numpy"],
    "tacit --help": [sys.executable, "-m", "tacit", "--help"],
}
best = {name: min(seconds(words) for _ in range(10)) for name, words in commands.items()}
for name, value in best.items():
    print(f"{name:<14} {1000 * value:6.0f} ms")
print(f"ratio          {best['tacit --help'] / best['import numpy']:6.2f}  (wanted: at most 3)")
