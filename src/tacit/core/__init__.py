"""Value types that travel between rooms, checks of input, errors. Imports nothing of ours."""

from tacit.core.checks import Features, check_choice, check_features, check_fitted, check_number
from tacit.core.collection import Collection, Document
from tacit.core.errors import (
    DataError,
    DivergedError,
    MissingExtraError,
    NotFittedError,
    StoreError,
    TacitError,
    UsageError,
)
from tacit.core.estimator import Estimator
from tacit.core.folders import cache_folder
from tacit.core.judgments import Judgments, Run
from tacit.core.lazy import lazy_names
from tacit.core.links import Links
from tacit.core.lists import Lists
from tacit.core.methods import Method, Parameter
from tacit.core.progress import progress_bar, track
from tacit.core.ranking import Ranking
from tacit.core.threads import count_threads, cut, map_blocks, one_blas_thread

__all__ = [
    "Collection",
    "DataError",
    "DivergedError",
    "Document",
    "Estimator",
    "Features",
    "Judgments",
    "Links",
    "Lists",
    "Method",
    "MissingExtraError",
    "NotFittedError",
    "Parameter",
    "Ranking",
    "Run",
    "StoreError",
    "TacitError",
    "UsageError",
    "cache_folder",
    "check_choice",
    "check_features",
    "check_fitted",
    "check_number",
    "count_threads",
    "cut",
    "lazy_names",
    "map_blocks",
    "one_blas_thread",
    "progress_bar",
    "track",
]
