"""Text to sparse rows: tokenizers by language, counts of words and n-grams, tf-idf, correlated feature hashing."""

from tacit.features.cfh import Correlated, CorrelatedHashing, DiceRow, correlated_words, dice_table, informative_terms
from tacit.features.knn import component_sizes, knn_graph
from tacit.features.query_document import QueryDocumentFeatures
from tacit.features.text.tokenizers import Tokenizer, language_code, tokenizer_for, tokenizer_from_spec
from tacit.features.text.vectorizer import TextVectorizer
from tacit.features.text.word_grams import WordGramVectorizer
from tacit.features.text.words import Span

__all__ = [
    "Correlated",
    "CorrelatedHashing",
    "DiceRow",
    "QueryDocumentFeatures",
    "Span",
    "TextVectorizer",
    "Tokenizer",
    "WordGramVectorizer",
    "component_sizes",
    "correlated_words",
    "dice_table",
    "informative_terms",
    "knn_graph",
    "language_code",
    "tokenizer_for",
    "tokenizer_from_spec",
]
