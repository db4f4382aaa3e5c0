"""Metadata of articles: idstore's own JSON, CSL-JSON, Crossref's JSON, JATS XML and BibTeX; one article or many.

    {"issn": "0016-0032", "volume": 238, "issue": "3", "page": "224-224", "title": "Book Review", "doi": "10.1016/…"}

Which of them a file is its content says, not its name: XML begins with ``<``, JSON with ``{`` or ``[``, and BibTeX has an entry at the
beginning of a line (``@article{``). `FIELDS` are read; an absent field and blank text mean that the source has none. Plain or gzip, UTF-8
(XML: as it declares). JATS and BibTeX take the optional dependencies ``idstore[articles]``.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from typing import Final

from idstore.exchange import json_articles
from idstore.exchange.articles import FIELDS, Entry, Stream, failure
from idstore.exchange.sources import Readable, Source, opened

__all__ = ["FIELDS", "Entry", "entries", "read"]

_HEAD: Final = 1 << 16
"""Bytes that are looked at to tell what a file is."""
_BOM: Final = b"\xef\xbb\xbf"
_XML: Final = (b"<", codecs.BOM_UTF16_LE + b"<", codecs.BOM_UTF16_BE + b"\0<")
_BIBTEX: Final = re.compile(rb"^[ \t]*@[A-Za-z]+[ \t]*[{(]", re.MULTILINE)


def entries(file: Readable) -> Iterator[Entry]:
    """The articles of a file (a path, ``-`` for standard input, or a binary stream), in file order.

    Raises InvalidData: the file cannot be read, is cut off, or is malformed so that nothing behind that place can be told apart; what
    stands before it was given. What is wrong with one article alone its `Entry.fields` raises. Memory: flat beyond some mebibytes.
    """
    with opened(file, failure) as source:
        yield from _entries(source)


def read(file: Readable) -> Iterator[Mapping[str, str]]:
    """The metadata of a file, article by article. Raises InvalidData, with file and line, at the first that is malformed."""
    return (entry.fields() for entry in entries(file))


def _entries(source: Source) -> Iterator[Entry]:
    head = b""
    while len(head) < _HEAD and (more := source.read(_HEAD)):
        head += more
    head = head.removeprefix(_BOM)
    stream = Stream(source, head)
    begun = head.lstrip()
    if begun.startswith(_XML):
        from idstore.exchange import jats

        return jats.entries(stream)
    if not begun.startswith((b"{", b"[")) and _BIBTEX.search(head):
        from idstore.exchange import bibtex

        return bibtex.entries(stream)
    return json_articles.entries(stream)
