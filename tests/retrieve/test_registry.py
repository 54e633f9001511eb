"""The table of methods: everything in it can be imported, parametrized, and says what it needs."""

import pytest

import tacit.retrieve
from tacit.core import UsageError
from tacit.retrieve import METHODS, get_method


@pytest.mark.parametrize("name", METHODS)
def test_the_class_is_exported_by_the_package(name):
    kind = METHODS[name].estimator
    assert getattr(tacit.retrieve, kind.__name__) is kind
    assert kind.__name__ in tacit.retrieve.__all__
    assert METHODS[name].make().get_params(deep=False).items() >= METHODS[name].params.items()


def test_which_methods_learn_from_pairs():
    ignoring = {name for name, method in METHODS.items() if not method.estimator.learns_from_pairs}
    assert ignoring == {"tfidf", "bm25", "lsi"}
    optional = {name for name, m in METHODS.items() if m.estimator.learns_from_pairs and not m.estimator.needs_pairs}
    assert optional == {"blend", "qe", "lsi+tfidf", "htr-reconstruction"}


def test_a_wrong_parameter_lists_those_that_exist():
    with pytest.raises(UsageError, match=r"'lsi' has no parameter 'width'; its parameters are dim=200, n_iter=4"):
        get_method("lsi").make(width=3)
    with pytest.raises(UsageError, match="method is 'tfdif', want one of blend, tfidf, bm25"):
        get_method("tfdif")


def test_offers_do_not_change_what_makes_the_method():
    assert get_method("ssi-d").offer(dim=50).dim == 0
    assert get_method("ssi-uv").offer(dim=50, seed=3, unknown=1).get_params()["dim"] == 50
    assert get_method("lsi").offer(dim=None).dim == 200
