"""Judgments: the store that keeps them, exchange with other tools, agreement of judges, what to judge next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.core.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.judge.agreement import disagreements as disagreements
    from tacit.judge.agreement import kappas as kappas
    from tacit.judge.agreement import krippendorff_alpha as krippendorff_alpha
    from tacit.judge.choose import choose_pairs as choose_pairs
    from tacit.judge.exchange import import_judgments as import_judgments
    from tacit.judge.exchange import read_csv as read_csv
    from tacit.judge.exchange import write_csv as write_csv
    from tacit.judge.merge import MERGES as MERGES
    from tacit.judge.merge import choose_judges as choose_judges
    from tacit.judge.merge import merged_judgments as merged_judgments
    from tacit.judge.merge import read_judgments as read_judgments
    from tacit.judge.next import judged_pairs as judged_pairs
    from tacit.judge.next import what_to_judge as what_to_judge
    from tacit.judge.pool import Pool as Pool
    from tacit.judge.pool import Suggestion as Suggestion
    from tacit.judge.records import Judgment as Judgment
    from tacit.judge.records import typed_query_id as typed_query_id
    from tacit.judge.sampling import draw_sample as draw_sample
    from tacit.judge.store import Judge as Judge
    from tacit.judge.store import JudgmentStore as JudgmentStore

_HOMES = {
    "MERGES": "merge",
    "Judge": "store",
    "Judgment": "records",
    "JudgmentStore": "store",
    "Pool": "pool",
    "Suggestion": "pool",
    "choose_judges": "merge",
    "choose_pairs": "choose",
    "disagreements": "agreement",
    "draw_sample": "sampling",
    "import_judgments": "exchange",
    "judged_pairs": "next",
    "kappas": "agreement",
    "krippendorff_alpha": "agreement",
    "merged_judgments": "merge",
    "read_csv": "exchange",
    "read_judgments": "merge",
    "typed_query_id": "records",
    "what_to_judge": "next",
    "write_csv": "exchange",
}

__getattr__, __dir__, __all__ = lazy_names(globals(), _HOMES)
