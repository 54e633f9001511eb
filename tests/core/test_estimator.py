"""The contract of estimators: parameters over several classes, nested parameters, copies."""

from typing import ClassVar

import pytest

from tacit.core import Estimator, NotFittedError, UsageError


class Base(Estimator):
    """Trains.

    Parameters
    ----------
    rate : float, default=0.1
        Learning rate. The first step is of this size.
    seed : int, default=0
        Random seed.
    """

    _fitted: ClassVar = {"weight_": "", "vectors_": "?items"}

    def __init__(self, *, rate=0.1, seed=0):
        self.rate, self.seed = rate, seed


class Wide(Base):
    """Trains wide vectors.

    Parameters
    ----------
    dim : int, default=100
        Width of the vectors.
    inner : estimator, default=None
        What is trained inside.
    """

    def __init__(self, dim=100, *, inner=None, **training):
        super().__init__(**training)
        self.dim, self.inner = dim, inner


def test_parameters_passed_on_count_as_own():
    assert Wide._get_param_names() == ["dim", "inner", "rate", "seed"]
    assert Wide(7, rate=0.5).get_params() == {"dim": 7, "inner": None, "rate": 0.5, "seed": 0}
    assert repr(Wide(7, rate=0.5)) == "Wide(dim=7, rate=0.5)"


def test_nested_parameters_are_reached_and_copied():
    outer = Wide(inner=Base(seed=3))
    assert outer.get_params()["inner__seed"] == 3
    copy = outer.set_params(inner__seed=4, dim=2).clone()
    assert (copy.dim, copy.inner.seed) == (2, 4)
    assert copy.inner is not outer.inner


def test_wrong_names_are_told():
    with pytest.raises(UsageError, match="no parameter 'dims', want one of dim, inner, rate, seed"):
        Wide().set_params(dims=3)


def test_fitted_attributes_are_asked_for_unless_optional():
    with pytest.raises(NotFittedError):
        Base()._check_fitted()
    base = Base()
    base.weight_ = 2.0
    base._check_fitted()
    assert base.chosen() == {"weight": 2.0}
