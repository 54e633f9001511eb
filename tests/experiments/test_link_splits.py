"""The protocol: parts are apart, test queries unseen, everything from the seed."""

import numpy as np
import pytest

from tacit.core import Links, TacitError
from tacit.experiments.collections.link_task import LinkSplit, split_links


@pytest.fixture(scope="module")
def links():
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 200, (3000, 2)), axis=0)
    return Links(*pairs.T, 200, 200)


@pytest.mark.parametrize("split", ["queries", "links"])  # "documents" drops what crosses
def test_parts_hold_every_real_link_once(links, split):
    parts = split_links(links, split, seed=0)
    codes = [
        set(zip(p.sources.tolist(), p.targets.tolist(), strict=True))
        for p in (parts.train, parts.validation, parts.test)
    ]
    real = {(s, t) for s, t in zip(links.sources.tolist(), links.targets.tolist(), strict=True) if s != t}
    assert codes[0] | codes[1] | codes[2] == real
    assert sum(map(len, codes)) == len(real)
    assert len(parts.test) == pytest.approx(0.3 * len(real), rel=0.1)
    assert len(parts.validation) == pytest.approx(0.05 * 0.7 * len(real), rel=0.3)


def test_no_link_of_a_test_query_is_in_training(links):
    parts = split_links(links, "queries", seed=0)
    seen = set(parts.train.sources) | set(parts.validation.sources)
    assert not seen & set(parts.test.sources)
    assert not set(parts.train.sources) & set(parts.validation.sources)


def test_candidates_are_all_but_the_query_and_its_known_links(links):
    parts = split_links(links, "links", seed=1)
    rows = parts.test_queries(20, seed=1)
    excluded, relevant = parts.excluded(rows).toarray(), parts.relevant(rows).toarray()
    assert excluded[np.arange(20), rows].all()
    assert not (excluded & relevant).any()
    known = set(parts.train.targets[parts.train.sources == rows[0]]) | set(
        parts.validation.targets[parts.validation.sources == rows[0]]
    )
    assert set(np.flatnonzero(excluded[0])) == known | {rows[0]}


def test_the_seed_decides(links):
    first, again, other = (split_links(links, "queries", seed) for seed in (3, 3, 4))
    assert np.array_equal(first.test.sources, again.test.sources)
    assert not np.array_equal(np.unique(first.test.sources), np.unique(other.test.sources))
    assert np.array_equal(first.test_queries(5, 0), again.test_queries(5, 0))


def test_overlap_is_refused(links):
    with pytest.raises(TacitError, match="two parts"):
        LinkSplit("queries", links, links.take(np.arange(2)), links.take(np.arange(3, 5)))


def test_an_unknown_split_is_refused(links):
    with pytest.raises(TacitError, match="did you mean 'queries'"):
        split_links(links, "query", seed=0)


def test_documents_of_the_test_part_touch_no_training_link(links):
    parts = split_links(links, "documents", seed=0)
    tested = set(parts.candidates.tolist())
    for part in (parts.train, parts.validation):
        assert not tested & (set(part.sources.tolist()) | set(part.targets.tolist()))
    assert set(parts.test.sources.tolist()) | set(parts.test.targets.tolist()) <= tested
    rows = parts.test_queries(10, seed=0)
    assert parts.relevant(rows).shape == parts.excluded(rows).shape == (len(rows), len(tested))
    assert parts.excluded(rows).sum() == len(rows)  # nothing but the query itself


def test_thinning_keeps_the_test_and_a_share_of_the_rest():
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 60, (900, 2)), axis=0)
    whole = split_links(Links(pairs[:, 0], pairs[:, 1], 60, 60), "queries", 0)
    thin = whole.thinned(0.1, 0)
    assert len(thin.train) == round(0.1 * len(whole.train))
    assert len(thin.validation) == max(1, round(0.1 * len(whole.validation)))
    assert np.array_equal(thin.test.sources, whole.test.sources)
    assert whole.thinned(1, 0) is whole
