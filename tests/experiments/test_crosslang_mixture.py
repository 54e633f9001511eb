"""Mixtures: the weight that is right by hand, whatever the scales; translations by a small dictionary."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.experiments.collections.crosslang_systems import mix
from tacit.experiments.collections.crosslang_task import translation_matrix
from tacit.retrieve.validation import HeldOut

N = 40


def held():
    nothing = sp.csr_array((N, N), dtype=bool)
    return HeldOut(np.arange(N), sp.csr_array(np.eye(N, dtype=bool)), nothing, nothing)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_useless_part_does_no_harm_whatever_its_scale(scale):
    noise = (scale * np.random.default_rng(0).normal(size=(N, N))).astype(np.float32)
    good = np.eye(N, dtype=np.float32)
    mixture = mix(lambda rows: good[rows], lambda rows: noise[rows], held())
    assert mixture.alpha == 0.4  # the smallest at which every query has its item first
    assert (mixture(np.arange(N)).argmax(axis=1) == np.arange(N)).all()


def test_two_halves_are_better_than_one():
    half = np.arange(N) < N // 2
    first, second = (np.where(mask[:, None], np.eye(N), 0.0).astype(np.float32) for mask in (half, ~half))
    mixture = mix(lambda rows: first[rows], lambda rows: second[rows], held())
    assert (mixture(np.arange(N)).argmax(axis=1) == np.arange(N)).all()


def test_constant_scores_do_no_harm():
    good, flat = np.eye(N, dtype=np.float32), np.ones((N, N), np.float32)
    mixture = mix(lambda rows: flat[rows], lambda rows: good[rows], held())
    assert np.isfinite(mixture(np.arange(3))).all()
    assert (mixture(np.arange(N)).argmax(axis=1) == np.arange(N)).all()


def test_translations_spread_a_word_over_its_glosses():
    glosses = {"要素": ["element", "the factor"], "長い": ["a very long gloss of many words"], "無": ["unknown"]}
    words = ["element", "factor", "long", "gloss", "words"]
    found = translation_matrix(["要素", "長い", "無", "ない"], words, glosses).toarray()
    np.testing.assert_allclose(found[0], [0.5, 0.5, 0, 0, 0])
    assert found[1, 2] == found[1, 3] == found[1, 4] > 0  # no short gloss: the long one has to do
    assert not found[2:].any()
