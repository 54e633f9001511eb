"""Dumps to collections and links: by hand, and the real ones in every compression and encoding."""

import bz2
import gzip
import io
import logging
import lzma
import sys
from pathlib import Path

import pytest

from tacit.core import DataError
from tacit.data import read_collection, read_linked_collection

SITE = """<siteinfo><case>{case}</case><namespaces><namespace key="0" /><namespace key="4">Wikipedia</namespace>
<namespace key="14" case="first-letter">Category</namespace></namespaces></siteinfo>"""


def page(number, title, text, *, namespace=0, redirect="", model="wikitext"):
    redirect = f'<redirect title="{redirect}" />' if redirect else ""
    return (
        f"<page><title>{title}</title><ns>{namespace}</ns><id>{number}</id>{redirect}<revision><id>9{number}</id>"
        f"<contributor><id>77</id></contributor><model>{model}</model><text>{text}</text></revision></page>\n"
    )


def dump(*pages, case="first-letter"):
    return f'<mediawiki xml:lang="en">{SITE.format(case=case)}\n{"".join(pages)}</mediawiki>'


@pytest.fixture
def stored(tmp_path):
    def write(content, name="dump.xml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def pairs(documents, links):
    titles = documents.titles
    return [(titles[s], titles[t]) for s, t in zip(links.sources, links.targets, strict=True)]


def test_links_follow_redirects_to_the_article_at_their_end(stored):
    content = dump(
        page(1, "Cat", "a [[felis]] and a [[Felis catus]], a [[dog#Breeds|hound]], [[ dog]], a [[Loop A]], [[cat]]"),
        page(2, "Felis", "#REDIRECT [[Felis catus]]", redirect="Felis catus"),
        page(3, "Felis catus", "#REDIRECT [[House_cat#Name]]"),  # older dumps have no <redirect>
        page(4, "House cat", "the [[Wikipedia:Cats]] [[Category:Cats]] [[unknown]]"),
        page(5, "Dog", "[[felis]]"),
        page(6, "Loop A", "", redirect="Loop B"),
        page(7, "Loop B", "", redirect="Loop A"),
        page(8, "Loop B", "", redirect="Nowhere"),
    )
    documents, links = read_linked_collection(stored(content))
    assert (documents.ids, documents.titles) == (["1", "4", "5"], ["Cat", "House cat", "Dog"])
    assert pairs(documents, links) == [("Cat", "House cat"), ("Cat", "Dog"), ("Dog", "House cat")]
    assert set(links.weights) == {1}


def test_a_wiki_whose_titles_begin_with_small_letters(stored):
    content = dump(page(1, "cat", "[[dog]] [[Dog]]"), page(2, "dog", "x"), page(3, "Dog", "x"), case="case-sensitive")
    documents, links = read_linked_collection(stored(content))
    assert pairs(documents, links) == [("cat", "dog"), ("cat", "Dog")]


def test_what_is_left_out_is_counted_and_bad_pages_are_named(stored, caplog):
    content = dump(
        page(1, "Cat", "cats"),
        page(2, "Wikipedia:Help", "x", namespace=4),
        page(3, "Old", "", redirect="Cat"),
        page(4, "Style", "x", model="css"),
        page(1, "Again", "x"),
        "<page><title>No text</title><ns>0</ns><id>8</id></page>",
        "<page><ns>0</ns><id>9</id><revision><text>x</text></revision></page>",
    )
    with caplog.at_level(logging.WARNING, "tacit"):
        documents = read_collection(stored(content))
    assert documents.ids == ["1"]
    messages = [record.getMessage().partition("dump.xml: ")[2] for record in caplog.records]
    assert messages[0] == "left out: 1 redirect, 1 page of another namespace, 4 bad pages; 1 article read"
    assert messages[1:] == [
        "bad page 'Style' in line 6: its model is 'css', want wikitext",
        "bad page 'Again' in line 7: its id 1 is in the dump already",
        "bad page 'No text' in line 8: it has no text",
    ]


def test_of_several_revisions_the_last_counts(stored):
    revision = "<revision><text>old</text></revision><revision><text>new</text></revision>"
    content = dump(f"<page><title>A</title><ns>0</ns><id>1</id>{revision}</page>")
    assert list(read_collection(stored(content)).texts) == ["new"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", ["dump", "dump.jsonl", "dump.xml"])
def test_a_dump_is_recognised_by_its_content(stored, pack, encoding, name, monkeypatch):
    content = dump(page(1, "Кот", "a &lt;b&gt;cat&lt;/b&gt; [[Dog]]"), page(2, "Dog", "woof")).encode(encoding)
    documents, links = read_linked_collection(stored(pack(content), name))
    assert [*documents] == [("1", "Кот", "a cat Dog"), ("2", "Dog", "woof")]
    assert pairs(documents, links) == [("Кот", "Dog")]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(content))))
    assert read_collection("-").ids == ["1", "2"]


WHOLE = dump(*(page(number, f"Page {number}", "words " * 50) for number in range(1, 400)))
BOMB = '<!DOCTYPE mediawiki [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (WHOLE[:100_000], r"dump\.xml:\d+: the dump is truncated, within the page 'Page \d+', \d+ complete pages"),
        (WHOLE[: -len("</mediawiki>")], r"the dump is truncated, 399 complete pages were read"),
        (WHOLE.replace("<title>Page 7</title>", "<title>Page & 7</title>"), r"dump\.xml:9: not XML: .*, 6 complete"),
        ("no XML at all", r"dump\.xml:1: not XML: .* want a MediaWiki dump"),
        ("", r"dump\.xml:1: not XML: no element found, want a MediaWiki dump"),
        ("<rss><page></page></rss>", r"not a MediaWiki dump: its root is <rss>, want <mediawiki>"),
        ("<?xml version='1.0'?>" + BOMB + WHOLE, "declares a document type"),
        (dump(page(3, "Old", "", redirect="Cat")), "has no article: 1 redirect"),
        (dump(), "has no article: no page at all"),
        (bz2.compress(WHOLE.encode())[:-20], r"dump\.xml: bzip2 data is truncated$"),
        (gzip.compress(WHOLE.encode())[:-2000], r"gzip data is truncated after this line, within the page '.*', \d+ "),
        (b"BZh91AY&SY garbage", "bzip2 data is damaged"),
    ],
)  # fmt: skip
def test_bad_dumps_are_one_line(stored, content, message):
    with pytest.raises(DataError, match=message) as refused:
        read_collection(stored(content))
    assert "\n" not in str(refused.value)


def test_a_dump_has_no_extra_fields(stored):
    with pytest.raises(DataError, match="have no field 'year'"):
        read_collection(stored(WHOLE), extras=["year"])


@pytest.mark.parametrize(
    ("name", "n_articles", "n_links"),
    [
        ("bgwiki-latest-pages-articles-shortened.xml.bz2", 1, 0),
        ("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2", 106, 86),
        ("enwiki-table-markup.xml.bz2", 5, 0),
        ("wikipedia2vec-enwiki-pages-articles-sample.xml.bz2", 2, 2),
    ],
)
def test_real_dumps(data_folder, name, n_articles, n_links):
    documents, links = read_linked_collection(Path(data_folder, "wikidump", name))
    assert (len(documents), 0 if links is None else len(links)) == (n_articles, n_links)
    for text in documents.texts:
        assert len(text) > 200
        assert not any(sign in text for sign in ("[[", "{{", "<ref", "|-", "'' "))
