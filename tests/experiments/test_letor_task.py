"""Labels are cut per query and nested; values of all folds stand side by side, one for each query."""

import numpy as np
import pytest

from tacit.core import Lists, TacitError, UsageError
from tacit.experiments.lists.letor_task import (
    FoldLists,
    cut_labels,
    first_queries,
    measure_folds,
    measure_lists,
    read_letor_corpus,
    shuffled_rows,
)


def make_lists(lengths=(4, 10, 1), seed=0):
    rng = np.random.default_rng(seed)
    n_rows = sum(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    names = [f"q{n}" for n in range(len(lengths))]
    return Lists(rng.normal(size=(n_rows, 2)), rng.integers(0, 3, n_rows) * 1.0, starts, names, [""] * n_rows)


@pytest.mark.parametrize(("share", "wanted"), [(0.05, [2, 2, 1]), (0.5, [2, 5, 1]), (1.0, [4, 10, 1])])
def test_kept_labels_are_counted_per_query(share, wanted):
    lists = make_lists()
    kept = np.isfinite(cut_labels(lists, share, seed=3).y)
    assert np.add.reduceat(kept, lists.starts[:-1]).tolist() == wanted
    assert np.array_equal(cut_labels(lists, share, seed=3).y[kept], lists.y[kept])


def test_labels_of_a_smaller_share_are_among_those_of_a_larger_and_do_not_hang_on_other_lists():
    lists = make_lists()
    few, many = (np.isfinite(cut_labels(lists, share, seed=1).y) for share in (0.3, 0.7))
    assert (many | ~few).all()
    alone = cut_labels(lists.take([1]), 0.3, seed=1)
    assert np.array_equal(np.isfinite(alone.y), few[4:14])


def test_ranks_keep_the_top_rows():
    lists = make_lists()
    kept = np.isfinite(cut_labels(lists, 0.2, seed=0, ranks=lists.X[:, 0]).y)
    assert set(np.nonzero(kept[4:14])[0]) == set(np.argsort(-lists.X[4:14, 0])[:2])


def test_values_of_folds_are_joined_in_order():
    lists = make_lists()
    folds = [FoldLists(str(n), lists, lists, lists.take([n])) for n in (1, 0)]
    found = measure_folds(folds, lambda fold: fold.test.X[:, 0])
    alone = measure_lists(lists, lists.X[:, 0])
    for name, values in found.items():
        assert values.tolist() == alone[name][[1, 0]].tolist()


def test_first_queries_and_wrong_names():
    assert first_queries(make_lists(), 0.4).query_ids == ["q0"]
    with pytest.raises(TacitError, match="share is 0"):
        first_queries(make_lists(), 0)


def test_reads_the_folds_of_real_sets(data_folder):
    corpus = read_letor_corpus(data_folder, "OHSUMED-letor3-QueryLevelNorm")
    assert "106 queries" in corpus.summary
    assert "queries without a relevant document, counted as 0: 1" in corpus.summary
    tested = [query for fold in corpus for query in fold.test.query_ids]
    assert sorted(tested) == sorted(corpus.lists.query_ids)
    with pytest.raises(UsageError, match="did you mean 'MQ2008'"):
        read_letor_corpus(data_folder, "MQ2007")


def test_shuffling_keeps_rows_whole_and_in_their_lists():
    lists = make_lists((5, 200))
    found = shuffled_rows(lists)
    assert np.array_equal(found.X, shuffled_rows(lists).X)
    for before, after in zip(lists, found, strict=True):
        table = np.column_stack([before.X, before.y]), np.column_stack([after.X, after.y])
        assert not np.array_equal(*table)
        assert np.array_equal(*(rows[np.lexsort(rows.T)] for rows in table))
