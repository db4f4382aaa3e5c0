"""Article metadata: idstore's own JSON, CSL-JSON, Crossref's JSON, JATS XML and BibTeX; one article or many.

    {"issn": "0016-0032", "volume": 238, "issue": "3", "page": "224-224", "title": "Book Review"}

The content of a file, not its name, tells the format: XML begins with ``<``, JSON with ``{`` or ``[``, and
BibTeX has an entry at the start of a line (``@article{``). `FIELDS` are read; an absent field or blank text
means that the source has no value. Files are plain or gzip, in UTF-8 (XML: in its declared encoding). JATS
and BibTeX take the optional dependencies ``idstore[articles]``.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from typing import Final

from idstore.exchange import json_articles
from idstore.exchange.articles import FIELDS, ArticleEntry, Stream, failure
from idstore.exchange.sources import Readable, Source, opened

__all__ = ["FIELDS", "ArticleEntry", "entries", "read"]

_HEAD: Final = 1 << 16
"""Bytes at the start of a file that tell its format."""
_BOM: Final = b"\xef\xbb\xbf"
_XML: Final = (b"<", codecs.BOM_UTF16_LE + b"<", codecs.BOM_UTF16_BE + b"\0<")
_BIBTEX: Final = re.compile(rb"^[ \t]*@[A-Za-z]+[ \t]*[{(]", re.MULTILINE)


def entries(file: Readable) -> Iterator[ArticleEntry]:
    """Yield the articles of a file (a path, ``-`` for standard input, or a binary stream), in file order.

    Raises InvalidData, after the articles before that point: the file cannot be read, is cut off, or is
    malformed so that no later article can be found. `ArticleEntry.fields` raises the error of a single
    article. Memory: flat beyond some mebibytes.
    """
    with opened(file, failure) as source:
        yield from _entries(source)


def read(file: Readable) -> Iterator[Mapping[str, str]]:
    """Yield the metadata of a file, article by article.

    Raises InvalidData, with file and line, at the first malformed one.
    """
    return (entry.fields() for entry in entries(file))


def _entries(source: Source) -> Iterator[ArticleEntry]:
    head = b""
    while len(head) < _HEAD and (more := source.read(_HEAD)):
        head += more
    head = head.removeprefix(_BOM)
    stream = Stream(source, head)
    start = head.lstrip()
    if start.startswith(_XML):
        from idstore.exchange import jats

        return jats.entries(stream)
    if not start.startswith((b"{", b"[")) and _BIBTEX.search(head):
        from idstore.exchange import bibtex

        return bibtex.entries(stream)
    return json_articles.entries(stream)
