"""Files to core types and back: collections, links, judgments, runs, clicks, LETOR lists; the embedded corpus.

Names are imported on first use, so that reading a run does not load the compiled LETOR scanner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.core.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.data.clicks import ClickLog, Session, read_click_log
    from tacit.data.collections import read_collection, read_queries, write_collection
    from tacit.data.edict import has_edict, read_edict
    from tacit.data.files import open_output, read_lines
    from tacit.data.letor.files import read_letor, write_letor
    from tacit.data.letor.folds import read_folds
    from tacit.data.links import read_links, read_pairs, write_links
    from tacit.data.preferences import Preferences, read_preferences, read_triples
    from tacit.data.pydocs.corpus import pydocs_versions, read_pydocs
    from tacit.data.staging import staged
    from tacit.data.training import judged_pairs, read_clicks
    from tacit.data.trec import check_known, check_run_ids, read_qrels, read_run, write_qrels, write_run

__getattr__, __dir__, __all__ = lazy_names(
    globals(),
    {
        "ClickLog": "clicks",
        "Preferences": "preferences",
        "Session": "clicks",
        "check_known": "trec",
        "check_run_ids": "trec",
        "has_edict": "edict",
        "judged_pairs": "training",
        "open_output": "files",
        "pydocs_versions": "pydocs.corpus",
        "read_click_log": "clicks",
        "read_clicks": "training",
        "read_collection": "collections",
        "read_edict": "edict",
        "read_folds": "letor.folds",
        "read_lines": "files",
        "read_links": "links",
        "read_letor": "letor.files",
        "read_pairs": "links",
        "read_preferences": "preferences",
        "read_pydocs": "pydocs.corpus",
        "read_qrels": "trec",
        "read_queries": "collections",
        "read_run": "trec",
        "read_triples": "preferences",
        "staged": "staging",
        "write_collection": "collections",
        "write_links": "links",
        "write_letor": "letor.files",
        "write_qrels": "trec",
        "write_run": "trec",
    },
)
