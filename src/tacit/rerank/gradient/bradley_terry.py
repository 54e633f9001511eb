"""Bradley-Terry: P(i above j) = 1 / (1 + exp(s_j - s_i)), s from a linear or one-hidden-layer scorer (PREF, 4).

With beta > 0 the preference regularizer makes neighbours tie, and with expected > 0 judged rows are set against the
unjudged ones; `ssbt` has both. With both 0 the ranker is supervised: `bt`, and with a linear scorer `linear`.
"""

from __future__ import annotations

from tacit.rerank.gradient.ranker import GradientRanker


class BradleyTerryRanker(GradientRanker):
    """Maximum likelihood of the known pairs under the Bradley-Terry model.

    The parameters are those of `GradientRanker`.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, -1, -1, 1]
    >>> BradleyTerryRanker(n_hidden=0).fit(X, y).predict(X).argsort().tolist()
    [0, 1, 2, 3]
    """
