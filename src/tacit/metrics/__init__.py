"""Measures of rankings, paired significance tests, comparison tables.

Ties. Equal scores go to the document that comes first in the run's `doc_ids`: to the smaller row, where a run was made
from a collection. Other tools differ on ties, and only there: trec_eval (and ir-measures with it) rounds scores
to float32 and gives ties to the document id that is *last* in text order; ir-measures' RR@k and Judged@k
keep float64 and give them to the id that is *first*.

Queries. Every judged query counts. One that the run leaves out, or that has no relevant document, counts 0
(`formulas` has the two exceptions, AUC and rank_loss); `Evaluation` carries the number of both.
"""

from tacit.metrics.evaluation import Evaluation, evaluate, evaluate_rows, standard_error
from tacit.metrics.full_ranking import full_ranking_measures
from tacit.metrics.measures import KINDS, Measure, is_loss, parse_measure
from tacit.metrics.sampled import Estimate, covered, estimate, is_sampled
from tacit.metrics.significance import TESTS, Comparison, PairedTests, compare, compare_systems, holm
from tacit.metrics.tables import Cell, ComparisonTable, Row, comparison_table

__all__ = [
    "KINDS",
    "TESTS",
    "Cell",
    "Comparison",
    "ComparisonTable",
    "Estimate",
    "Evaluation",
    "Measure",
    "PairedTests",
    "Row",
    "compare",
    "compare_systems",
    "comparison_table",
    "covered",
    "estimate",
    "evaluate",
    "evaluate_rows",
    "full_ranking_measures",
    "holm",
    "is_loss",
    "is_sampled",
    "parse_measure",
    "standard_error",
]
