"""Pretrained encoders: models that turn texts into vectors, loaded by name or from a folder.

Two libraries are supported, and imported only when used: sentence-transformers (extra `encoder`, needs torch) and
model2vec (extra `static`, static vectors without torch). In Python, any object with `encode` also works.

A text longer than the window of the model is split into overlapping passages of one window each. Prompts that the model
declares for queries and documents are used (`encode_query`, `encode_document`), and the window of a passage is shorter
by the prompt of documents. A text without any character gets a vector of zeros.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import MissingExtraError, TacitError, UsageError, check_path

SENTENCE_TRANSFORMERS, MODEL2VEC, OBJECT = "sentence-transformers", "model2vec", "object"
EXTRAS = {SENTENCE_TRANSFORMERS: "encoder", MODEL2VEC: "static"}
LONGEST_WINDOW = 8192  # tokens of a passage, even if a model has no limit
STATIC_WINDOW = 512  # tokens of a static model, which averages all of a text
WORDS_PER_TOKEN = 0.6  # of a model without a usable tokenizer
OVERLAP = 0.125  # part of a window that the next passage repeats
MAX_PASSAGES = 64  # of a document; the rest of a longer text is not encoded
STATIC_NAMES = ("potion", "m2v", "model2vec")  # parts of names of model2vec models on the hub
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}  # names by kind of text
NOT_HASHED = (".md", ".onnx", ".ot", ".h5")  # descriptions, and weights for other libraries


@dataclass(frozen=True)
class EncoderInfo:
    """Description of an encoder, stored in the model folder.

    Parameters
    ----------
    name : str
        Name on the hub, or absolute path of the folder.
    kind : str
        The library that loads it, or "object".
    hash : str
        Hash of the folder; of a name on the hub, of kind and name; "" for an object.
    dim : int
        Dimensions of the vectors.
    window : int
        Tokens of a passage; 0 means that texts are not split.
    prompts : dict of str to str
        Prompts by name, as the model declares them.
    """

    name: str
    kind: str
    hash: str
    dim: int
    window: int = 0
    prompts: dict[str, str] = field(default_factory=dict)

    def to_text(self) -> str:
        """Return a line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> EncoderInfo:
        """Read a line of JSON; raise TacitError if `to_text` would not write it."""
        try:
            made = cls(**json.loads(text))
        except (RecursionError, TypeError, ValueError) as error:
            raise TacitError(f"the encoder is recorded as {text[:80]!r}, want what tacit writes") from error
        kinds = (*EXTRAS, OBJECT)
        texts_fit = all(isinstance(value, str) for value in (made.name, made.kind, made.hash))
        numbers_fit = type(made.dim) is int and type(made.window) is int and made.dim > 0 and made.window >= 0
        if not texts_fit or not numbers_fit or made.kind not in kinds or not isinstance(made.prompts, dict):
            raise TacitError(f"the encoder is recorded as {text[:80]!r}, want a name, a kind of {kinds}, and a dim")
        return made

    def check_same(self, other: EncoderInfo) -> None:
        """Raise unless another encoder gives the same vectors, as far as can be checked."""
        if other.dim != self.dim:
            raise UsageError(
                f"encoder {other.name!r} has vectors of {other.dim} dimensions, and the model was fitted with "
                f"{self.name!r} of {self.dim}: want the same encoder"
            )
        if self.hash and other.hash and other.hash != self.hash:
            raise UsageError(
                f"encoder {other.name!r} has hash {other.hash}, and the model was fitted with {self.name!r} of hash "
                f"{self.hash}: want the same encoder, or fit again"
            )


@dataclass(frozen=True)
class Encoder:
    """A loaded model of texts.

    Parameters
    ----------
    model : callable or object
        Function of a list of texts that returns an array, or a model that has it as `encode_document` and
        `encode_query`, or as `encode`.
    name : str, default=""
        Name for messages; "" means the class of the model.
    kind : str, default="object"
        The library that loaded it.
    hash : str, default=""
        Hash of its folder or name.
    window : int, default=0
        Tokens of a passage; 0 means that texts are not split.
    """

    model: Any
    name: str = ""
    kind: str = OBJECT
    hash: str = ""
    window: int = 0

    @cached_property
    def info(self) -> EncoderInfo:
        """Return the description for the model folder; the dimension comes from the model."""
        prompts = getattr(self.model, "prompts", None)
        named = {str(key): str(value) for key, value in prompts.items()} if isinstance(prompts, dict) else {}
        dim = int(self.encode(["a text"], "query").shape[1])
        return EncoderInfo(self.name or type(self.model).__name__, self.kind, self.hash, dim, self.window, named)

    def encode(self, texts: Sequence[str], kind: str) -> np.ndarray:
        """Return vectors of texts, float32 (n_texts, dim); `kind` is "query" or "document"."""
        given = [row for row, text in enumerate(texts) if text.strip()]
        if len(given) < len(texts):  # models give empty texts a vector too, which is near that of any short query
            vectors = np.zeros((len(texts), self.info.dim), np.float32)
            if given:
                vectors[given] = self.encode([texts[row] for row in given], kind)
            return vectors
        options: dict[str, Any] = {}
        if self.kind == SENTENCE_TRANSFORMERS:
            options = {"show_progress_bar": False}
            prompt = _prompt_name(self.model, kind)
            options |= {"prompt_name": prompt} if prompt else {}
        return encode_texts(self.model, [_whole_characters(text) for text in texts], kind, **options)

    def passages(self, text: str) -> list[str]:
        """Return the text, or overlapping parts of one window each if it is longer."""
        if not self.window or len(text) <= self.window:  # a token has at least one character
            return [text]
        spans = self._spans(text)
        if len(spans) <= self.window:
            return [text]
        step = max(1, round((1 - OVERLAP) * self.window))
        starts = range(0, max(1, len(spans) - round(OVERLAP * self.window)), step)
        cut = [spans[start : start + self.window] for start in starts][:MAX_PASSAGES]
        return [text[part[0][0] : part[-1][1]] for part in cut]

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each token in a text, without special tokens."""
        return self._tokenize(_whole_characters(text))

    @cached_property
    def _tokenize(self) -> Callable[[str], list[tuple[int, int]]]:
        tokenizer: Any = getattr(self.model, "tokenizer", None)
        if self.kind == SENTENCE_TRANSFORMERS and getattr(tokenizer, "is_fast", False):
            return lambda text: tokenizer(
                text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
            )["offset_mapping"]
        if self.kind == MODEL2VEC and hasattr(tokenizer, "to_str"):
            whole = type(tokenizer).from_str(tokenizer.to_str())
            whole.no_truncation()  # the library truncates to its window
            return lambda text: list(whole.encode(text, add_special_tokens=False).offsets)
        return lambda text: list(_words(text))


def _whole_characters(text: str) -> str:
    """Return the text with lone surrogates as question marks; tokenizers refuse them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _prompt_name(model: Any, kind: str) -> str | None:
    """Return the name of the prompt for a kind of text; None: none is declared.

    sentence-transformers adds an empty prompt `document`, and would use it instead of a declared prompt `passage`.
    """
    prompts = getattr(model, "prompts", None) or {}
    return next((name for name in PROMPTS[kind] if prompts.get(name)), None)


def _words(text: str) -> Iterator[tuple[int, int]]:
    """Spans of words, each repeated as often as it probably has tokens."""
    place = 0
    for word in text.split():
        start = text.index(word, place)
        place = start + len(word)
        for _ in range(max(1, round(1 / WORDS_PER_TOKEN))):
            yield start, place


def encode_texts(encode: Any, texts: Iterable[str], kind: str, **options: Any) -> np.ndarray:
    """Vectors of texts by a model, float32 (n_texts, dim).

    >>> encode_texts(lambda texts: [[len(text), 1] for text in texts], ["a", "bcd"], "query")
    array([[1., 1.],
           [3., 1.]], dtype=float32)
    """
    read = getattr(encode, f"encode_{kind}", None) or getattr(encode, "encode", encode)
    if not callable(read):
        raise UsageError(f"encode is a {type(encode).__name__}, want a function of texts, or a model with `encode`")
    given = list(texts)
    try:
        made = read(given, **options)
        if hasattr(made, "detach"):  # a tensor of torch, which may be on another device or of another type
            made = made.detach().cpu().float()
        found = np.ascontiguousarray(made, np.float32)
    except (TypeError, ValueError) as error:
        raise TacitError(f"encode returned no array of numbers: {' '.join(str(error).split())}") from error
    if found.ndim != 2 or len(found) != len(given):
        raise TacitError(f"encode returned shape {found.shape}, want ({len(given)}, dim): one row for each text")
    if not np.isfinite(found).all():
        raise TacitError("encode returned numbers that are not finite, want vectors of finite numbers")
    return found


def as_encoder(given: Any) -> Encoder:
    """An encoder from a name, a folder, a model or a function."""
    if isinstance(given, Encoder):
        return given
    if isinstance(given, str | Path):
        return load_encoder(str(given))
    return Encoder(given)


def load_encoder(name: str) -> Encoder:
    """The encoder of that name or folder.

    Parameters
    ----------
    name : str
        Folder of a sentence-transformers or model2vec model, or its name on the hub, as these libraries know it.
    """
    folder = Path(check_path(name, "encoder"))
    if folder.exists():
        kind = _kind_of_folder(folder)
        return _load(str(folder.resolve()), kind, hash_folder(folder))
    if folder.is_absolute() or len(folder.parts) > 2 or name.startswith("."):  # the hub has NAME and OWNER/NAME
        raise UsageError(f"encoder {name!r} cannot be loaded: there is no such folder")
    kind = MODEL2VEC if any(part in name.lower() for part in STATIC_NAMES) else SENTENCE_TRANSFORMERS
    return _load(name, kind, hashlib.sha256(f"{kind} {name}".encode()).hexdigest()[:16])


def _kind_of_folder(folder: Path) -> str:
    is_static = (folder / "tokenizer.json").is_file() and (folder / "model.safetensors").is_file()
    if (folder / "modules.json").is_file():  # model2vec writes one too, so that sentence-transformers can read it
        modules = (folder / "modules.json").read_text("utf-8")
        return MODEL2VEC if is_static and "StaticEmbedding" in modules else SENTENCE_TRANSFORMERS
    if is_static:
        return MODEL2VEC
    raise UsageError(
        f"{folder}: is no folder of an encoder, want one of sentence-transformers (modules.json) or model2vec "
        "(tokenizer.json and model.safetensors)"
    )


def _load(name: str, kind: str, found_hash: str) -> Encoder:
    load = _sentence_transformer if kind == SENTENCE_TRANSFORMERS else _static_model
    try:
        model, window = load(name)
    except MissingExtraError:
        raise
    except Exception as error:  # libraries raise many types of errors, from missing files to the network
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"encoder {name!r} cannot be loaded by {kind}: {type(error).__name__}: {reason}") from error
    return Encoder(model, name, kind, found_hash, window)


def _sentence_transformer(name: str) -> tuple[Any, int]:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError as error:
        raise MissingExtraError(f"encoder {name!r}", SENTENCE_TRANSFORMERS, EXTRAS[SENTENCE_TRANSFORMERS]) from error
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # of loading weights, which each search does
    try:
        model = SentenceTransformer(name, device="cpu")
    finally:
        if shown:
            logging.enable_progress_bar()
    n_tokens = min(float(getattr(model, "max_seq_length", None) or 256), LONGEST_WINDOW) - 2  # less the special tokens
    prompt = _prompt_name(model, "document")
    if prompt:
        n_tokens -= len(model.tokenizer.tokenize(model.prompts[prompt]))
    return model, int(max(8, n_tokens))


def _static_model(name: str) -> tuple[Any, int]:
    try:
        from model2vec import StaticModel
    except ImportError as error:
        raise MissingExtraError(f"encoder {name!r}", MODEL2VEC, EXTRAS[MODEL2VEC]) from error
    return StaticModel.from_pretrained(name), STATIC_WINDOW


def hash_folder(folder: Path) -> str:
    """Return a hash of the files of a model: names and contents, without descriptions, wherever the folder is."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        relative = path.relative_to(folder)
        if path.suffix.lower() in NOT_HASHED or any(part.startswith((".", "__")) for part in relative.parts):
            continue
        found.update(relative.as_posix().encode())
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()[:16]
