"""How far a program judge agrees with people: confusion matrix, kappa, and where it is too lenient or too strict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.core import Judgments, Run, TacitError
from tacit.judge.agreement import kappas_of_codes
from tacit.metrics.rankings import look_up_pairs, order_run

RANKS = ((1, 3), (4, 10), (11, 30), (31, None))
TOP = 10  # documents of a run that count as shown


@dataclass(frozen=True)
class Bias:
    """Mean of the program's grade minus people's, with its standard error, for a group of pairs."""

    group: str
    n_pairs: int
    mean: float
    standard_error: float | None


@dataclass(frozen=True)
class JudgeComparison:
    """Agreement of a program with people on the pairs that both judged.

    Parameters
    ----------
    judge, against : str
        Names.
    n_both, n_program, n_people : int
        Pairs judged by both, by the program, by people.
    same : float
        Share of equal grades.
    kappa, linear, quadratic : float or None
        Cohen's kappa: plain, with linear and with quadratic weights; None if undefined.
    program_grades, people_grades : list of float
        Rows and columns of the confusion matrix.
    confusion : list of list of int
        Number of pairs by the program's grade (row) and people's (column).
    bias : Bias
        On all pairs judged by both.
    by_rank, by_system, by_query : list of Bias
        On groups of pairs; queries with the largest bias first.
    """

    judge: str
    against: str
    n_both: int
    n_program: int
    n_people: int
    same: float
    kappa: float | None
    linear: float | None
    quadratic: float | None
    program_grades: list[float]
    people_grades: list[float]
    confusion: list[list[int]]
    bias: Bias
    by_rank: list[Bias]
    by_system: list[Bias]
    by_query: list[Bias]

    def to_json(self) -> dict[str, Any]:
        """Return all figures, and the shares of pairs judged by both."""
        shares = {"share_of_people": self.n_both / self.n_people, "share_of_program": self.n_both / self.n_program}
        return asdict(self) | shares


def compare_judges(
    judge: str,
    program: Judgments,
    against: str,
    people: Judgments,
    *,
    ranks: Mapping[tuple[str, str], int] | None = None,
    runs: Mapping[str, Run] | None = None,
) -> JudgeComparison:
    """Compare a program's grades with people's.

    Parameters
    ----------
    judge, against : str
        Names of the program and of the people.
    program, people : Judgments
        Their grades.
    ranks : mapping of (query, document) to int, default=None
        Rank of a pair in the results, for the bias by rank.
    runs : mapping of str to Run, default=None
        Systems; the bias by system is on the first 10 documents of each. A pair without a rank in `ranks` gets its best
        rank in the systems.
    """
    other = look_up_pairs(people, program)
    both = np.flatnonzero(~np.isnan(other))
    if not len(both):
        raise TacitError(f"{judge!r} and {against!r} judged no pair in common")
    a, b = other[both], people.grade[both]
    gap = a - b
    pairs = [
        (people.query_ids[q], people.doc_ids[d])
        for q, d in zip(people.query[both].tolist(), people.doc[both].tolist(), strict=True)
    ]
    levels, codes = np.unique(np.column_stack([a, b]), return_inverse=True)
    kappa, linear, quadratic = kappas_of_codes(codes.reshape(-1, 2), len(levels))
    rows, columns = np.unique(a), np.unique(b)
    by_query = _groups([query for query, _ in pairs], gap)
    orders = {name: _rank_of(run) for name, run in (runs or {}).items()}
    rank_names = [_rank_group(_best_rank(pair, ranks or {}, orders)) for pair in pairs]
    return JudgeComparison(
        judge=judge,
        against=against,
        n_both=len(both),
        n_program=len(program),
        n_people=len(people),
        same=float((a == b).mean()),
        kappa=kappa,
        linear=linear,
        quadratic=quadratic,
        program_grades=rows.tolist(),
        people_grades=columns.tolist(),
        confusion=[[int(((a == row) & (b == column)).sum()) for column in columns] for row in rows],
        bias=_bias("all", gap),
        by_rank=_groups(rank_names, gap, [_name(*ends) for ends in RANKS]),
        by_system=[bias for name, order in orders.items() for bias in _in_top(name, order, pairs, gap)],
        by_query=sorted(by_query, key=lambda bias: (-abs(bias.mean), bias.group)),
    )


def _bias(group: str, gap: np.ndarray) -> Bias:
    error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else None
    return Bias(group, len(gap), float(gap.mean()), error)


def _groups(names: list[str], gap: np.ndarray, order: list[str] | None = None) -> list[Bias]:
    """Return the bias of each group; groups without a name are left out."""
    number_of = {name: number for number, name in enumerate(dict.fromkeys(names))}
    group = np.array([number_of[name] for name in names], np.int64)
    rows = np.argsort(group, kind="stable")
    parts = np.split(gap[rows], np.cumsum(np.bincount(group))[:-1])
    return [_bias(name, parts[number_of[name]]) for name in order or number_of if name and name in number_of]


def _name(low: int, high: int | None) -> str:
    return f"{low}-{high}" if high else f"{low}+"


def _rank_group(rank: int | None) -> str:
    return "" if rank is None else next(_name(*ends) for ends in RANKS if rank <= (ends[1] or rank))


def _rank_of(run: Run) -> dict[tuple[str, str], int]:
    query, doc, rank = (column.tolist() for column in order_run(run))
    return {(run.query_ids[q], run.doc_ids[d]): r for q, d, r in zip(query, doc, rank, strict=True)}


def _best_rank(
    pair: tuple[str, str], ranks: Mapping[tuple[str, str], int], orders: Mapping[str, Mapping[tuple[str, str], int]]
) -> int | None:
    """Return the recorded rank of a pair, or else its best rank in the runs."""
    if pair in ranks:
        return ranks[pair]
    return min((order[pair] for order in orders.values() if pair in order), default=None)


def _in_top(
    name: str, rank_of: Mapping[tuple[str, str], int], pairs: list[tuple[str, str]], gap: np.ndarray
) -> list[Bias]:
    held = np.array([rank_of.get(pair, TOP + 1) <= TOP for pair in pairs])
    return [_bias(name, gap[held])] if held.any() else []
