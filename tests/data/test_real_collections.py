"""Every real collection is read, with the counts that its own description states."""

from functools import lru_cache

import pytest

from tacit.data import check_known, read_collection, read_links, read_qrels, read_queries

TEXT = {  # documents, queries, judged queries, judgments
    "cacm": (3204, 64, 52, 796),
    "cranfield": (1400, 225, 225, 1837 - 225),  # 225 pairs are -1
    "cisi": (1460, 112, 76, 3114),
}
LINKED = {"wikispeedia": (4598, 119_769), "mdn_ja_en": (14_587, 132_531), "foldoc": (11_794, 45_906)}
LINKED["debian_ja_en"] = (63_714, 207_876)
TRANSLATED = {"mdn_ja_en": 10_145, "debian_ja_en": 6511}

collection = lru_cache(maxsize=2)(read_collection)  # two tests in a row ask for the same one


@pytest.mark.parametrize("name", TEXT)
def test_collections_with_judgments(data_folder, name):
    folder = data_folder / "text" / name
    docs, queries, judgments = read_collection(folder), read_queries(folder), read_qrels(folder / "qrels.txt")
    assert (len(docs), len(queries), len(judgments.query_ids), len(judgments)) == TEXT[name]
    assert check_known(judgments, queries, docs) is judgments
    assert set(judgments.grade) == ({1.0, 2.0, 3.0, 4.0} if name == "cranfield" else {1.0})


def test_reuters(data_folder):
    docs = read_collection(data_folder / "text" / "reuters21578", extras=["topics", "modapte"])
    assert len(docs) == 21_578
    assert sum(not topics for topics in docs.extras["topics"]) == 10_211
    assert sum(not text for text in docs.texts) == 1799
    splits = list(docs.extras["modapte"])
    assert (splits.count("train"), splits.count("test")) == (9603, 3299)


@pytest.mark.parametrize("name", ["wikispeedia", "foldoc", "debian_ja_en", "mdn_ja_en"])
def test_linked_collections(data_folder, name):
    folder = data_folder / "linked" / name
    docs = collection(folder)
    links = read_links(folder / "links.tsv.gz", docs)
    assert (len(docs), len(links)) == LINKED[name]
    assert not (links.sources == links.targets).any()


@pytest.mark.parametrize("name", ["mdn_ja_en", "debian_ja_en"])
def test_translations_are_mates_one_to_one(data_folder, name):
    folder = data_folder / "linked" / name
    english, japanese = collection(folder), read_collection(folder / "docs.ja.jsonl.gz")
    mates = read_links(folder / "mates.tsv.gz", japanese, english)
    assert len(japanese) == len(mates) == TRANSLATED[name]
    assert len(set(mates.sources)) == len(set(mates.targets)) == len(mates)
    if name == "mdn_ja_en":
        assert len(read_links(folder / "links.ja.tsv.gz", japanese, english)) == 100_778


def test_letor_lists_serve_as_judgments(data_folder):
    judgments = read_qrels(data_folder / "letor" / "MQ2008" / "MQ2008.txt.gz")
    assert (len(judgments.query_ids), len(judgments)) == (784, 15_211)
    relevant = {int(query) for query in judgments.query[judgments.grade > 0]}
    assert len(judgments.query_ids) - len(relevant) == 220
