"""Measures of rankings, paired significance tests, comparison tables.

Ties. Among equal scores the document that comes first in the run's `doc_ids` ranks first; in a run made from a
collection, this is the smaller row. Other tools differ on ties only: trec_eval (and ir-measures with it) rounds scores
to float32 and ranks the document id that is *last* in text order first; ir-measures' RR@k and Judged@k use float64 and
rank the id that is *first* first.

Queries. Every judged query counts. A query that is missing from the run, or has no relevant document, counts 0
(`formulas` has the two exceptions, AUC and rank_loss); `Evaluation` has the number of both.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
