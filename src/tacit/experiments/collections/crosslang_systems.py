"""Systems of the experiment `crosslang` by name, fitted on a split: functions from query rows to scores.

A name is a cross-language method of `METHODS`, NAME-dict (a monolingual method with queries translated word by word),
NAME-mate (the same with the English mate as the query: a translation of the whole document, by people), or a mixture
A+B. `ssi-cross-multitask-ja` is also trained on links between the Japanese documents. A system that is part of several
rows is fitted once.

A mixture is alpha a(q, d) + (1 - alpha) b(q, d), with alpha chosen by validation. Scores of different methods have
different scales, so each is first divided by the standard deviation of its scores over the validation queries; then
alpha has the same meaning for every two methods.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, check_choice
from tacit.experiments.collections.crosslang_task import CrossCorpus, CrossSplit, CrossTask
from tacit.experiments.request import with_params
from tacit.retrieve import METHODS, CollectionRanker, CrossRanker, get_method
from tacit.retrieve.latent.lsi import ALPHAS
from tacit.retrieve.validation import HeldOut, ScoreRows, choose_mixture

MONOLINGUAL = {"tfidf": "tfidf", "lsi": "lsi", "ssi": "ssi-uv"}
DICTIONARY = {f"{name}-dict": method for name, method in MONOLINGUAL.items()}
MATES = {f"{name}-mate": method for name, method in MONOLINGUAL.items()}
WITH_QUERY_LINKS = {"ssi-cross-multitask-ja": "ssi-cross-multitask"}
CL_LSI_DIMS = (200, 400, 800, 1200)  # validation on MDN improves little beyond the last value
MATE_PARAMS = {"rate": 0.5, "margin": 0.3}  # one relevant item for each query; chosen on validation mates
N_WATCHED = 200  # training and test queries used for a curve


@dataclass(frozen=True)
class Fitted:
    """A function that scores all items for query rows, with its time and its choices."""

    score: ScoreRows
    seconds: float
    chosen: Mapping[str, Any] = field(default_factory=dict)
    epochs: Sequence[Mapping[str, float]] = ()


@dataclass(frozen=True)
class Setting:
    """The task and size for which a system is fitted.

    Parameters
    ----------
    task : {"links", "mates"}, default="links"
        Definition of relevance: linked documents, or the mate itself.
    share : float, default=1.0
        Share of the training pairs.
    dim : int, default=None
        Dimension of learned vectors; None means the method's default.
    n_epochs : int, default=None
        Number of epochs; None means training until validation stops improving.
    concepts : int, default=None
        Number of concepts of CL-LSI; None means a choice on validation data.
    """

    task: str = "links"
    share: float = 1.0
    dim: int | None = None
    n_epochs: int | None = None
    concepts: int | None = None


class SystemBench:
    """Fits systems on one split of a corpus; `translation` is None where no dictionary is installed."""

    def __init__(
        self,
        corpus: CrossCorpus,
        split: CrossSplit,
        translation: sp.csr_array | None,
        seed: int,
        threads: int | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        self.corpus, self.split, self.seed, self.threads = corpus, split, seed, threads
        self._params = {"seed": seed, "threads": threads} | dict(params or {})
        self._translation, self._fitted = translation, dict[tuple[str, Setting], Fitted]()

    def fitted(self, name: str, setting: Setting) -> Fitted:
        """Return the system with that name; the time of a mixture includes its parts."""
        if name == "cl-lsi":  # alone or in a mixture, it uses all mates and learns no vectors
            setting = Setting(setting.task, concepts=setting.concepts)
        if (name, setting) not in self._fitted:
            translated = name in DICTIONARY or name in MATES
            fit = self._mixture if "+" in name else self._translated if translated else self._across
            self._fitted[name, setting] = fit(name, setting)
        return self._fitted[name, setting]

    def _across(self, name: str, setting: Setting) -> Fitted:
        start = time.perf_counter()
        if name == "cl-lsi":
            return self._cl_lsi(setting, start)
        is_mates = setting.task == "mates"
        given = {"n_epochs": setting.n_epochs} | (MATE_PARAMS if is_mates else {})
        ranker = self._make(name, setting.dim, given)
        assert isinstance(ranker, CrossRanker)
        pairs = self.split.train_mates if is_mates else self.split.thinned(setting.share, self.seed)
        ranker.fit(
            self.corpus.queries,
            self._items,
            pairs,
            self.split.validation_mates if is_mates else self.split.validation,
            queries_are_items=not is_mates,
            links=self.split.links,
            query_links=self.split.query_links if name in WITH_QUERY_LINKS else None,
            monitor=None if is_mates or name != "ssi-cross" else self._monitor(pairs),
        )
        return Fitted(self._asking(ranker.scores), time.perf_counter() - start, ranker.chosen(), ranker.epochs_)

    def _cl_lsi(self, setting: Setting, start: float) -> Fitted:
        """CL-LSI with the number of concepts chosen on validation data."""
        dims = CL_LSI_DIMS if setting.concepts is None else (setting.concepts,)
        held, found = self._validation(setting), dict[int, tuple[float, ScoreRows]]()
        for dim in dims:
            ranker = self._make("cl-lsi", dim)
            ranker.fit(self.corpus.queries, self._items, self.split.train_mates, queries_are_items=True)
            score = self._asking(ranker.scores)
            found[dim] = float(held.measure(score)["MAP"].mean()), score
        best = max(found, key=lambda dim: found[dim][0])
        return Fitted(found[best][1], time.perf_counter() - start, {"concepts": best})

    def _translated(self, name: str, setting: Setting) -> Fitted:
        """Return a monolingual system trained on English links, with translated queries."""
        start = time.perf_counter()
        ranker = self._make(name, setting.dim if "ssi" in name else None, {"n_epochs": setting.n_epochs})
        ranker.fit(self._items, self._items, self.split.links, self.split.validation, queries_are_items=True)
        queries = self._items
        if name in DICTIONARY:
            assert self._translation is not None
            queries = self.corpus.english.vectorizer.tfidf(sp.csr_array(self.corpus.query_counts @ self._translation))
        return Fitted(lambda rows: ranker.scores(queries[rows]), time.perf_counter() - start, ranker.chosen())

    def _make(self, name: str, dim: int | None, given: Mapping[str, Any] | None = None) -> CollectionRanker:
        return with_params(make_part(name, dim), dict(given or {}) | self._params)

    def _mixture(self, name: str, setting: Setting) -> Fitted:
        first, second = (self.fitted(part, setting) for part in name.split("+"))
        start = time.perf_counter()
        mixture = mix(first.score, second.score, self._validation(setting).held_out())
        seconds = first.seconds + second.seconds + time.perf_counter() - start
        return Fitted(mixture, seconds, {"alpha": mixture.alpha})

    @property
    def _items(self) -> Features:
        return self.corpus.english.features["tfidf"]

    def _asking(self, scores: ScoreRows) -> ScoreRows:
        queries = self.corpus.queries
        return lambda rows: scores(queries[rows])

    def _validation(self, setting: Setting) -> CrossTask:
        is_mates = setting.task == "mates"
        wanted = self.split.validation_mates if is_mates else self.split.validation
        return CrossTask.of(wanted, not is_mates, 500, self.seed, self.threads)

    def _monitor(self, pairs: Links) -> Any:
        """Measure rank loss over some training and test queries, for the curves of figure 2, not for choices."""
        parts = {"train_rank_loss": pairs, "test_rank_loss": self.split.test}
        tasks = {n: CrossTask.of(part, True, N_WATCHED, self.seed, self.threads) for n, part in parts.items()}

        def watch(ranker: CrossRanker) -> dict[str, float]:
            score = self._asking(ranker.scores)
            return {name: float(task.measure(score)["rank_loss"].mean()) for name, task in tasks.items()}

        return watch


def make_part(name: str, dim: int | None = None) -> CollectionRanker:
    """Return an unfitted ranker by its name in this experiment, except mixtures."""
    across = [name for name, method in METHODS.items() if method.estimator.two_dictionaries]
    others = DICTIONARY | MATES | WITH_QUERY_LINKS
    check_choice("system", name, [*across, *others])
    return get_method(others.get(name, name)).offer(dim=dim)


def needs_dictionary(name: str) -> bool:
    """Return whether a part of the system needs word-by-word translations."""
    return any(part in DICTIONARY for part in name.split("+"))


@dataclass(frozen=True)
class Mixture:
    """Weighted sum of the scores of two methods.

    Parameters
    ----------
    first, second : callable
        Query rows to scores of all items.
    scales : tuple of two floats
        Standard deviations that the scores are divided by.
    alpha : float
        Weight of the first, from 0 to 1.
    """

    first: ScoreRows
    second: ScoreRows
    scales: tuple[float, float]
    alpha: float

    def __call__(self, queries: Features) -> np.ndarray:
        """Return scores of all items for some queries, float32 (n_queries, n_items)."""
        weights = self.alpha / self.scales[0], (1 - self.alpha) / self.scales[1]
        return np.float32(weights[0]) * self.first(queries) + np.float32(weights[1]) * self.second(queries)


def mix(first: ScoreRows, second: ScoreRows, held: HeldOut) -> Mixture:
    """Return the mixture with the best mean average precision over the held-out queries."""
    scales = _scale(first, held), _scale(second, held)
    odds = choose_mixture(
        first, second, held, [(1 - alpha) / alpha * scales[0] / scales[1] for alpha in ALPHAS if alpha]
    )
    ratio = odds * scales[1] / scales[0]
    return Mixture(first, second, scales, round(1 / (1 + ratio), 2))


def _scale(score: ScoreRows, held: HeldOut) -> float:
    """Return the standard deviation of all scores of the held-out queries; 1 if all are equal."""
    n, total, squares = 0, 0.0, 0.0
    for block in held.blocks():
        scores = score(block.queries).astype(np.float64)
        n, total, squares = n + scores.size, total + float(scores.sum()), squares + float((scores**2).sum())
    variance = squares / n - (total / n) ** 2
    return float(np.sqrt(variance)) if variance > 0 else 1.0
