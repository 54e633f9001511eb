"""Claims stand on their pages, agree by rounding, and a wrong one makes the command fail."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import TacitError, UsageError
from tacit.experiments import papers
from tacit.experiments.papers import CLAIMS, Claim, Command
from tacit.experiments.registry import EXPERIMENTS, get_experiment
from tacit.experiments.report import Report, Row
from tacit.experiments.request import Request

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.run.experiment} {claim.system} {claim.metric}")
def test_a_claim_is_printed_on_its_page_and_computed_by_a_known_experiment(claim):
    shown = claim.printed
    lines = [line for line in (DOCS / claim.page).read_text("utf-8").splitlines() if claim.system in line]
    assert any(shown in line for line in lines), f"{claim.page} has no line with {claim.system} and {shown}"
    assert claim.run.experiment in EXPERIMENTS
    assert round(claim.value, claim.digits) == claim.value


def fake(values):
    """An experiment that finds one value."""

    class Fake:
        def run(self, request):
            assert not request.check
            by_share = {0.5: np.array([0.9]), 1.0: values}
            rows = [Row("x", {"MAP": found}, 0.1, {"share": share}) for share, found in by_share.items()]
            return Report("fake", "toy", 0, rows)

    return Fake()


@pytest.mark.parametrize(("found", "agrees"), [(0.4054, True), (0.4046, True), (0.4056, False)])
def test_a_value_agrees_if_it_rounds_to_the_printed_one(found, agrees, monkeypatch, capsys):
    claim = Claim("papers.md", Command("fake", "toy"), "x", "MAP", 0.405, setting={"share": 1.0})
    monkeypatch.setattr(papers, "CLAIMS", (claim,))
    monkeypatch.setattr(papers, "get_experiment", lambda name: fake(np.array([found])))
    report = papers.run(Request(check=True))
    assert report.rows[0].setting["agrees"] == ("yes" if agrees else "no")
    assert main(["reproduce", "papers", "--check", "--json"]) == int(not agrees)
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["metrics"] == {"printed": 0.405, "found": found}
    missing = replace(claim, setting={"share": 0.3})
    with pytest.raises(TacitError, match="has no row of x"):
        papers.value_of(missing, fake(np.array([found])).run(Request()).rows)


def test_a_claim_of_several_rows_is_their_mean():
    claim = Claim("papers.md", Command("fake", "toy"), "x", "MAP", 80.0, 1, 100)
    assert papers.value_of(claim, fake(np.array([0.7])).run(Request()).rows) == pytest.approx(80)


def test_parameters_are_set_and_shown(monkeypatch):
    seen = []

    class Fake:
        def run(self, request):
            seen.append(dict(request.params))
            return fake(np.array([0.4])).run(request)

    monkeypatch.setattr(papers, "get_experiment", lambda name: Fake())
    claim = Claim("papers.md", Command("fake", "toy", params=(("dim", 5),)), "x", "MAP", 0.4, setting={"share": 1.0})
    assert claim.command == "tacit reproduce fake --corpus toy --systems x --set dim=5"
    assert [checked.agrees for checked in papers.check([claim], Request(check=False))] == [True]
    assert seen == [{"dim": 5}]


def test_without_check_nothing_is_computed(monkeypatch):
    monkeypatch.setattr(papers, "get_experiment", None)
    report = papers.run(Request())
    assert len(report.rows) == len(CLAIMS)
    assert report.tests() == []  # claims are not systems of one experiment
    assert all(line[-1].startswith("tacit reproduce ") for line in report.sections[0].rows)


def test_check_belongs_to_papers_alone():
    with pytest.raises(UsageError, match="give it to papers, not to spiral"):
        get_experiment("spiral").run(Request(check=True))


@pytest.mark.parametrize("given", [{"corpus": "mdn_ja_en"}, {"systems": ("htr",)}, {"quick": True}, {"words": None}])
def test_options_of_the_claims_are_refused_rather_than_ignored(given):
    with pytest.raises(UsageError, match=f"give it no --{next(iter(given))}$"):
        get_experiment("papers").run(Request(check=True, **given))


def test_a_report_without_tests_prints_no_empty_table_of_them(capsys):
    assert main(["reproduce", "papers"]) == 0
    printed = capsys.readouterr().out
    assert "Numbers of the pages" in printed
    assert "Each system against the next one" not in printed
