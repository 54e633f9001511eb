"""What a blend from a folder must satisfy, so that a damaged or hostile one is refused instead of scoring wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.core import TacitError
from tacit.retrieve.blend.members import MEMBERS
from tacit.retrieve.latent.reconstruction import LearnedConcepts
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.lexical.cosine import CosineRanker
from tacit.retrieve.margin.embedding import EmbeddingRanker

if TYPE_CHECKING:
    from tacit.retrieve.blend.scoring import BlendScores

KINDS = {
    "bm25": Bm25Ranker,
    "latent": LearnedConcepts,
    "title": Bm25Ranker,
    "residual": EmbeddingRanker,
    "vectors": CosineRanker,
}


def check_members(blend: BlendScores, vectors_dim: int | None) -> None:
    """Raise unless every member is of its class and has the words and items of the others."""
    for name, kind in KINDS.items():
        member, width = getattr(blend, f"{name}_"), vectors_dim if name == "vectors" else blend.n_features_
        if member is None and name != "bm25":
            continue
        if not isinstance(member, kind):
            raise TacitError(f"member {name} is a {type(member).__name__}, want a {kind.__name__}")
        if (member.n_features_, member.n_items_) != (width, blend.bm25_.n_items_):
            raise TacitError(
                f"member {name} is for {member.n_features_} features and {member.n_items_} items, "
                f"want {width} and {blend.bm25_.n_items_}"
            )
    if blend.vectors_ is not None and not isinstance(blend.vectors_.items_, np.ndarray):
        raise TacitError("the vectors of member vectors are sparse, want a dense array")


def check_gate(blend: BlendScores) -> None:
    """Raise unless the gate of `residual` is whole or absent."""
    if blend.gate_ is None and blend.named_ is None:
        return
    if blend.gate_ is None or blend.named_ is None or blend.residual_ is None:
        raise TacitError("the gate of member residual is incomplete, want the member, gate_ and named_")
    if blend.gate_.shape != (2,) or len(blend.named_) != blend.n_items_:
        found = f"{blend.gate_.shape} and {blend.named_.shape}"
        raise TacitError(f"gate_ and named_ have the shapes {found}, want (2,) and ({blend.n_items_},)")


def check_clicks(blend: BlendScores) -> None:
    """Raise unless there are queries that were asked before and gains of their items, or neither."""
    if (blend.asked_ is None) != (blend.clicked_ is None):
        raise TacitError("there is one of asked_ and clicked_, want both or none")
    if blend.clicked_ is not None and blend.clicked_.shape[0] != blend.n_items_:
        raise TacitError(f"clicked_ is for {blend.clicked_.shape[0]} items, want {blend.n_items_}")


def check_weights(blend: BlendScores) -> None:
    """Raise unless the weights are numbers of at least 0, some of them above, of members that are there."""
    if (blend.short_weights_ is None) != (blend.full_length_ is None):
        raise TacitError("there is one of short_weights_ and full_length_, want both or none")
    for weights in (blend.weights_, *([] if blend.short_weights_ is None else [blend.short_weights_])):
        if weights.shape != (len(MEMBERS),) or not (weights >= 0).all() or not weights[:-1].any():
            raise TacitError(
                f"weights are {weights.tolist()}, want {len(MEMBERS)} numbers >= 0, by words not all of them 0"
            )
    missing = [name for name in blend._used if not blend._has(name)]
    if missing:
        raise TacitError(f"member {missing[0]} has a weight, but is not in the model")
