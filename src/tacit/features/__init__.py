"""Text to sparse rows: tokenizers by language, counts of words and n-grams, tf-idf."""

from tacit.features.tokenizers import Tokenizer, language_code, tokenizer_for, tokenizer_from_spec
from tacit.features.vectorizer import TextVectorizer
from tacit.features.words import Span

__all__ = [
    "Span",
    "TextVectorizer",
    "Tokenizer",
    "language_code",
    "tokenizer_for",
    "tokenizer_from_spec",
]
