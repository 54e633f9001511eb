"""`advise`: which system to use on the user's own data, with a proof by cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.core.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.judge.advise.advice import Advice as Advice
    from tacit.judge.advise.recommend import advise as advise
    from tacit.judge.advise.recommend import fit_recommended as fit_recommended

__getattr__, __dir__, __all__ = lazy_names(
    globals(), {"Advice": "advice", "advise": "recommend", "fit_recommended": "recommend"}
)
