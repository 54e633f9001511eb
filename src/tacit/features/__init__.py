"""Text to sparse rows: tokenizers by language, counts of words and n-grams, tf-idf, correlated feature hashing.

Also components of feature lists (kernel PCA). Names are imported from their modules on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.core import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    globals(),
    {
        "Correlated": "cfh",
        "CorrelatedHashing": "cfh",
        "DiceRow": "cfh",
        "Kernel": "kernel_pca",
        "KernelPca": "kernel_pca",
        "QueryDocumentFeatures": "query_document",
        "Span": "text.words",
        "TextVectorizer": "text.vectorizer",
        "Tokenizer": "text.tokenizers",
        "WordGramVectorizer": "text.word_grams",
        "component_sizes": "knn",
        "correlated_words": "cfh",
        "dice_table": "cfh",
        "informative_terms": "cfh",
        "knn_graph": "knn",
        "language_code": "text.tokenizers",
        "tokenizer_for": "text.tokenizers",
        "tokenizer_from_spec": "text.tokenizers",
    },
)

if TYPE_CHECKING:
    from tacit.features.cfh import Correlated as Correlated
    from tacit.features.cfh import CorrelatedHashing as CorrelatedHashing
    from tacit.features.cfh import DiceRow as DiceRow
    from tacit.features.cfh import correlated_words as correlated_words
    from tacit.features.cfh import dice_table as dice_table
    from tacit.features.cfh import informative_terms as informative_terms
    from tacit.features.kernel_pca import Kernel as Kernel
    from tacit.features.kernel_pca import KernelPca as KernelPca
    from tacit.features.knn import component_sizes as component_sizes
    from tacit.features.knn import knn_graph as knn_graph
    from tacit.features.query_document import QueryDocumentFeatures as QueryDocumentFeatures
    from tacit.features.text.tokenizers import Tokenizer as Tokenizer
    from tacit.features.text.tokenizers import language_code as language_code
    from tacit.features.text.tokenizers import tokenizer_for as tokenizer_for
    from tacit.features.text.tokenizers import tokenizer_from_spec as tokenizer_from_spec
    from tacit.features.text.vectorizer import TextVectorizer as TextVectorizer
    from tacit.features.text.word_grams import WordGramVectorizer as WordGramVectorizer
    from tacit.features.text.words import Span as Span
