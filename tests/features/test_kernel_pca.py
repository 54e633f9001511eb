"""Kernel PCA against scikit-learn and against dense definitions; the diffusion kernel against walks step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import KernelPCA

from tacit.core import TacitError, UsageError
from tacit.features.diffusion import DiffusionKernel, squared_distances
from tacit.features.kernel_pca import DEFAULT_KERNELS, Kernel, KernelPca

RNG = np.random.default_rng(5)
LIST = RNG.normal(size=(30, 6)) * [1, 10, 0.1, 3, 1, 2] + 4
OTHERS = RNG.normal(size=(50, 6)) * [1, 10, 0.1, 3, 1, 2] + 4


def scaled(X, like):
    return (X - like.mean(axis=0)) / like.std(axis=0)


def same_but_for_signs(found, wanted):
    signs = np.sign((found * wanted).sum(axis=0))
    np.testing.assert_allclose(found, wanted * signs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "oracle"),
    [
        (Kernel("linear", 5), KernelPCA(5)),
        (Kernel("polynomial", 6, degree=3), KernelPCA(6, kernel="poly", degree=3, gamma=1, coef0=0)),
        (Kernel("gaussian", 6, sigma=2.0), KernelPCA(6, kernel="rbf", gamma=1 / 8)),
    ],
)
def test_components_are_those_of_scikit_learn(kernel, oracle):
    pca = KernelPca((kernel,)).fit(LIST)
    oracle.fit(scaled(LIST, LIST))
    for rows in (LIST, OTHERS):
        same_but_for_signs(pca.transform(rows), oracle.transform(scaled(rows, LIST)))


def walk_by_steps(points, k, tau):
    """The kernel from its definition: edges one by one, then tau lazy steps."""
    n = len(points)
    distance = np.array([[np.linalg.norm(a - b) for b in points] for a in points])
    W = np.zeros((n, n))
    for i in range(n):
        for j in sorted((j for j in range(n) if j != i), key=lambda j: distance[i, j])[:k]:
            W[i, j] = W[j, i] = 1 / distance[i, j]
    degree = W.sum(axis=1)
    lazy = (np.eye(n) + W / degree[:, None]) / 2  # the walk's own transition matrix
    walked = np.linalg.matrix_power(lazy, tau)
    return np.sqrt(degree)[:, None] * walked / np.sqrt(degree)  # its symmetric form


def test_diffusion_is_a_lazy_walk():
    kernel = DiffusionKernel(LIST, n_neighbors=4, tau=3)
    np.testing.assert_allclose(kernel.matrix, walk_by_steps(LIST, 4, 3), atol=1e-12)
    assert np.linalg.eigvalsh(kernel.matrix).min() > -1e-12


def test_new_points_enter_through_their_nearest():
    kernel = DiffusionKernel(LIST, n_neighbors=3, tau=2)
    row = kernel.rows(OTHERS[:1])[0]
    distance = np.sqrt(squared_distances(OTHERS[:1], LIST)[0])
    near = np.argsort(distance)[:3]
    steps = (1 / distance[near]) / (1 / distance[near]).sum()
    np.testing.assert_allclose(row, steps @ kernel.matrix[near])
    np.testing.assert_allclose(kernel.rows(LIST), kernel.matrix, atol=1e-12)


def test_diffusion_components_are_those_of_the_centred_kernel():
    pca = KernelPca((Kernel("diffusion", 6, n_neighbors=4, tau=3),)).fit(LIST)
    K = DiffusionKernel(pca.points_, 4, 3)
    n = len(LIST)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(centring @ K.matrix @ centring)
    new = K.rows(scaled(OTHERS, LIST))
    centred = (new - K.matrix.mean(axis=0)) @ centring
    wanted = centred @ vectors[:, ::-1][:, :6] / np.sqrt(values[::-1][:6])
    same_but_for_signs(pca.transform(OTHERS), wanted)
    same_but_for_signs(pca.transform(LIST), vectors[:, ::-1][:, :6] * np.sqrt(values[::-1][:6]))


def test_twenty_five_components_of_four_families():
    pca = KernelPca().fit(LIST)
    assert [pca.families_.count(kernel.kind) for kernel in DEFAULT_KERNELS] == [6 + 1, 6, 6, 6]
    assert pca.transform(OTHERS).shape == (50, 25)
    assert pca.n_cut_ == 0
    assert (pca.transform(OTHERS)[:, 6] == 0).all()  # six features have six linear directions


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(2, 12), n_features=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_any_list_gives_finite_columns_whose_order_of_rows_does_not_matter(seed, m, n_features):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (m, n_features)) * 1.0  # with ties, copies and constant features
    rows = rng.integers(0, 3, (7, n_features)) * 1.0
    pca = KernelPca().fit(X)
    found = pca.transform(rows)
    assert found.shape == (7, 25)
    assert np.isfinite(found).all()
    assert pca.n_cut_ == max(0, 7 - (m - 1)) + 3 * max(0, 6 - (m - 1))


def test_short_lists_are_cut_to_their_size_less_one():
    pca = KernelPca().fit(LIST[:4])
    used = np.abs(pca.transform(OTHERS)).max(axis=0) > 0
    assert [int(used[first : first + n].sum()) for first, n in ((0, 7), (7, 6), (13, 6), (19, 6))] == [3, 3, 3, 3]
    assert pca.n_cut_ == 25 - 12


def test_signs_do_not_hang_on_the_order_of_documents():
    order = RNG.permutation(len(LIST))
    there, back = KernelPca().fit(LIST), KernelPca().fit(LIST[order])
    np.testing.assert_allclose(there.transform(OTHERS), back.transform(OTHERS), atol=1e-8)


def test_wrong_use_is_told():
    with pytest.raises(TacitError, match="a list of 1 document"):
        KernelPca().fit(LIST[:1])
    with pytest.raises(UsageError, match="did you mean 'gaussian'"):
        KernelPca((Kernel("gausian", 3),)).fit(LIST)
    with pytest.raises(TacitError, match="tau is 0"):
        DiffusionKernel(LIST, tau=0)


@pytest.mark.parametrize("degree", [2, 3])
def test_printed_polynomial_kernel_is_of_raw_features(degree):
    """k(x, y) = <x, y>^p of features as they are; only the kernel matrix is centred."""
    raw = LIST + 3.0
    pca = KernelPca((Kernel("polynomial", 4, degree=degree),), scale=False, center=False).fit(raw)
    K = (raw @ raw.T) ** degree
    centring = np.eye(len(raw)) - 1 / len(raw)
    values, vectors = np.linalg.eigh(centring @ K @ centring)
    wanted = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :4]
    same_but_for_signs(pca.transform(raw), wanted)


def test_width_is_a_multiple_of_the_median_distance():
    median, twice = (KernelPca((Kernel("gaussian", 3, width=width),)).fit(LIST).kernels_[0].sigma_ for width in (1, 2))
    assert twice == 2 * median
    with pytest.raises(TacitError, match="width is 0"):
        KernelPca((Kernel("gaussian", 3, width=0),)).fit(LIST)


@pytest.mark.parametrize("n_components", [3, 6])
def test_rounding_does_not_choose_among_directions_of_equal_variance(n_components):
    """Five clumps are five parts of the diffusion graph, so four directions have variance 1; any rotation has too."""
    clumps = np.random.default_rng(3).normal(size=(5, 8, 3)) + 40 * np.arange(5)[:, None, None]
    X = np.round(clumps.reshape(40, 3), 3)
    pca = KernelPca((Kernel("diffusion", n_components, n_neighbors=4),), scale=False)
    found = pca.fit(X).transform(X)
    for other in (X + 1000, X * (1 + 1e-13)):
        np.testing.assert_allclose(pca.fit(other).transform(other), found, atol=1e-7)
    K = DiffusionKernel(X - X.mean(axis=0), 4).matrix
    centring = np.eye(40) - 1 / 40
    kept = np.minimum(np.linalg.eigvalsh(centring @ K @ centring)[::-1][:n_components], 1)
    np.testing.assert_allclose(found.T @ found, np.diag(kept), atol=1e-9)  # still uncorrelated, with their variances


def test_distances_of_copies_are_not_rounding_errors():
    """The least distance is a share of the median between documents that differ."""
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 9)), 4, axis=0)
    squared = squared_distances(X, X)
    assert (squared[squared < 1e-9] > 0).any()
    apart = np.sqrt(squared[squared > 1e-9])
    assert DiffusionKernel(X, 3).floor == pytest.approx(1e-3 * np.median(apart), rel=1e-9)


def test_equal_documents_have_equal_components():
    """Without rounding, the matrix product gives copies at the edge of a block other last digits."""
    few = LIST[:29]
    X = np.repeat(few, 7, axis=0)[np.random.default_rng(1).permutation(7 * 29)]
    found = KernelPca().fit(few).transform(X)
    _, copies = np.unique(X, axis=0, return_inverse=True)
    for copy in range(29):
        assert (found[copies == copy] == found[copies == copy][0]).all()
