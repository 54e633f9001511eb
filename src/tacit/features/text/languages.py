"""Detection of the language of a collection by py3langid.

Each of up to 200 texts, evenly spaced in the collection, is classified by its first 1,000 characters. A text counts for
its language with the probability of the classifier, so short or unusual texts have little weight. The language is the
one with more than half of the total. If there is none, ASCII texts (names, short titles, code) are treated as English,
others as texts of several languages.
"""

from __future__ import annotations

import logging
from collections import Counter
from functools import lru_cache
from importlib.util import find_spec
from tempfile import gettempdir
from typing import Any

import numpy as np

from tacit.core import Collection, TacitError, checked
from tacit.features.text.tokenizers import SEGMENTERS

logger = logging.getLogger("tacit")

N_TEXTS = 200
N_CHARACTERS = 1000
# Languages that the classifier separates, but one tokenizer handles: Arabic, Norwegian, Chinese; pidgin is English.
_VARIANTS = {"arz": "ar", "ary": "ar", "nb": "no", "nn": "no", "wuu": "zh", "yue": "zh", "pcm": "en"}


@checked
def find_language(texts: Collection, language: str = "auto") -> str:
    """Return the language of most texts of a collection.

    Parameters
    ----------
    texts : Collection
        Documents or queries.
    language : str, default="auto"
        Any value other than "auto" is returned unchanged.

    Returns
    -------
    str
        Code of a language that `tokenizer_for` knows; "any" for another language, or for several.

    Examples
    --------
    >>> texts = ["Der Hund schläft im Garten.", "Die Katze sitzt auf dem Dach und wartet."]
    >>> find_language(Collection(["a", "b"], ["", ""], texts))
    'de'
    """
    if language != "auto" or not len(texts):
        return "any" if language == "auto" else language
    rows = np.unique(np.linspace(0, len(texts) - 1, min(len(texts), N_TEXTS)).astype(np.int64))
    read = [texts.full_text(row)[:N_CHARACTERS] for row in rows.tolist()]
    weights = Counter[str]()
    for found, probability in map(_identifier().classify, read):
        weights[_VARIANTS.get(found, found)] += probability
    found, weight = weights.most_common(1)[0]
    if weight <= weights.total() / 2:
        return "en" if "".join(read).isascii() else "any"
    if found not in SEGMENTERS:
        return "any"
    if found == "ja" and find_spec("sudachipy") is None:
        logger.warning(
            "the texts are Japanese, and sudachipy is not installed: they are split into pairs of characters"
        )
        return "any"
    return found


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # takes half a second and 100 MB

    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:  # it unpacks its model to a temporary file
        problem = f"the language cannot be found: {gettempdir()}: {error.strerror}; name it (--language)"
        raise TacitError(problem) from error
