"""Verdicts: the comparison of a new version with another one, as numbers and as text that names both versions.

Both are measured by cross-validation on the same judged queries. A verdict stores the values of every query, so that
versions can later be compared with the version that is live then (`scoreboard`). A stored verdict is read only if it is
complete.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError, model_validator

from tacit.app.web.interface.answers import Answer, Verdict
from tacit.judge.advise.advice import JUDGED, Advice
from tacit.judge.advise.report import to_html
from tacit.judge.advise.verdict import (
    FEWEST_QUERIES,
    P_CLAIM,
    Gain,
    cautious_interval,
    gain_of,
    guard_against_pool,
    judged_only,
    queries_needed,
)
from tacit.metrics.significance import holm
from tacit.store.stored import parse_json

MEASURE = "nDCG@10"
MEASURES = (MEASURE, "AP", judged_only(MEASURE), JUDGED)
SHOWN = (MEASURE, "AP", JUDGED)
SMALL_GAIN = 0.02  # gain that further judgments should be able to show
TIE = 1e-9
DIGITS = 6  # decimals of stored values

BETTER, WORSE, SAME = "better", "worse", "identical"
NOT_SHOWN, UNPROVEN = "no difference shown", "unproven"

Values = Mapping[str, np.ndarray]
Name = Annotated[str, Field(pattern="^[1-9][0-9]{0,8}$")]


def make_verdict(
    version: str,
    against: str,
    queries: Mapping[str, str],
    before: Values,
    after: Values,
    *,
    fingerprint: str,
    has_zeros: bool,
    identical: bool,
    program: str | None = None,
) -> dict[str, Any]:
    """Return the verdict on a new version.

    Parameters
    ----------
    version, against : str
        The new version, and the one to compare with.
    queries : mapping of str to str
        Texts of the judged queries by id, in the order of the values.
    before, after : mapping of str to ndarray
        Values of `MEASURES` on these queries, of the other version and of the new one.
    fingerprint : str
        `fingerprint_of` the judgments.
    has_zeros : bool
        Whether documents were judged not relevant.
    identical : bool
        Whether both versions return the same results.
    program : str, optional
        Name of the program whose grades were used, if no person's were.
    """
    found = compare_values(before, after, has_zeros=has_zeros, identical=identical)
    measured = {against: _rounded(before), version: _rounded(after)}
    return _described(version, against, found, len(queries), program) | {
        "measured": {name: means_of(values) for name, values in ((against, before), (version, after))},
        "has_zeros": has_zeros,
        "fingerprint": fingerprint,
        "by_query": {"ids": list(queries), "texts": list(queries.values()), "values": measured},
    }


def compare_values(before: Values, after: Values, *, has_zeros: bool, identical: bool = False) -> dict[str, Any]:
    """Return status, gain with interval and p, and the numbers of queries won, lost and tied.

    >>> values = {measure: np.full(12, 0.5) for measure in MEASURES}
    >>> found = compare_values(values, values, has_zeros=False)
    >>> found["status"], found["ties"], compare_values(values, values, has_zeros=False, identical=True)["status"]
    ('no difference shown', 12, 'identical')
    """
    gain = gain_of(before[MEASURE], after[MEASURE])
    if has_zeros:
        judged = judged_only(MEASURE)
        more_judged = float(after[JUDGED].mean() - before[JUDGED].mean())
        gain = guard_against_pool(gain, gain_of(before[judged], after[judged]), more_judged)
    if gain.help:
        gain = replace(gain, reason="")
    differences = after[MEASURE] - before[MEASURE]
    return {
        "status": SAME if identical else _status(gain, len(differences)),
        "gain": gain.gain,
        "interval": list(gain.interval),
        "p": gain.p,
        "reason": gain.reason,
        "wins": int((differences > TIE).sum()),
        "losses": int((differences < -TIE).sum()),
        "ties": int((np.abs(differences) <= TIE).sum()),
        "more_queries": max(0, queries_needed(differences, SMALL_GAIN) - len(differences)),
    }


def _status(gain: Gain, n_queries: int) -> str:
    if n_queries < FEWEST_QUERIES:
        return UNPROVEN
    if gain.help:
        return BETTER
    return WORSE if gain.interval[1] < 0 and gain.p < P_CLAIM else NOT_SHOWN


def _described(
    version: str, against: str, found: Mapping[str, Any], n_queries: int, program: str | None
) -> dict[str, Any]:
    """Return the result of `compare_values` with what was compared, and in words."""
    words = in_words(version, against, found, n_queries, program or "")
    return {"version": version, "against": against, "measure": MEASURE, **found, "queries": n_queries, **words}


def in_words(version: str, against: str, found: Mapping[str, Any], n_queries: int, program: str = "") -> dict[str, str]:
    """Return the verdict as `headline`, what to do as `advice`, and both with the numbers as `text`."""
    low, high = found["interval"]
    gain = f"{MEASURE} {found['gain']:+.3f} (95% interval {low:+.3f} to {high:+.3f}, {n_queries} judged queries)"
    advice = f"Keep version {against}."
    if found["status"] == SAME:
        headline = "Training changed nothing"
        gain = f"version {version} returns the same results as version {against} for all queries"
    elif found["status"] == BETTER:
        headline, advice = f"Version {version} is better than version {against}", f"Make version {version} live."
    elif found["status"] == WORSE:
        headline = f"Version {version} is worse than version {against}"
    elif found["status"] == UNPROVEN:
        few = f"Too few judged queries ({n_queries}; at least {FEWEST_QUERIES} needed)"
        headline, advice = f"{few} to compare version {version} with version {against}", f"{advice} Judge more queries."
    else:
        headline = f"No difference shown between version {version} and version {against}"
        gain += f"; {found['reason']}"
        if found["more_queries"]:
            advice += f" About {found['more_queries']} more judged queries would show a gain of {SMALL_GAIN:g}."
    if program:
        advice += f" All grades are by the program {program!r}; no person has checked them."
    return {"headline": headline, "advice": advice, "text": f"{headline}: {gain}. {advice}"}


def means_of(values: Values) -> dict[str, dict[str, Any]]:
    """Return means of the displayed measures, with 95% intervals."""
    found = {}
    for measure in SHOWN:
        low, high = cautious_interval(values[measure])
        found[measure] = {"mean": float(values[measure].mean()), "interval": [max(0.0, low), high]}
    return found


def fingerprint_of(judgments: Mapping[str, Mapping[str, float]]) -> str:
    """Return a text that is equal for equal judgments, in any order.

    >>> fingerprint_of({"q": {"a": 1, "b": 0}}) == fingerprint_of({"q": {"b": 0.0, "a": 1.0}})
    True
    """
    rows = sorted((query, doc, float(grade)) for query, found in judgments.items() for doc, grade in found.items())
    return hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def scoreboard(versions: Sequence[str], live: str, verdicts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each version: its measures, and its comparison with the live one.

    Two versions are compared on the last judgments that both were measured on. Versions never measured on the same
    judgments are unproven.
    """
    rows = []
    for name in versions:
        row: dict[str, Any] = {"version": name, "measures": {}, "queries": 0, "comparison": None}
        mine = _latest(name, verdicts)
        if mine is not None:
            row |= {"measures": mine["measured"][name], "queries": mine["queries"]}
        if name == live:
            row["status"] = "live"
        else:
            row["comparison"] = against_live(name, live, verdicts)
            row["status"] = row["comparison"]["status"] if row["comparison"] else UNPROVEN
        rows.append(row)
    return rows


def against_live(name: str, live: str, verdicts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Compare a version with the live one on the last judgments that both were measured on; None without any."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for verdict in sorted(verdicts.values(), key=lambda verdict: int(verdict["version"])):
        for version in (verdict["against"], verdict["version"]):
            found.setdefault(verdict["fingerprint"], {})[version] = verdict
    both = [known for known in found.values() if name in known and live in known]
    if not both:
        return None
    mine, other = both[-1][name], both[-1][live]
    before, after = ({m: np.array(v) for m, v in of["by_query"]["values"][which].items()} for of, which in
                     ((other, live), (mine, name)))  # fmt: skip
    same = any(v["status"] == SAME and {v["version"], v["against"]} == {name, live} for v in verdicts.values())
    compared = compare_values(before, after, has_zeros=bool(mine["has_zeros"]), identical=same)
    order = np.argsort(after[MEASURE] - before[MEASURE], kind="stable").tolist()
    ids, texts = mine["by_query"]["ids"], mine["by_query"]["texts"]
    return _described(name, live, compared, len(ids), mine.get("used", {}).get("program")) | {
        "by_query": [
            {"id": ids[i], "text": texts[i], "before": float(before[MEASURE][i]), "after": float(after[MEASURE][i])}
            for i in order
        ],
    }


def scores_of(verdicts: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return values of the measure by query and version, oldest version first, each as last measured."""
    found: dict[str, dict[str, float]] = {}
    for verdict in sorted(verdicts.values(), key=lambda verdict: int(verdict["version"])):
        by_query = verdict["by_query"]
        for version, values in by_query["values"].items():
            for query, value in zip(by_query["ids"], values[MEASURE], strict=True):
                found.setdefault(query, {})[version] = value
    return {
        query: [{"version": version, "value": values[version]} for version in sorted(values, key=int)]
        for query, values in found.items()
    }


def report(verdict: Mapping[str, Any]) -> str:
    """Return the verdict as the HTML report of `tacit advise`."""
    version, against = verdict["version"], verdict["against"]
    names = {against: f"version {against}", version: f"version {version}"}
    values = {n: {m: np.array(v) for m, v in verdict["by_query"]["values"][n].items()} for n in names}
    rows: list[dict[str, Any]] = [
        {"system": names[n], "metrics": {m: float(v.mean()) for m, v in values[n].items()}} for n in names
    ]
    gains = {m: gain_of(values[against][m], values[version][m]) for m in MEASURES if m != JUDGED}
    rows[1]["against_baseline"] = {m: g.to_json() for m, g in gains.items()}
    gain = replace(gains[MEASURE], help=verdict["status"] == BETTER)
    advice = Advice(
        names[version], MEASURE, names[against], gain, gain, verdict["queries"], rows, verdict["curve"], verdict["text"]
    )
    found = against_live(version, against, {version: verdict})
    return to_html(advice, f"Version {version} against version {against}", [] if found is None else [_by_query(found)])


def board_report(versions: Sequence[str], live: str, verdicts: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return all measured versions against the live one, as the HTML report; None if none was compared."""
    board = [row for row in scoreboard(versions, live, verdicts) if row["measures"]]
    compared = [row for row in board if row["comparison"]]
    if not compared:
        return None
    corrected = holm([row["comparison"]["p"] for row in compared]).tolist()
    p_of = dict(zip([row["version"] for row in compared], corrected, strict=True))
    newest = compared[-1]["comparison"]
    gain = Gain(newest["status"] == BETTER, newest["gain"], tuple(newest["interval"]), newest["p"], newest["reason"])
    curve = (_latest(newest["version"], verdicts) or {}).get("curve", [])
    advice = Advice(
        system=f"version {newest['version']}",
        measure=MEASURE,
        baseline=f"version {live}",
        recommended=gain,
        labels=gain,
        queries=newest["queries"],
        rows=[_report_row(row, live, p_of.get(row["version"])) for row in board],
        curve=curve,
        text=" ".join(row["comparison"]["text"] for row in compared),
        note="Each version has the values of its last measurement; two versions are compared on the same judgments.",
    )
    tables = [_by_query(row["comparison"]) for row in reversed(compared)]
    return to_html(advice, f"All versions against version {live}", tables)


def _by_query(comparison: Mapping[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Return the values of every query as a table, the largest gain first."""
    names = [f"version {comparison[which]}" for which in ("against", "version")]
    rows = [
        [
            one["text"] or one["id"],
            f"{one['before']:.3f}",
            f"{one['after']:.3f}",
            f"{one['after'] - one['before']:+.3f}",
        ]
        for one in reversed(comparison["by_query"])
    ]
    return f"{comparison['measure']} by query: {names[1]} against {names[0]}", ["query", *names, "difference"], rows


def _report_row(row: Mapping[str, Any], live: str, p: float | None) -> dict[str, Any]:
    """Return a row of the scoreboard as a row of an advice; p is corrected over the versions, None for the live one."""
    name = f"version {row['version']}" + (" (live)" if row["version"] == live else "")
    found = {"system": name, "metrics": {measure: value["mean"] for measure, value in row["measures"].items()}}
    if p is None:
        return found
    return found | {"against_baseline": {MEASURE: {k: row["comparison"][k] for k in ("gain", "interval")} | {"p": p}}}


def _latest(name: str, verdicts: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the last verdict that measured a version."""
    found = [verdict for verdict in verdicts.values() if name in verdict["measured"]]
    return max(found, key=lambda verdict: int(verdict["version"])) if found else None


def _rounded(values: Values) -> dict[str, list[float]]:
    return {measure: [round(float(value), DIGITS) for value in found] for measure, found in values.items()}


class ByQuery(Answer):
    """Values of the measures by version, in the order of the queries."""

    ids: list[str] = Field(min_length=1)
    texts: list[str]
    values: dict[Name, dict[str, list[Annotated[float, Field(ge=0, le=1)]]]]


class StoredVerdict(Verdict):
    """A verdict with the values of every query."""

    version: Name
    against: Name
    by_query: ByQuery

    @model_validator(mode="after")
    def _is_whole(self) -> StoredVerdict:
        found, n = self.by_query, len(self.by_query.ids)
        for name in (self.version, self.against):
            assert {*SHOWN} <= {*self.measured.get(name, {})}
            assert {*MEASURES} <= {*found.values.get(name, {})}
        assert {len(found.texts), *(len(v) for by_measure in found.values.values() for v in by_measure.values())} == {n}
        assert all(MEASURES[0] in by_measure for by_measure in found.values.values())
        return self


def read_verdict(data: bytes) -> dict[str, Any] | None:
    """Return the verdict in a file; None if it is damaged."""
    try:
        found: dict[str, Any] = parse_json(data)
        StoredVerdict.model_validate_json(data, strict=True)
    except (ValueError, ValidationError):
        return None
    return found
