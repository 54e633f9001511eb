"""Wikitext to text and links: tricky pieces by hand, and real pages against mwparserfromhell."""

import re
import time
from collections import Counter

import pytest

from tacit.data.files import read_bytes
from tacit.data.wiki.markup import plain_page
from tacit.data.wiki.pages import DumpPages
from tacit.data.wiki.titles import Site

SITE = Site({"Portal": 100, "Категория": 14, "Файл": 6})


@pytest.mark.parametrize(
    ("wikitext", "text", "links"),
    [
        ("'''Bold''' and ''italic''", "Bold and italic", []),
        ("a [[dog]]s [[Cat|cats]] [[rock_&amp; roll#X|r]]", "a dogs cats r", ["Dog", "Cat", "Rock & roll"]),
        ("[[#Section]] [[:Category:Pets|pets]] [[Help:Contents]]", "Section pets Help:Contents", []),
        ("[[Category:Pets]] [[категория:Котки|к]] [[fr:Chat]] x", "x", []),
        ("[[wikt:cat|cat]] [[2001: Odyssey]]", "cat 2001: Odyssey", ["Wikt:cat", "2001: Odyssey"]),
        ("a {{x|{{y}}|[[Inner]]}} b", "a b", ["Inner"]),
        ("{{Infobox\n| a = b\n|}}after", "after", []),
        ("one {{never closed", "one never closed", []),
        ("closed never}} [[open", "closed never open", []),
        ("{{a|[[b}} c]] d", "c]] d", []),
        ("[[a|{{b]] c", "b c", ["A"]),
        ("x<ref>[[Book]] {{cite}}</ref>y<ref name=z />z<ref>never closed", "xyznever closed", []),
        ("x<!-- [[no]] -->y<!-- open [[no]]", "xy", []),
        ("<nowiki>[[no]]</nowiki> <math>x^2</math> <pre>{{kept}}</pre>", "[[no]] {{kept}}", []),
        ("H<sub>2</sub>O<br />new <span style='a'>line</span>", "H2O\nnew line", []),
        ("[[File:a.png|thumb|200px|A [[cat]] with [http://b.org a {{x}} site]]] b", "A cat with a site b", ["Cat"]),
        ("[[File:a.png|thumb]][[Image:b.png]][[файл:c.png|x300px]] b", "b", []),
        ("[http://a.org label] [http://b.org] http://c.org", "label http://c.org", []),
        ("== Head ==\n* one\n*# two\n: three\n----\n", "Head\none\ntwo\nthree", []),
        ('{| class="x"\n|+ T\n|-\n! a="c" | A !! B\n|-\n| 1 || b="d" | [[C]]\n|}\n', "T\n\n A B\n\n 1 C", ["C"]),
        ("&lt;b&gt; a&nbsp;b ({{lang|x}}; ) __NOTOC__", "<b> a b", []),
        ("Straße|[[straße]] [[ǆ]] [[Foo%20bar]]", "Straße|straße ǆ Foo%20bar", ["Straße", "Ǆ", "Foo bar"]),
    ],
)  # fmt: skip
def test_pieces(wikitext, text, links):
    page = plain_page(wikitext, SITE)
    assert (page.text, page.links) == (text, links)


def test_a_wiki_may_keep_the_first_letter():
    assert plain_page("[[cat]] [[Cat]]", Site(first_letter=False)).links == ["cat", "Cat"]


@pytest.mark.parametrize(
    "piece", ["[[", "{{", "]]", "}}", "<ref>", "<!--", "[http://a ", "{|\n", "<a ", "(", "=", "'", "[[a|", "{{{", "&#"]
)
def test_time_grows_with_the_length_for_any_text(piece):
    start = time.process_time()
    plain_page(piece * 20_000, SITE)
    plain_page(piece * 10_000 + "}}]]" * 10_000, SITE)
    assert time.process_time() - start < 3


def oracle(wikitext):
    """Words and links by mwparserfromhell, without what `markup` drops on purpose."""
    parser = pytest.importorskip("mwparserfromhell")
    code = parser.parse(wikitext, skip_style_tags=True)
    for tag in code.filter_tags(matches=lambda tag: str(tag.tag).strip().lower() == "ref"):
        code.remove(tag)
    links = {title for link in code.filter_wikilinks() for space, title in [SITE.split(str(link.title))] if not space}
    for link in code.filter_wikilinks():
        if SITE.split(str(link.title))[0] in (6, 14) and str(link) in str(code):
            code.remove(link)
    return Counter(re.findall(r"\w+", code.strip_code())), links - {""}


def test_real_pages_have_the_words_and_links_that_mwparserfromhell_finds(data_folder):
    path = data_folder / "wikidump" / "enwiki-table-markup.xml.bz2"
    ours, theirs, n_links, n_other_links = Counter(), Counter(), 0, 0
    for page in list(DumpPages(read_bytes(path), "dump"))[:3]:
        wikitext = re.sub(r"\[\[(?:File|Image):[^\[\]]*(?:\[\[[^\[\]]*\]\][^\[\]]*)*\]\]", "", page.text)
        plain, (words, links) = plain_page(wikitext, SITE), oracle(wikitext)
        ours += Counter(re.findall(r"\w+", plain.text))
        theirs += words
        n_links += len(links)
        n_other_links += len(links ^ set(plain.links))
    n_words = theirs.total()
    assert n_words > 5000
    assert n_links > 200
    assert n_other_links < 0.01 * n_links
    assert (ours - theirs).total() < 0.01 * n_words
    assert (theirs - ours).total() < 0.01 * n_words
