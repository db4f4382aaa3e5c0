"""Article metadata: idstore's own JSON, CSL-JSON, Crossref's JSON, JATS XML, BibTeX and RIS; one or many.

    {"issn": "0016-0032", "volume": 238, "issue": "3", "page": "224-224", "title": "Book Review"}

The content of a file, not its name, tells the format: XML begins with ``<``, JSON with ``{`` or ``[``, and
BibTeX has an entry at the start of a line (``@article{``), and RIS begins with ``TY  - ``. `FIELDS` are read;
an absent field or blank text means that the source has no value. Files are plain or gzip, in UTF-8 (XML: in
its declared encoding). JATS, BibTeX and RIS take the optional dependencies ``idstore[articles]``.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from typing import Final

from idstore.exchange import json_articles
from idstore.exchange.articles import ArticleEntry, Stream, failure, not_taken
from idstore.exchange.sources import Readable, Source, opened
from idstore.schemes.article_fields import FIELDS

__all__ = ["FIELDS", "ArticleEntry", "entries", "read"]

_HEAD: Final = 1 << 16
"""Bytes at the start of a file that tell its format."""
_BOM: Final = b"\xef\xbb\xbf"
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
"""Marks at the beginning of a text in UTF-16 or UTF-32."""
_XML: Final = (b"<", codecs.BOM_UTF16_LE + b"<", codecs.BOM_UTF16_BE + b"\0<")
_ROOT: Final = re.compile(rb"<(?![?!])(?:[\w.-]+:)?([\w.-]+)")
_ELEMENTS: Final[Mapping[bytes, str]] = {
    b"PubmedArticleSet": "PubMed XML",
    b"PubmedArticle": "PubMed XML",
    b"pubmed": "PubMed XML",
    b"ArticleSet": "PubMed's XML for publishers",
    b"doi_batch": "a deposit at Crossref",
    b"crossref_result": "Crossref's XML",
    b"resource": "DataCite XML",
    b"modsCollection": "MODS",
    b"mods": "MODS",
    b"collection": "MARCXML",
    b"record": "MARCXML or EndNote XML",
    b"records": "EndNote XML",
    b"xml": "EndNote XML",
    b"OAI-PMH": "an answer by OAI-PMH",
    b"TEI": "TEI",
    b"RDF": "RDF/XML",
    b"feed": "Atom",
    b"rss": "RSS",
    b"html": "HTML",
    b"ONIXMessage": "ONIX",
    b"mets": "METS",
    b"dublin_core": "Dublin Core of DSpace",
    b"dc": "Dublin Core",
    b"eSummaryResult": "an answer of PubMed (ESummary)",
    b"responseWrapper": "an answer of Europe PMC",
    b"book": "XML of a book",
    b"issue": "an issue of OJS",
    b"issues": "issues of OJS",
    b"articles": "articles of OJS",
}
"""First element of XML → the format that it begins."""
_LINES: Final = (
    (re.compile(rb"PMID ?- "), "MEDLINE (nbib)"),
    (re.compile(rb"%[0A-Z] "), "EndNote's import format (refer)"),
    (re.compile(rb"RT [A-Z][a-z]"), "RefWorks' tagged format"),
    (re.compile(rb"\{\\rtf"), "RTF"),
    (re.compile(rb"(?:FN|PT|VR) [A-Z]"), "an export of Web of Science"),
    (re.compile(rb"---\s|[A-Za-z][\w-]*:\s*(?:\n|\r|$)"), "YAML"),
    (
        re.compile(rb"(?:[^\n]*\n){0,20}TY ? ?- ?[A-Z]{3,5}\s"),
        "RIS whose first line is not `TY  - `, with two spaces",
    ),
    (re.compile(rb"(?:@prefix|@base|PREFIX|BASE)\s"), "Turtle"),
    (re.compile(rb"[0-9]{5}[a-z][a-z]"), "MARC 21"),
    (re.compile(rb"PK\x03\x04"), "a ZIP archive or spreadsheet"),
    (re.compile(rb"%PDF"), "PDF"),
    (re.compile(rb"[^\n{}\[\t,;]*[\t,;][^\n{}\[]*(?:volume|title|issn|doi)", re.IGNORECASE), "a table"),
)
"""Beginning of a text → its format."""
_RIS: Final = b"TY  -"
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

        root = _ROOT.search(start)
        _refuse(source.name, _ELEMENTS.get(root[1]) if root else None)
        return jats.entries(stream)
    if head.startswith(_WIDE):
        raise failure(source.name, 1, "it is UTF-16 or UTF-32, which only XML may be; save it as UTF-8")
    if not start.startswith((b"{", b"[")) and b"\r" in start.strip() and b"\n" not in head:
        reason = "its lines end in carriage returns alone; save it with the line ends of Unix or Windows"
        raise failure(source.name, 1, reason)
    if not start.startswith((b"{", b"[")) and _BIBTEX.search(head):
        from idstore.exchange import bibtex

        return bibtex.entries(stream)
    if start.startswith(_RIS):
        from idstore.exchange import ris

        return ris.entries(stream)
    _refuse(source.name, next((name for beginning, name in _LINES if beginning.match(start)), None))
    return json_articles.entries(stream)


def _refuse(file: str, format: str | None) -> None:
    """Raise InvalidData: the file has a known format that is not read."""
    if format is not None:
        raise failure(file, 1, not_taken(format))
