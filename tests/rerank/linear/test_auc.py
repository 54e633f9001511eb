"""The AUC loss against the sum over pairs and finite differences; the refit on worlds with one answer."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Lists, TacitError
from tacit.rerank.linear.auc import AucLoss, AucRanker, SemiAucRanker, minimise
from tacit.rerank.propagation.manifold import ManifoldRanker
from tacit.rerank.rows import group_rows

SEEDS = st.integers(0, 2**32 - 1)


def world(seed):
    """Rows of three lists with grades, unjudged ones among them, and two given pairs."""
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(24, 3)), np.repeat([0, 1, 2], 8)
    y = rng.choice([-1.0, 0, 1, 2], 24)
    return group_rows(X, y, qid, np.array([[0, 1], [9, 8]]), np.array([2.0, 0.5])), rng


def sum_over_pairs(rows, h, mean):
    total = sum(w * np.exp(h[j] - h[i]) for i, j, w in zip(*rows.given, strict=True))
    for start, stop in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        positive = [i for i in range(start, stop) if rows.y[i] >= 1]
        negative = [i for i in range(start, stop) if rows.y[i] < 1]
        terms = [np.exp(h[j] - h[i]) for i in positive for j in negative]
        total += sum(terms) / (len(terms) if mean else 1) if terms else 0
    return total


@settings(deadline=None, max_examples=25)
@given(SEEDS, st.booleans())
def test_linear_time_equals_the_sum_over_pairs(seed, mean):
    rows, rng = world(seed)
    h = rng.normal(size=24) * 3
    value, _ = AucLoss.of(rows, mean=mean).value_and_gradient(h)
    assert value == pytest.approx(sum_over_pairs(rows, h, mean), rel=1e-10)


@settings(deadline=None, max_examples=15)
@given(SEEDS)
def test_gradient_is_the_slope(seed):
    rows, rng = world(seed)
    loss, h, step = AucLoss.of(rows), rng.normal(size=24), 1e-6
    _, gradient = loss.value_and_gradient(h)
    nudges = step * np.eye(24)
    slopes = [(loss.value_and_gradient(h + n)[0] - loss.value_and_gradient(h - n)[0]) / (2 * step) for n in nudges]
    np.testing.assert_allclose(gradient, slopes, atol=1e-6, rtol=1e-6)


def test_scores_far_out_stay_finite():
    rows, _ = world(0)
    value, gradient = AucLoss.of(rows).value_and_gradient(np.linspace(-1e6, 1e6, 24))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_the_minimum_has_no_slope():
    rows, _ = world(3)
    loss = AucLoss.of(rows)
    beta = minimise(loss, rows.X, 0.1)
    _, gradient = loss.value_and_gradient(rows.X @ beta)
    np.testing.assert_allclose(rows.X.T @ gradient + 0.1 * beta, 0, atol=1e-5)


def test_learns_the_direction_from_grades_and_pairs_whatever_the_scale():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2)) * [1, 1000]
    y = (X[:, 0] > 0.5).astype(float)
    ranker = AucRanker().fit(X, y)
    assert ranker.score(X, y) > 0.99
    assert ranker.chosen() == {"l2": 0.1}
    pairs = AucRanker().fit(X, np.full(200, np.nan), pairs=[[int(X[:, 0].argmax()), int(X[:, 0].argmin())]])
    assert np.corrcoef(pairs.predict(X), X[:, 0])[0, 1] > 0


def clusters(seed=0):
    """Labels tell the first feature only; unjudged rows that are far from the positive differ in the second."""
    rng = np.random.default_rng(seed)
    relevant = np.column_stack([np.linspace(2, 1, 60), 0.1 * rng.normal(size=60)])
    strangers = np.column_stack([np.linspace(1, 2, 60), 3 + 0.1 * rng.normal(size=60)])
    negatives = rng.normal(size=(40, 2)) * 0.1
    X, truth = np.vstack([relevant, strangers, negatives]), np.repeat([1.0, 0.0], [60, 100])
    y = np.full(160, np.nan)
    y[0] = 1
    y[120:135] = 0
    return X, y, truth


def auc(model, X, truth):
    scores = model.predict(X)
    return np.mean(scores[truth == 1][:, None] > scores[truth == 0])


@pytest.mark.parametrize("loss", ["exponential", "binomial"])
@pytest.mark.parametrize("mean", [False, True])
def test_lambda_zero_is_the_supervised_model(loss, mean):
    X, y, _ = clusters()
    supervised = AucRanker(scale=False, loss=loss, mean=mean).fit(X, y)
    assert np.array_equal(
        SemiAucRanker(scale=False, lam=0, loss=loss, mean=mean).fit(X, y).weights_, supervised.weights_
    )


def test_the_graph_helps():
    X, y, truth = clusters()
    assert auc(AucRanker(scale=False).fit(X, y), X, truth) < 0.85
    for mean in (False, True):
        assert auc(SemiAucRanker(scale=False, n_top=60, mean=mean, lam=10).fit(X, y), X, truth) > 0.95


@settings(deadline=None, max_examples=15)
@given(SEEDS, st.booleans())
def test_binomial_form_is_the_sum_of_equation_3(seed, mean):
    rows, rng = world(seed)
    h = rng.normal(size=24)
    wanted = sum(w * np.log1p(np.exp(h[j] - h[i])) for i, j, w in zip(*rows.given, strict=True))
    for span in rows.spans:
        positive, negative = (np.flatnonzero(test) + span.start for test in (rows.y[span] >= 1, rows.y[span] < 1))
        terms = [np.log1p(np.exp(h[j] - h[i])) for i in positive for j in negative]
        wanted += sum(terms) / (len(terms) if mean else 1) if terms else 0
    loss = AucLoss.of(rows, mean=mean, binomial=True)
    value, gradient = loss.value_and_gradient(h)
    assert value == pytest.approx(wanted)
    step = 1e-6 * np.eye(24)
    slopes = [(loss.value_and_gradient(h + n)[0] - loss.value_and_gradient(h - n)[0]) / 2e-6 for n in step]
    np.testing.assert_allclose(gradient, slopes, atol=1e-7)


@settings(deadline=None, max_examples=15)
@given(SEEDS, st.booleans(), st.sampled_from([1.0, 2.0, 4.5]))
def test_the_push_is_its_sum_over_negative_rows(seed, mean, power):
    rows, rng = world(seed)
    h = rng.normal(size=24)
    wanted = sum(w * np.exp(h[j] - h[i]) for i, j, w in zip(*rows.given, strict=True))
    for span in rows.spans:
        positive, negative = (np.flatnonzero(test) + span.start for test in (rows.y[span] >= 1, rows.y[span] < 1))
        terms = [sum(np.exp(h[j] - h[i]) for i in positive) ** power for j in negative if len(positive)]
        wanted += sum(terms) / (len(terms) * len(positive) ** power if mean else 1) if terms else 0
    loss = AucLoss.of(rows, mean=mean, power=power)
    value, gradient = loss.value_and_gradient(h)
    assert value == pytest.approx(wanted)
    step = 1e-6 * np.eye(24)
    slopes = [(loss.value_and_gradient(h + n)[0] - loss.value_and_gradient(h - n)[0]) / 2e-6 for n in step]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5 * np.abs(gradient).max())


def test_the_push_lowers_the_worst_negative_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), (np.arange(60) < 20) * 1.0
    X[:20] += 0.5

    def of_negative_rows(loss):
        h = AucRanker(loss=loss, l2=1e-3, scale=False).fit(X, y).predict(X)
        return np.exp(h[20:]) * np.exp(-h[:20]).sum()

    assert of_negative_rows("p-norm-push").max() < 0.9 * of_negative_rows("exponential").max()


@pytest.mark.parametrize("mean", [False, True])
def test_a_refit_minimises_the_printed_criterion(mean):
    """Step 3: pairs of the labelled rows, and the manifold order of the n best unlabelled ones, at its minimum."""
    X, y, _ = clusters()
    first = AucRanker(scale=False, mean=mean).fit(X, y).predict(X)
    found = SemiAucRanker(scale=False, mean=mean, max_rounds=1, lam=3.0, alpha=0.9).fit(X, y)
    spread = ManifoldRanker(scale=False, alpha=0.9).fit(X, y).predict(X)
    unjudged = np.flatnonzero(np.isnan(y))
    best = unjudged[np.argsort(-first[unjudged])[:10]]
    phi = best[np.lexsort((-first[best], -spread[best]))]
    positive, negative = np.flatnonzero(y == 1), np.flatnonzero(y == 0)

    def criterion(beta):
        h = X @ beta
        pairs = sum(np.exp(h[j] - h[i]) for i in positive for j in negative)
        order = sum(np.exp(h[b] - h[a]) for a, b in pairwise(phi) if spread[a] > spread[b])
        return (pairs + 3 * order) / (len(positive) * len(negative) if mean else 1) + 0.05 * beta @ beta

    slopes = [(criterion(found.weights_ + n) - criterion(found.weights_ - n)) / 2e-6 for n in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(slopes, 0, atol=1e-3)
    assert found.n_rounds_ == 1


def test_alpha_is_chosen_on_validation_lists():
    X, y, truth = clusters()
    lists = Lists(X, truth, np.array([0, len(X)]), ["1"], [""] * len(X))
    values = {a: auc(SemiAucRanker(alpha=a, lam=10, n_top=60).fit(X, y), X, truth) for a in (0.1, 0.9)}
    found = SemiAucRanker(alpha=(0.1, 0.9), lam=10, n_top=60).fit(X, y, validation=lists)
    assert values[found.alpha_] == max(values.values())
    assert SemiAucRanker(alpha=(0.1, 0.9)).fit(X, y).alpha_ == 0.1


def test_a_larger_weight_keeps_more_of_the_manifold_order():
    X, y, _ = clusters()
    spread = ManifoldRanker(scale=False).fit(X, y).predict(X)
    reached = np.flatnonzero(np.isnan(y) & (spread > 0))
    rest = np.flatnonzero(np.isnan(y) & (spread == 0))
    shares = []
    for lam in (0, 5000):
        scores = SemiAucRanker(scale=False, lam=lam, n_top=60).fit(X, y).predict(X)
        shares.append(np.mean(scores[reached][:, None] > scores[rest]))
    assert shares[1] > shares[0] + 0.1


def test_row_order_does_not_matter():
    X, y, _ = clusters(1)
    order = np.random.default_rng(2).permutation(len(y))
    first, second = SemiAucRanker().fit(X, y), SemiAucRanker().fit(X[order], y[order])
    np.testing.assert_allclose(first.predict(X), second.predict(X), atol=1e-3)


@pytest.mark.parametrize("ranker", [AucRanker(), SemiAucRanker()])
def test_nothing_to_learn_from_is_said(ranker):
    with pytest.raises(TacitError, match="rows: 3, unjudged: 2, lists: 1"):
        ranker.fit(np.eye(3), [1, -1, -1])


@pytest.mark.parametrize("bad", [{"n_top": 1}, {"k": 0}, {"alpha": 1.0}, {"lam": -1}, {"max_rounds": 0}, {"l2": 0},
                                 {"loss": "hinge"}])  # fmt: skip
def test_bad_parameters_are_named(bad):
    with pytest.raises(TacitError, match=next(iter(bad))):
        SemiAucRanker(**bad).fit(np.eye(3), [1, 0, -1])
