"""How much the rule for the weight of an encoder depends on the collections used to choose its constants.

    python benchmarks/encoder_weight.py --encoder FOLDER --also half,averages,lsi,random --keep DIR
    python benchmarks/encoder_rule.py DIR

For each collection, the constants of `tacit.retrieve.blend.vector_weight` are chosen on all others: the highest mean
gain of AP of the encoders over `blend` without vectors, among the settings with which no vectors lose more than .003 on
any of the others (if there are none, the smallest loss). The table has the gain on the collection that was left out,
with the chosen constants and with the default ones. AP between two measured weights is interpolated. `--held-out NAME`
also leaves an encoder out of the choice.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tacit.retrieve.blend import vector_weight
from tacit.retrieve.blend.vector_weight import ByItems, ByProbes, Evidence

USELESS = ("half", "averages", "lsi", "random", "rotated")
MOST_LOST = 0.003
Grid = dict[tuple[str, ...], list[tuple[float, ...]]]  # by names of constants: their values
GRIDS: dict[str, Grid] = {
    "probes": {
        ("MOST",): [(4.0,), (6.0,), (8.0,), (11.0,)],
        ("STEEPNESS",): [(4,), (6,), (8,)],
        ("NOISE", "RELIABLE"): [(0.25, 0.4), (0.35, 0.5), (0.45, 0.57)],
        ("KEPT_OF_TITLES",): [(0.95,), (0.97,), (1.0,)],
    },
    "arrays": {
        ("MOST_UNSEEN",): [(4.0,), (6.0,), (7.0,), (8.0,)],
        ("NOISE_UNSEEN", "RELIABLE_UNSEEN"): [(0.25, 0.4), (0.35, 0.5), (0.45, 0.57), (0.5, 0.65)],
        ("DULL", "SHARP"): [(0.35, 0.6), (0.42, 0.7), (0.5, 0.8)],
    },
}


class Measured:
    """One file of `encoder_weight.py --keep`."""

    def __init__(self, path: Path) -> None:
        self.corpus, self.vectors, self.kind = path.stem.split(",")
        found = np.load(path, allow_pickle=False)
        items = ByItems(*(float(found[f"items_{name}"]) for name in ByItems._fields))
        probes = None
        if self.kind == "probes":
            numbers = (float(found[f"probes_{name}"]) for name in ("rho", "r2"))
            probes = ByProbes(*numbers, found["probes_ranks"], found["probes_of_title"])
        self.evidence = Evidence(items, probes)
        self.weights, self.means = found["weights"], found["at_weights"].mean(axis=1)

    def gain(self) -> float:
        """Return the gain of AP over weight 0, with the present constants."""
        return float(np.interp(self.evidence.weight(), self.weights, self.means) - self.means[0])


def gains(measured: list[Measured], grid: Grid) -> tuple[list[Any], np.ndarray]:
    """Return all settings, and the gain of each row with each setting; the first setting is the default."""
    default = tuple(tuple(getattr(vector_weight, name) for name in names) for names in grid)
    settings = [default, *(found for found in itertools.product(*grid.values()) if found != default)]
    found = np.empty((len(settings), len(measured)))
    for number, setting in enumerate([*settings, default]):  # the default is restored at the end
        for names, values in zip(grid, setting, strict=True):
            for name, value in zip(names, values, strict=True):
                setattr(vector_weight, name, value)
        if number < len(settings):
            found[number] = [row.gain() for row in measured]
    return settings, found


def choose(found: np.ndarray, is_encoder: np.ndarray) -> int:
    """Return the number of the best setting."""
    lost = -found.min(axis=1)
    allowed = lost <= max(MOST_LOST, lost.min())
    return int(np.argmax(np.where(allowed, found[:, is_encoder].mean(axis=1), -np.inf)))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", default="", help="an encoder that the choice does not use")
    args = parser.parse_args(argv)
    everything = [Measured(path) for path in sorted(args.folder.glob("*.npz"))]
    for kind, grid in GRIDS.items():
        measured = [row for row in everything if row.kind == kind]
        if not measured:
            continue
        settings, found = gains(measured, grid)
        corpora = np.array([row.corpus for row in measured])
        is_encoder = np.array([row.vectors not in USELESS for row in measured])
        is_used = np.array([row.vectors != args.held_out for row in measured])
        names = [name for part in grid for name in part]
        print(f"\n{kind}: {len(settings)} settings of {', '.join(names)}\n")
        print("| left out | vectors | best in hindsight | default | chosen | constants |\n|" + " --- |" * 6)
        held: list[tuple[bool, float, float]] = []
        for corpus in dict.fromkeys(corpora):
            others = (corpora != corpus) & is_used
            best = choose(found[:, others], is_encoder[others])
            constants = ", ".join(f"{value:g}" for part in settings[best] for value in part)
            for place in np.flatnonzero(corpora == corpus):
                row, default, chosen = measured[place], found[0, place], found[best, place]
                most = row.means.max() - row.means[0]
                print(f"| {corpus} | {row.vectors} | {most:+.4f} | {default:+.4f} | {chosen:+.4f} | {constants} |")
                held.append((bool(is_encoder[place]), default, chosen))
        for label, wanted in (("encoders", True), ("vectors that know nothing new", False)):
            chosen = np.array([row[1:] for row in held if row[0] is wanted])
            if len(chosen):
                print(f"\n{label}: default {chosen[:, 0].mean():+.4f} (least {chosen[:, 0].min():+.4f}), ", end="")
                print(f"left out {chosen[:, 1].mean():+.4f} (least {chosen[:, 1].min():+.4f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
