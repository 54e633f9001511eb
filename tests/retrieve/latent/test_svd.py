"""The singular vectors of scikit-learn, bit by bit, without its import; products in the order of scipy's sums."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd as of_sklearn

from tacit.core import one_blas_thread
from tacit.retrieve.factors import DenseFactors, factor_scores
from tacit.retrieve.latent.lsi import unit_rows
from tacit.retrieve.latent.reconstruction import count_above
from tacit.retrieve.latent.svd import product, randomized_svd


def drawn(n_rows, n_columns, seed=0, density=0.1):
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < density)).astype(
        np.float32
    )


@pytest.mark.parametrize("shape", [(60, 200), (200, 60), (40, 40)])
@pytest.mark.parametrize("n_iter", [0, 2, 4])
@pytest.mark.parametrize("dense", [False, True])
def test_the_same_bits_as_scikit_learn(shape, n_iter, dense):
    items = drawn(*shape)
    items = items.toarray() if dense else items
    with one_blas_thread():
        _, values, vectors = of_sklearn(items, 7, n_iter=n_iter, random_state=3)
        found = randomized_svd(items, 7, n_iter, np.random.RandomState(3))
    assert found[0].tobytes() == values.tobytes()
    assert np.array_equal(found[1], vectors)


@pytest.mark.parametrize("turned", [False, True])
def test_products_have_the_bits_of_scipy(turned):
    items = drawn(70, 50, density=0.3)
    directions = np.random.default_rng(1).normal(size=(70 if turned else 50, 13)).astype(np.float32)
    wanted = (items.T if turned else items) @ directions
    assert product(items, directions, turned=turned).tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_documents_above_a_limit_are_counted_by_exact_scores():
    rng = np.random.default_rng(0)
    queries, items = (unit_rows(rng.normal(size=(n, 20))) for n in (9, 400))
    items[100:200] = items[:100]  # equal scores on both sides of a limit
    scores = factor_scores(DenseFactors(items), queries)
    limits = scores[:, 5].copy()
    limits[4:] = np.nextafter(limits[4:], np.float32(-1))
    assert count_above(queries, items, limits).tolist() == np.count_nonzero(scores > limits[:, None], axis=1).tolist()
