"""Pages are read and words counted by tasks on a cluster, with the bits of one machine."""

import mmap

import numpy as np
import pytest

from tacit.core import DataError, TacitError, UsageError
from tacit.core.mapped import release
from tacit.core.threads import map_tasks
from tacit.data import read_linked_collection
from tacit.features import TextVectorizer


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(400)] + ["ranking", "ranked", "ranks", "Öl", "日本", "the"]
    drawn = rng.zipf(1.3, (120, 50)) % len(words)
    return ["", *(" ".join(words[word] for word in row) for row in drawn), ""]


def arrays(counts):
    return [(part.dtype, part.tobytes()) for part in (counts.data, counts.indices, counts.indptr)]


@pytest.mark.parametrize("params", [{}, {"words": 100, "stem": True, "stop_words": ["the"], "min_df": 2}])
@pytest.mark.parametrize("characters", [200, 1 << 22])
def test_words_are_counted_with_the_bits_of_one_machine(texts, on_cluster, monkeypatch, params, characters):
    monkeypatch.setattr("tacit.features.text.vocabulary.TASK_CHARACTERS", characters)
    alone, parted = TextVectorizer(**params), TextVectorizer(**params)
    rows = alone.fit_transform(texts)
    with on_cluster():
        same = parted.fit_transform(iter(texts))
    assert parted.vocabulary_ == alone.vocabulary_
    assert parted.idf_.tobytes() == alone.idf_.tobytes()
    assert arrays(same) == arrays(rows)


def test_rows_are_mapped_in_a_cluster_alone(texts, on_cluster, monkeypatch):
    monkeypatch.setattr("tacit.core.mapped.MAPPED_BYTES", 0)
    with on_cluster():
        mapped = TextVectorizer().fit_counts(texts)
    usual = TextVectorizer().fit_counts(texts)
    assert (is_mapped(mapped.data), is_mapped(mapped.indices), is_mapped(usual.data)) == (True, True, False)
    release(mapped.data)
    assert arrays(mapped) == arrays(usual)


def is_mapped(array):
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return isinstance(array, mmap.mmap)


def test_a_text_that_is_none_is_named_by_its_row(texts, on_cluster):
    with on_cluster():
        with pytest.raises(TacitError, match="text 3 is of type int"):
            TextVectorizer().fit([*texts[:3], 7])
        with pytest.raises(UsageError, match="texts is one string"):
            TextVectorizer().fit("one")


def test_results_come_in_order_and_few_blocks_are_under_way(on_cluster):
    n_read, ahead = 0, []

    def blocks():
        nonlocal n_read
        for number in range(40):
            n_read += 1
            yield [number]

    with on_cluster():
        for place, found in enumerate(map_tasks(sum, blocks())):
            assert found == place
            ahead.append(n_read - place)
    assert max(ahead) <= 7  # two for each of three processors, and the one that is waited for


PAGE = "<page><title>{title}</title><ns>0</ns><id>{id}</id><revision><text>{text}</text></revision></page>"


def test_a_dump_is_read_as_on_one_machine(on_cluster, monkeypatch, tmp_path):
    monkeypatch.setattr("tacit.data.wiki.dump._TASK_CHARACTERS", 30)
    texts = [f"'''Page {row}''' leads to [[Page {(row + 7) % 50}|another]] and [[Old]]" for row in range(50)]
    pages = [PAGE.format(title=f"Page {row}", id=row + 1, text=text) for row, text in enumerate(texts)]
    pages.append(PAGE.format(title="Old", id=99, text="#REDIRECT [[Page 3]]"))
    (tmp_path / "dump.xml").write_text(f"<mediawiki>{''.join(pages)}</mediawiki>")
    documents, links = read_linked_collection(tmp_path / "dump.xml")
    with on_cluster():
        same, same_links = read_linked_collection(tmp_path / "dump.xml")
    assert list(same) == list(documents)
    assert same.texts[0] == "Page 0 leads to another and Old"
    assert (same_links.sources.tolist(), same_links.targets.tolist()) == (
        links.sources.tolist(),
        links.targets.tolist(),
    )
    assert (0, 3) in zip(same_links.sources, same_links.targets, strict=True)
    (tmp_path / "cut.xml").write_text(f"<mediawiki>{''.join(pages)}")
    with on_cluster(), pytest.raises(DataError, match="truncated, 51 complete pages were read$"):
        read_linked_collection(tmp_path / "cut.xml")
