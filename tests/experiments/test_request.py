"""Options with their defaults, and parameters that a user sets for all systems of a run."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from tacit.core import UsageError
from tacit.experiments.registry import EXPERIMENTS, get_experiment
from tacit.experiments.request import Request, with_params
from tacit.retrieve import CosineRanker, EmbeddingRanker, LsiRanker


def test_defaults_and_wrong_names():
    assert Request().corpus_of(("a", "b")) == "a"
    assert Request(corpus="b").corpus_of(("a", "b")) == "b"
    assert Request().systems_of(("x",), ("x", "y")) == ("x",)
    with pytest.raises(UsageError, match="corpus is 'c', want one of a, b"):
        Request(corpus="c").corpus_of(("a", "b"))
    with pytest.raises(UsageError, match="system is 'z', want one of x, y"):
        Request(systems=("y", "z")).systems_of(("x",), ("x", "y"))


def test_a_parameter_reaches_the_systems_that_have_it():
    params = {"dim": 7, "gamma": 0.5}
    assert with_params(LsiRanker(), params).get_params() == LsiRanker(dim=7).get_params()
    assert with_params(EmbeddingRanker(), params).get_params() == EmbeddingRanker(dim=7, gamma=0.5).get_params()
    assert with_params(CosineRanker(), params).get_params() == CosineRanker().get_params()


def test_a_parameter_that_no_system_has_is_an_error_that_names_the_systems():
    systems = {"tfidf": CosineRanker(), "lsi": LsiRanker(), "bm25": None}
    Request(params={"dim": 7}).check_params(systems)
    with pytest.raises(UsageError, match="'gamma'; the systems are tfidf, lsi, bm25"):
        Request(params={"dim": 7, "gamma": 0.5}).check_params(systems)


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_experiment_refuses_a_parameter_that_none_of_its_systems_has(name, tmp_path):
    with pytest.raises(UsageError, match="no system of this run has a parameter 'colour'"):
        get_experiment(name).run(Request(data=tmp_path, params={"colour": 1}))


def test_rows_show_what_was_set():
    assert Request(params={"dim": 7}).shown({"dim": 50, "seed": 0}) == {"dim": 7, "seed": 0}


def test_a_run_with_a_parameter():
    quick = Request(quick=True, systems=("bt",), params={"n_epochs": 3})
    usual, short = (get_experiment("spiral").run(r).rows[0] for r in (Request(quick=True, systems=("bt",)), quick))
    assert usual.values["spearman"].tolist() != short.values["spearman"].tolist()


def test_an_experiment_without_printed_rows_refuses_to_add_them():
    words = "crosslang has no rows of a printed recipe, want --as-printed with one of links"
    with pytest.raises(UsageError, match=words):
        get_experiment("crosslang").run(Request(as_printed=True))


def test_printed_forms_are_added_to_the_systems_that_have_one():
    printed = ("fg-printed", "iw-printed", "iw-printed-footnote")
    assert Request().systems_of(("fg", "bm25"), printed=printed) == ("fg", "bm25")
    assert Request(as_printed=True).systems_of(("fg",), printed=printed) == ("fg", *printed)
    assert Request(as_printed=True, systems=("iw", "bm25")).systems_of((), printed=printed) == (
        "iw",
        "bm25",
        *printed[1:],
    )
    assert Request(as_printed=True, systems=("fg-printed",)).systems_of((), printed=printed) == ("fg-printed",)
    with pytest.raises(UsageError, match="no printed form of bm25; want one of fg-printed, iw-printed"):
        Request(as_printed=True, systems=("bm25",)).systems_of((), printed=printed)


def test_seeds_follow_the_first_one():
    assert Request(seed=4).seeds == (4,)
    assert Request(seed=4, full=True).seeds == (4, 5, 6)
    assert Request(seed=4, full=True, n_seeds=2).seeds == (4, 5)
    assert Request(n_seeds=4).seeds == (0, 1, 2, 3)


def test_an_experiment_with_one_seed_refuses_several():
    with pytest.raises(UsageError, match="transduction runs one --seed, want --seeds with one of links, htr-over-ssi"):
        get_experiment("transduction").run(Request(n_seeds=3))
    with pytest.raises(UsageError, match="generated documents have one --seed, want --seeds with a linked corpus"):
        get_experiment("htr-over-ssi").run(Request(n_seeds=3, corpus="generated"))


def test_an_experiment_takes_several_seeds_if_it_plans_them():
    """Whether a module plans several seeds is seen from its text, or from the text of the plan it shares."""
    for name, experiment in EXPERIMENTS.items():
        module = import_module(experiment.home)
        text = Path(module.__file__).read_text("utf-8")
        assert ("request.seeds" in text or "plan_links" in text) == experiment.has_seeds, name


def test_an_experiment_that_reads_the_printed_option_does_not_refuse_it():
    """Whether a module plans printed rows is seen from its text: such an experiment must take `--as-printed`."""
    for name, experiment in EXPERIMENTS.items():
        module = import_module(experiment.home)
        text = Path(module.__file__).read_text("utf-8")
        if "as_printed" in text or "with_printed" in text or re.search(r"systems_of\(.*PRINTED", text):
            assert experiment.has_printed, name
