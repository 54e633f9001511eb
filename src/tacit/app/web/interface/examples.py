"""Examples by the name of their model: requests (`bodies`) and responses (`answers`); tests check them."""

from __future__ import annotations

from typing import Any

_DOCUMENT = "sklearn.impute.SimpleImputer"
_TITLE = "sklearn.impute.SimpleImputer: Univariate imputer for completing missing values with simple strategies."
_TERM = {"kind": "word", "member": "", "heading": "Words"}
_SNIPPET = "fill_value is used to replace all occurrences of missing_values."
_TIME = "2026-11-18T10:15:00+00:00"
_PERSON = {"name": "ann", "kind": "person", "n_judgments": 155}
_MEANS = [
    {
        "nDCG@10": {"mean": value, "interval": [value - 0.06, value + 0.06]},
        "AP": {"mean": value - 0.07, "interval": [value - 0.12, value - 0.02]},
        "Judged@10": {"mean": value - 0.15, "interval": [value - 0.19, value - 0.11]},
    }
    for value in (0.371, 0.446)
]
_COMPARED = {
    "version": "2", "against": "1", "measure": "nDCG@10", "status": "better", "gain": 0.075,
    "interval": [0.043, 0.106], "p": 0.0001, "reason": "", "wins": 47, "losses": 15, "ties": 18, "more_queries": 0,
    "queries": 80, "headline": "Version 2 is better than version 1", "advice": "Make version 2 live.",
    "text": "Version 2 is better than version 1: nDCG@10 +0.075 (95% interval +0.043 to +0.106, 80 judged queries). "
    "Make version 2 live.",
}  # fmt: skip
_USED = {"judgments": 488, "judged": 82, "queries": 80, "left_out": {"have no document of grade 1 or more": 2}}
_VERDICT = _COMPARED | {
    "measured": {"1": _MEANS[0], "2": _MEANS[1]}, "has_zeros": False,
    "fingerprint": "5f0c6d0c9a1b4e7f8d3a2b1c0e9f8a7b",
    "curve": [
        {"queries": 0, "mean": 0.43, "interval": [0.37, 0.49]},
        {"queries": 64, "mean": 0.446, "interval": [0.385, 0.507]},
    ],
    "used": _USED, "method": "blend", "time": _TIME,
}  # fmt: skip
_QUERY = {"id": "q1", "text": "fill in missing values"}

REQUESTS: dict[str, Any] = {
    "SearchBody": {"query": "fill in missing values", "k": 5, "filter": 'library = "sklearn"', "facets": ["library"]},
    "FeedbackBody": {"query": "fill in missing values", "liked": [_DOCUMENT]},
    "JudgmentBody": {"query": "fill in missing values", "document": _DOCUMENT, "grade": 3, "judge": "ann"},
    "WithdrawalBody": {"query": "fill in missing values", "document": _DOCUMENT, "judge": "ann"},
    "ContentBody": {"title": _TITLE, "text": _SNIPPET, "fields": {"library": "sklearn"}},
    "DocumentBody": {"id": _DOCUMENT, "title": _TITLE, "text": _SNIPPET, "fields": {"library": "sklearn"}},
    "QueryBody": {"text": "fill in missing values", "topic": "cleaning"},
    "QueryChangeBody": {"topic": "cleaning"},
    "GuidelinesBody": {"text": "3: answers the query alone. 0: anything else."},
    "ImportBody": {"text": f"query,document,grade\nfill in missing values,{_DOCUMENT},3", "preview": True},
    "RankBody": {"features": [[0.3, 1.5], [0.7, None]], "documents": ["a", "b"]},
    "TrainBody": {"judge": "ann"},
    "SwitchBody": {"version": "2"},
}

EXAMPLES: dict[str, Any] = {
    "SearchAnswer": {
        "model": "1", "query": "fill in missing values",
        "hits": [{
            "rank": 1, "id": _DOCUMENT, "score": 6.659, "title": _TITLE, "title_matches": [[63, 70], [71, 77]],
            "snippet": _SNIPPET, "matches": [[0, 4], [5, 10]], "fields": {"library": "sklearn"},
        }],
        "total": 312, "facets": {"library": [{"value": "sklearn", "count": 120}]},
    },
    "SuggestAnswer": {"query": "fill", "suggestions": ["fill in missing values"]},
    "Explanation": {
        "model": "1", "query": "fill in missing values", "id": _DOCUMENT, "other": None, "total": 6.659,
        "terms": [
            _TERM | {"query_word": "missing", "document_word": "missing", "value": 3.393},
            _TERM | {"query_word": "fill", "document_word": "fill", "value": 3.266},
        ],
    },
    "DocumentAnswer": {"id": _DOCUMENT, "title": _TITLE, "text": _SNIPPET, "fields": {"library": "sklearn"}},
    "DocumentsChanged": {"added": 2, "replaced": 0, "documents": 4990},
    "DocumentPut": {"id": _DOCUMENT, "added": 0, "replaced": 1, "documents": 4988},
    "DocumentRemoved": {"removed": _DOCUMENT, "documents": 4987},
    "RankAnswer": {"ranking": [{"rank": 1, "id": "b", "score": 1.7}, {"rank": 2, "id": "a", "score": -0.2}]},
    "JudgmentRecorded": {"query": "q1", "document": _DOCUMENT, "grade": 3, "time": _TIME},
    "JudgmentsRecorded": {"recorded": 2},
    "JudgmentWithdrawn": {"query": "q1", "document": _DOCUMENT, "time": _TIME},
    "JudgmentsAnswer": {
        "judgments": [{
            "query": "q1", "text": "fill in missing values", "document": _DOCUMENT, "grade": 3, "judge": "ann",
            "kind": "person", "time": _TIME, "rank": 1, "model": "1", "probability": None,
        }],
        "judges": [_PERSON], "total": 155, "queries": 15, "next": 1,
    },
    "QueriesAnswer": {
        "queries": [
            _QUERY | {
                "topic": "impute", "judged": 10,
                "scores": [{"version": "1", "value": 0.61}, {"version": "2", "value": 0.83}],
            },
        ],
        "total": 20, "next": 1,
    },
    "QueriesAdded": {"added": 1, "known": 1, "ids": ["q1", "q2"]},
    "QueryChanged": {"id": "q1"},
    "QueryDeleted": {"deleted": "q1"},
    "ImportAnswer": {
        "form": "CSV with a header", "queries": {"new": 1, "known": 0, "repeated": 0},
        "judgments": {"new": 1, "known": 0, "unknown_documents": 0},
        "rows": [{"number": 2, "topic": None, "document": _DOCUMENT, "grade": 3, "judge": "ann"} | _QUERY],
        "problems": ["line 3: grade is 'good', want a number"], "stored": False,
    },
    "AgreementAnswer": {
        "judges": [_PERSON | {"people": {"both": 40, "same": 0.8, "kappa": 0.71}}],
        "pairs": [{"first": "ann", "second": "bob", "both": 40, "same": 0.8, "kappa": 0.71}],
        "disagreements": [{
            "query": "q1", "text": "fill in missing values", "document": _DOCUMENT, "title": _TITLE,
            "snippet": _SNIPPET, "matches": [[0, 4]],
            "grades": [
                {"judge": "ann", "kind": "person", "grade": 3}, {"judge": "bob", "kind": "person", "grade": 1},
            ],
            "spread": 2,
        }],
        "unsettled": 1, "settled": 7,
    },
    "Guidelines": {"text": "3: answers the query alone. 2: answers in part. 1: on the topic. 0: anything else."},
    "NextAnswer": {
        "finished": False, "progress": {"judged": 12, "left": 48}, "ticket": "eyJxdWVyeSI6InExIn0.c2lnbmF0dXJl",
        "query": _QUERY,
        "document": {"id": _DOCUMENT, "title": _TITLE, "text": _SNIPPET, "snippet": _SNIPPET, "matches": [[0, 4]]},
        "rank": 1, "model": "1",
    },
    "TrainingState": {
        "state": "running", "message": "Measuring version 2", "version": "2", "verdict": None, "used": _USED,
        "stages": [
            "Reading the model and the judgments", "Training version 2 on 80 queries", "Measuring version 1",
            "Measuring version 2", "Learning curve",
        ],
        "done": 4, "total": 7, "elapsed": 31.5, "seconds_left": 17,
    },
    "VersionsAnswer": {
        "active": "1",
        "versions": [{
            "version": "2", "label": "blend, trained on 80 judged queries", "saved": _TIME, "status": "better",
            "measures": _MEANS[1], "queries": 80, "comparison": _COMPARED, "verdict": _VERDICT,
        }],
    },
    "VersionComparison": {
        "version": "2", "against": "1",
        "comparison": _COMPARED | {"by_query": [_QUERY | {"before": 0.61, "after": 0.83}]},
    },
    "MeasuredNow": {
        "version": "1", "measures": _MEANS[0], "queries": 80, "program": None, "reason": None,
        "by_query": [_QUERY | {"value": 0.61}],
    },
    "Switched": {"active": "2"},
    "Health": {
        "status": "ok", "tacit": "0.1.0", "model": "1", "method": "bm25", "documents": 4988,
        "fields": {"library": "keyword"}, "read_only": None, "about": None,
    },
}  # fmt: skip
