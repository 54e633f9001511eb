"""Names of measures: what is read, what is printed, what is refused and how."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import TacitError, UsageError
from tacit.metrics import KINDS, Measure, is_loss, parse_measure


@st.composite
def measures(draw):
    name = draw(st.sampled_from(sorted(KINDS)))
    kind = KINDS[name]
    cutoff = st.integers(1, 1000)
    cutoffs = {"needed": cutoff, "optional": cutoff | st.none(), "none": st.none()}
    return Measure(
        name,
        cutoff=draw(cutoffs[kind.cutoff]),
        rel=draw(st.sampled_from([1, 2, 3, 0.5])) if kind.rel else 1,
        judged_only=draw(st.booleans()) if kind.judged_only else False,
    )


@given(measure=measures())
@settings(max_examples=200, deadline=None)
def test_the_printed_name_is_read_back_as_the_same_measure(measure):
    assert parse_measure(str(measure)) == measure
    assert parse_measure(str(measure).upper().replace("REL=", "rel=")) == measure


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("AP", "AP"),
        ("map", "AP"),
        ("MRR@10", "RR@10"),
        (" ndcg@10 ", "nDCG@10"),
        ("nDCG-letor-judged@5", "nDCG-letor-judged@5"),
        ("NDCG-LETOR", "nDCG-letor"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("recall-judged(rel=0.50)@007", "R-judged(rel=0.5)@7"),
        ("AP(rel=1)", "AP"),
        ("auc(rel=2)", "AUC(rel=2)"),
    ],
)
def test_other_spellings_come_out_canonical(text, canonical):
    assert str(parse_measure(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDGC@10", "measure is 'nDGC', want one of AP, DCG, nDCG, .*did you mean 'nDCG'?"),
        ("ndcg-leter", "did you mean 'nDCG-letor'"),
        ("", "measure is '', want one of AP"),
        ("P", "measure P has no cutoff, want one as in P@10"),
        ("P@0", "measure 'P@0': the cutoff is '0', want a whole number >= 1, as in P@10"),
        ("P@-1", "the cutoff is '-1'"),
        ("P@1.5", "the cutoff is '1.5'"),
        ("nDCG@", "the cutoff is ''"),
        ("nDCG@٣", "the cutoff is '٣'"),
        ("nDCG@99999999999", "want a whole number"),
        ("nDCG@10@5", "the cutoff is '10@5'"),
        ("AP(rel=x)", "rel is 'x', want a grade above 0"),
        ("AP(rel=0)", "rel is '0', want a grade above 0"),
        ("AP(rel=nan)", "rel is 'nan'"),
        ("AP(cutoff=3)", "want a name such as AP"),
        ("nDCG(rel=2)", "measure nDCG has rel=2, but"),
        ("AUC@5", "measure AUC has the cutoff 5, but"),
        ("AUC-judged", "AUC-judged is unknown"),
        ("Judged-judged@5", "Judged-judged is unknown"),
        (7, "measure is 7, want a name"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_way_out(text, message):
    with pytest.raises(UsageError, match=message) as caught:
        parse_measure(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options", [{"cutoff": 0}, {"cutoff": 2.5}, {"rel": 0}, {"rel": float("nan")}])
def test_a_measure_built_by_hand_is_checked_too(options):
    with pytest.raises(TacitError, match="of AP is"):
        Measure("AP", **options)


def test_losses_are_known_by_name():
    assert [name for name in KINDS if is_loss(name)] == ["rank_loss"]
    assert is_loss("error")
    assert is_loss("rank_loss(rel=2)")
