"""Value types that travel between packages, the estimator base, checks of input, errors.

Imports nothing of ours. Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.core.lazy import lazy_names as lazy_names

if TYPE_CHECKING:
    from tacit.core.checks import Features as Features
    from tacit.core.checks import check_choice as check_choice
    from tacit.core.checks import check_features as check_features
    from tacit.core.checks import check_fitted as check_fitted
    from tacit.core.checks import check_number as check_number
    from tacit.core.collection import Collection as Collection
    from tacit.core.collection import Document as Document
    from tacit.core.errors import DataError as DataError
    from tacit.core.errors import DivergedError as DivergedError
    from tacit.core.errors import MissingExtraError as MissingExtraError
    from tacit.core.errors import NotFittedError as NotFittedError
    from tacit.core.errors import StoreError as StoreError
    from tacit.core.errors import TacitError as TacitError
    from tacit.core.errors import UsageError as UsageError
    from tacit.core.estimator import Estimator as Estimator
    from tacit.core.folders import cache_folder as cache_folder
    from tacit.core.judgments import Judgments as Judgments
    from tacit.core.judgments import Run as Run
    from tacit.core.links import Links as Links
    from tacit.core.lists import Lists as Lists
    from tacit.core.methods import Method as Method
    from tacit.core.methods import Parameter as Parameter
    from tacit.core.progress import progress_bar as progress_bar
    from tacit.core.progress import track as track
    from tacit.core.ranking import Ranking as Ranking
    from tacit.core.threads import count_threads as count_threads
    from tacit.core.threads import cut as cut
    from tacit.core.threads import map_blocks as map_blocks
    from tacit.core.threads import one_blas_thread as one_blas_thread

_HOMES = {
    "Collection": "collection",
    "DataError": "errors",
    "DivergedError": "errors",
    "Document": "collection",
    "Estimator": "estimator",
    "Features": "checks",
    "Judgments": "judgments",
    "Links": "links",
    "Lists": "lists",
    "Method": "methods",
    "MissingExtraError": "errors",
    "NotFittedError": "errors",
    "Parameter": "methods",
    "Ranking": "ranking",
    "Run": "judgments",
    "StoreError": "errors",
    "TacitError": "errors",
    "UsageError": "errors",
    "cache_folder": "folders",
    "check_choice": "checks",
    "check_features": "checks",
    "check_fitted": "checks",
    "check_number": "checks",
    "count_threads": "threads",
    "cut": "threads",
    "lazy_names": "lazy",
    "map_blocks": "threads",
    "one_blas_thread": "threads",
    "progress_bar": "progress",
    "track": "progress",
}

__getattr__, __dir__, __all__ = lazy_names(globals(), _HOMES)
