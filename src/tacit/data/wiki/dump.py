"""A MediaWiki dump as a collection of articles and the links between them.

Documents are the pages of the main namespace that are not redirects: the id is the page id, `markup` makes the text.
Links to a redirect go to the article at its end, over any number of redirects. While pages are read, titles are stored
as 64-bit hashes, so that links take 12 bytes each; among ten million titles, two have the same hash in about one of a
hundred thousand dumps.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from tacit.core import DataError, Links, plural
from tacit.core.threads import gather, map_tasks
from tacit.data.columns import id_problem, logger
from tacit.data.wiki.markup import plain_page
from tacit.data.wiki.pages import DumpPages, Page
from tacit.data.wiki.titles import Site

_N_NAMED = 3  # number of invalid pages to name
_TASK_CHARACTERS = 1 << 20  # of the pages read by one task


class DumpReader:
    """Reads the articles of a dump one at a time; after the last, `links` returns the links.

    Parameters
    ----------
    chunks : iterable of bytes
        Plain bytes of the dump.
    place : str
        Name of the file for messages.
    """

    def __init__(self, chunks: Iterable[bytes], place: str) -> None:
        self._pages, self._place = DumpPages(chunks, place), place
        self._titles, self._sources, self._targets = array("Q"), array("i"), array("Q")
        self._from, self._to = array("Q"), array("Q")  # redirects
        self._n_other, self._bad = 0, list[str]()

    def articles(self) -> Iterator[tuple[int, str, str, str]]:
        """Yield line, id, title and text of each article."""
        blocks = gather(self._article_pages(), lambda page: len(page.text or ""), _TASK_CHARACTERS)
        # Namespaces are read before the first page.
        for articles in map_tasks(_plain_articles, ((pages, self._pages.site) for pages in blocks)):
            for page, text, targets in articles:
                self._sources.extend([len(self._titles)] * len(targets))
                self._titles.append(self._hash(str(page.title)))
                self._targets.extend(targets)
                yield page.line, str(page.id), str(page.title), text

    def _article_pages(self) -> Iterator[Page]:
        """Yield the pages that are articles; count others."""
        seen: set[str] = set()
        for page in self._pages:
            if self._namespace(page) != "0":
                self._n_other += 1
            elif page.redirect is not None and page.title is not None:
                self._from.append(self._hash(page.title))
                self._to.append(self._hash(page.redirect))
            elif fault := _fault(page, seen):
                self._bad.append(f"{page.title!r} in line {page.line}: {fault}")
            else:
                seen.add(str(page.id))
                yield page
        self._report(len(seen))

    def links(self) -> Links | None:
        """Return links between the articles, each once, without links to itself; None if there are none."""
        n = len(self._titles)
        titles = np.concatenate([np.array(self._titles, np.uint64), np.array(self._from, np.uint64)])
        # Among equal titles the first counts; the node of an article is its row.
        known, node = np.unique(titles, return_index=True)
        following = np.arange(len(titles))
        following[n:] = _find(known, node, np.array(self._to, np.uint64))
        for _ in range(len(titles).bit_length()):  # each round doubles the number of redirects followed
            following = np.where(following < 0, -1, following[following])
        targets = _find(known, node, np.array(self._targets, np.uint64))
        targets = np.where(targets < 0, -1, following[targets])
        sources = np.array(self._sources, np.int64)
        joined = (targets >= 0) & (targets < n) & (targets != sources)  # circular redirects end at no article
        if not joined.any():
            return None
        pairs = np.unique(sources[joined] * n + targets[joined])
        return Links(pairs // n, pairs % n, n, n)

    def _namespace(self, page: Page) -> str:
        """Return the namespace of a page; older dumps have it only in the title."""
        return page.namespace or str(self._pages.site.split(page.title or "")[0])

    def _hash(self, title: str) -> int:
        namespace, name = self._pages.site.split(title)
        return _digest(name if namespace == 0 else f"{namespace}:{name}")

    def _report(self, n_articles: int) -> None:
        left_out = [
            (len(self._from), "redirect", "redirects"),
            (self._n_other, "page of another namespace", "pages of other namespaces"),
            (len(self._bad), "bad page", "bad pages"),
        ]
        summary = ", ".join(plural(*found) for found in left_out if found[0])
        if not n_articles:
            raise DataError(f"has no article: {summary or 'no page at all'}", path=self._place)
        if summary:
            logger.warning("%s: left out: %s; %s read", self._place, summary, plural(n_articles, "article"))
        for bad in self._bad[:_N_NAMED]:
            logger.warning("%s: bad page %s", self._place, bad)


def _plain_articles(block: tuple[list[Page], Site]) -> list[tuple[Page, str, array[int]]]:
    """Return pages without markup, their texts, and hashes of the titles that they link to."""
    pages, site = block
    plain = [plain_page(page.text or "", site) for page in pages]
    return [
        (page._replace(text=None), text, array("Q", map(_digest, links)))
        for page, (text, links) in zip(pages, plain, strict=True)
    ]


def _fault(page: Page, seen: set[str]) -> str:
    """Return the problem of a page, or an empty string."""
    if not page.title or not page.id:
        return "it has no title" if not page.title else "it has no id"
    if problem := id_problem(page.id):
        return f"its id {problem}"
    if page.id in seen:
        return f"its id {page.id} is in the dump already"
    if page.text is None:
        return "it has no text"
    return "" if page.model in (None, "wikitext") else f"its model is {page.model!r}, want wikitext"


def _digest(title: str) -> int:
    return int.from_bytes(hashlib.blake2b(title.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _find(known: np.ndarray, node: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the node of each title, -1 for titles without a page."""
    if not len(known):
        return np.full(len(wanted), -1)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[place] == wanted, node[place], -1)
