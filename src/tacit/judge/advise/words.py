"""The text of the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.judge.advise.verdict import NOISE, NOT_MEASURED, Gain, queries_needed

SMALLEST_GAIN = 0.02  # gain for which the number of queries needed is stated
SAME = 0.0005  # two gains that look equal when printed
LOOKS = "The intervals are valid at every look; p-values are for this sample only, and are not used for claims."


def recommended_in_words(system: str, baseline: str, measure: str, found: Gain) -> str:
    """Say which system to use."""
    gain = f"{measure} {_with_interval(found)} over {baseline}"
    if system == baseline:
        return f"Use {baseline}: no other system is better on average."
    if found.help:
        return f"Use {system}: {gain}."
    return f"No system is proven better than {baseline}: {system} has {gain}, but {found.reason}."


def alone_in_words(system: str, chosen: Sequence[str], gain: float, differences: np.ndarray) -> list[str]:
    """Give the gain of the recommended system alone, if folds chose others and the gain of choosing differs."""
    alone = float(differences.mean())
    if set(chosen) == {system} or abs(alone - gain) < SAME:
        return []
    return [f"This is the average gain when tacit picks a system in each fold; {system} alone has {alone:+.3f}."]


def added_in_words(what: str, measure: str, found: Gain) -> str:
    """Say what judgments or clicks add to the system without them."""
    if found == NOT_MEASURED:
        return f"The effect of your {what} is not known: {found.reason}."
    added = _with_interval(found)
    if found.help:
        return f"Learning helps: your {what} add {added}."
    if found.interval[1] < 0:
        return f"Do not learn from your {what}: they lower {measure}, {added}."
    if found.reason == NOISE:
        return f"Your {what} made no measurable difference: {added}."
    return f"Whether your {what} help is unclear: they add {added}, but {found.reason}."


def encoder_in_words(over_blend: Gain, over_fusion: Gain) -> str:
    """Say what an encoder adds to the blend, and the blend to reciprocal rank fusion of words and encoder."""
    start = "The encoder helps" if over_blend.help else "The encoder is not proven to help"
    if over_fusion == NOT_MEASURED:
        return f"{start}: it adds {_with_interval(over_blend)}."
    fusion = f"against reciprocal rank fusion of BM25 and the encoder the blend has {_with_interval(over_fusion)}"
    return f"{start}: it adds {_with_interval(over_blend)}; {fusion}."


def program_in_words(measure: str, found: Gain) -> str:
    """Say what a program's grades add to learning from people's grades alone."""
    if found == NOT_MEASURED:
        return f"The effect of the program's grades is not known: {found.reason}."
    added = _with_interval(found)
    if found.help:
        return f"The program's grades help: added to people's grades, they gain {added}."
    if found.interval[1] < 0:
        return f"Do not learn from the program's grades: they lower {measure}, {added}."
    return f"Whether the program's grades help is unclear: they add {added}, but {found.reason}."


def corrected_in_words(rows: list[dict[str, Any]], baseline: str, measure: str) -> str:
    """Give the gain by position-corrected clicks of the best system other than the baseline."""
    best = max(rows[1:], key=lambda row: float(row["metrics"][measure]))
    found = best["against_baseline"][measure]
    return f"Corrected for positions, {best['system']} has {_with_interval(Gain(False, **found))} over {baseline}."


def more_in_words(differences: np.ndarray) -> list[str]:
    """Say how many more queries would show a small gain; empty if there are enough."""
    needed = queries_needed(differences, SMALLEST_GAIN) - len(differences)
    return [f"About {needed} more would show a gain of {SMALLEST_GAIN:g}."] if needed > 0 else []


def left_out_in_words(names: Sequence[str]) -> list[str]:
    """Name the systems that were not measured."""
    if not names:
        return []
    listed = ", ".join(names)
    return [f"Left out for lack of time: {listed}. Use more minutes to measure them."]


def _with_interval(found: Gain) -> str:
    return f"{found.gain:+.3f} (95% interval {found.interval[0]:+.3f} to {found.interval[1]:+.3f})"
