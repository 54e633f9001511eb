"""Files to core types and back; the embedded corpus.

Names are loaded when they are first used: whoever reads a run waits for no compiled LETOR scanner.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.clicks import ClickLog, Session, read_click_log
    from tacit.data.collections import read_collection, read_queries, write_collection
    from tacit.data.edict import has_edict, read_edict
    from tacit.data.files import open_output, read_lines
    from tacit.data.ids import document_names
    from tacit.data.letor.files import read_lists, write_lists
    from tacit.data.letor.folds import read_folds
    from tacit.data.links import read_links, read_pairs, write_links
    from tacit.data.preferences import Preferences, read_preferences, read_triples
    from tacit.data.pydocs.corpus import pydocs_versions, read_pydocs
    from tacit.data.training import judged_pairs, read_clicks
    from tacit.data.trec import check_known, judgments_of_lists, read_qrels, read_run, write_qrels, write_run

__all__ = [
    "ClickLog",
    "Preferences",
    "Session",
    "check_known",
    "document_names",
    "has_edict",
    "judged_pairs",
    "judgments_of_lists",
    "open_output",
    "pydocs_versions",
    "read_click_log",
    "read_clicks",
    "read_collection",
    "read_edict",
    "read_folds",
    "read_lines",
    "read_links",
    "read_lists",
    "read_pairs",
    "read_preferences",
    "read_pydocs",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_triples",
    "write_collection",
    "write_links",
    "write_lists",
    "write_qrels",
    "write_run",
]

_HOME_OF = {
    "ClickLog": "clicks",
    "Preferences": "preferences",
    "Session": "clicks",
    "check_known": "trec",
    "document_names": "ids",
    "has_edict": "edict",
    "judged_pairs": "training",
    "judgments_of_lists": "trec",
    "open_output": "files",
    "pydocs_versions": "pydocs.corpus",
    "read_click_log": "clicks",
    "read_clicks": "training",
    "read_collection": "collections",
    "read_edict": "edict",
    "read_folds": "letor.folds",
    "read_lines": "files",
    "read_links": "links",
    "read_lists": "letor.files",
    "read_pairs": "links",
    "read_preferences": "preferences",
    "read_pydocs": "pydocs.corpus",
    "read_qrels": "trec",
    "read_queries": "collections",
    "read_run": "trec",
    "read_triples": "preferences",
    "write_collection": "collections",
    "write_links": "links",
    "write_lists": "letor.files",
    "write_qrels": "trec",
    "write_run": "trec",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value  # so that this function is asked once for each name
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
