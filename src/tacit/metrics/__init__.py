"""Measures of rankings, paired significance tests, comparison tables.

Ties. Equal scores go to the document that comes first in the run's `doc_ids`: to the smaller row, where a run was made
from a collection. Other tools differ on ties, and only there: trec_eval (and ir-measures with it) rounds scores
to float32 and gives ties to the document id that is *last* in text order; ir-measures' RR@k and Judged@k
keep float64 and give them to the id that is *first*.

Queries. Every judged query counts. One that the run leaves out, or that has no relevant document, counts 0
(`formulas` has the two exceptions, AUC and rank_loss); `Evaluation` carries the number of both.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names stand in __init__.pyi
