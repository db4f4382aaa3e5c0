"""Metadata of articles in JATS XML (and its forerunner, the NLM journal archiving tag set): one article, or many in whatever holds them.

Entities are never expanded and nothing is fetched: a file that declares entities is refused, a reference to one of the document type's
(``&eacute;``) stays what it is in a title, where the scheme reads it as HTML does.
Source: JATS 1.4 (ANSI/NISO Z39.96-2024), https://jats.nlm.nih.gov/archiving/tag-library/1.4/.
"""

from collections.abc import Iterator
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange.articles import Entry, Stream, cleaned, failure, library

_LONGEST: Final = 1 << 26
"""Bytes of one article: memory stays bounded."""
_APART: Final = frozenset({"break", "fn", "xref"})
"""Elements in a title that are no words of it: what they hold does not count."""


_GRAPHICS: Final = frozenset({"graphic", "inline-graphic", "inline-media", "media"})


class _Bounded:
    """What is read between one article and the next."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.read_since = 0
        self.failed: InvalidData | None = None

    def read(self, size: int) -> bytes:
        try:
            found = self._stream.read(size)
        except InvalidData as error:
            self.failed = error
            raise
        self.read_since += len(found)
        if self.read_since > _LONGEST:
            self.failed = failure(self._stream.name, None, f"an article is longer than {_LONGEST} bytes, or there is none")
            raise self.failed
        return found


def entries(stream: Stream) -> Iterator[Entry]:
    """The articles, in file order. Raises InvalidData as `idstore.exchange.metadata.entries`, and where the package is not installed."""
    etree = library(stream.name, "lxml.etree", "JATS XML")
    bounded = _Bounded(stream)
    steps = etree.iterparse(
        bounded,
        events=("start", "end"),
        tag="{*}article",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        attribute_defaults=False,
    )
    many = 0
    try:
        for event, article in steps:
            if event == "start":
                _refuse_entities(stream.name, article)
            elif not any(True for _ in article.iterancestors("{*}article")):
                many += 1
                bounded.read_since = 0
                yield Entry(stream.name, article.sourceline, cleaned(_said(article)))
                _forget(article)
    except etree.XMLSyntaxError as error:
        if bounded.failed is not None:
            raise bounded.failed from error
        reason = " ".join(error.msg.rpartition(", line ")[0].split()) or error.msg  # it repeats the place, at times behind a line break
        raise failure(stream.name, error.lineno, f"it is not well-formed XML: {reason} (column {error.offset})") from error
    if not many:
        raise failure(stream.name, None, "there is no element article in it; give JATS XML")


def _refuse_entities(file: str, article: Any) -> None:
    declared = article.getroottree().docinfo.internalDTD
    names = [entity.name for entity in declared.iterentities()] if declared is not None else []
    if names:
        raise failure(file, None, f"it declares the entity {names[0]!r}, and files that declare entities are not read; write characters")


def _forget(article: Any) -> None:
    """Give back the memory of an article and of what stands before it."""
    article.clear(keep_tail=False)
    while article.getprevious() is not None:
        del article.getparent()[0]


def _said(article: Any) -> dict[str, str | None]:
    journal, meta = article.find("{*}front/{*}journal-meta"), article.find("{*}front/{*}article-meta")
    doi = [one for one in _all(meta, "article-id") if one.get("pub-id-type") == "doi"]
    return {
        "issn": ", ".join(filter(None, map(_text, sorted(_all(journal, "issn"), key=_electronic)))),
        "volume": _text(_one(meta, "volume")),
        "issue": _text(_one(meta, "issue")),
        "page": _text(_one(meta, "fpage")),
        "title": _text(_one(meta, "title-group/{*}article-title")),
        "subtitle": _text(_one(meta, "title-group/{*}subtitle")),
        "doi": _text(doi[0]) if doi else None,
    }


def _electronic(issn: Any) -> bool:
    """Whether an ISSN is not that of the printed edition, which comes first."""
    return "ppub" not in issn.get("pub-type", "") and issn.get("publication-format") != "print"


def _all(parent: Any, path: str) -> list[Any]:
    return [] if parent is None else parent.findall(f"{{*}}{path}")


def _one(parent: Any, path: str) -> Any:
    return next(iter(_all(parent, path)), None)


def _text(element: Any) -> str:
    """The words of an element; marks inside words (italics, subscripts) leave no space behind."""
    return "" if element is None else " ".join("".join(_pieces(element)).split())


def _pieces(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in _said_once(element):
        if not isinstance(child.tag, str):  # a comment, an instruction, a reference to an entity
            yield child.text if (child.text or "").startswith("&") else ""
        elif _name(child) in _APART:
            yield " "
        else:
            yield from _pieces(child)
        yield child.tail or ""


def _said_once(element: Any) -> list[Any]:
    """The children of an element; of several ways to say the same one, and no TeX where there is another."""
    every = list(element)
    if _name(element) != "alternatives":
        return every
    said = [child for child in every if isinstance(child.tag, str) and _name(child) not in _GRAPHICS]
    return sorted(said, key=lambda child: _name(child) == "tex-math")[:1]


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
