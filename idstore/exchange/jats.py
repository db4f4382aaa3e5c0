"""Article metadata in JATS XML and in its predecessor, the NLM journal archiving tag set.

A file holds one article, or many in any root element.
Entities are never expanded and nothing is fetched. A file that declares entities is refused. A reference to
an entity of the document type (``&eacute;``) stays in a title as it is, and the scheme reads it as HTML does.
Source: JATS 1.4 (ANSI/NISO Z39.96-2024), https://jats.nlm.nih.gov/archiving/tag-library/1.4/.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange import limits
from idstore.exchange.articles import (
    ArticleEntry,
    Stream,
    failure,
    in_supplement,
    library,
    names_doi,
    nonblank,
    unpaged,
)
from idstore.schemes.article_fields import FORMULA

_APART: Final = frozenset({"break", "fn", "xref"})
"""Elements in a title whose content is no part of the title."""


_NUMBERING: Final = ("issue-part", "volume-series", "volume-issue-group")
"""Elements beside ``volume`` and ``issue`` that say where an article was printed."""
_SUPPLEMENT: Final = re.compile(r"\bsup", re.IGNORECASE)
_FORMULAS: Final = frozenset({"math", "tex-math", "inline-formula", "disp-formula"})
_TITLE: Final = "title-group/{*}article-title"
_SUBTITLE: Final = "title-group/{*}subtitle"
_TITLES: Final = (_TITLE, _SUBTITLE)
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_GRAPHICS: Final = frozenset({"graphic", "inline-graphic", "inline-media", "media"})


class _Bounded:
    """A stream that limits the bytes between one article and the next."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.read_since = 0
        self.failed: InvalidData | None = None

    def read(self, size: int) -> bytes:
        try:
            content = self._stream.read(size)
        except InvalidData as error:
            self.failed = error
            raise
        self.read_since += len(content)
        if self.read_since > limits.ARTICLE:
            reason = f"an article is longer than {limits.ARTICLE} bytes, or there is none"
            self.failed = failure(self._stream.name, None, reason)
            raise self.failed
        return content


def entries(stream: Stream) -> Iterator[ArticleEntry]:
    """Yield the articles in file order.

    Raises InvalidData as `metadata.entries`, and if the package is not installed.
    """
    etree = library(stream.name, "lxml.etree", "JATS XML")
    bounded = _Bounded(stream)
    events = etree.iterparse(
        bounded,
        events=("start", "end"),
        tag="{*}article",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        attribute_defaults=False,
    )
    count = 0
    try:
        for event, article in events:
            if event == "start":
                _refuse_entities(stream.name, article)
            elif not any(True for _ in article.iterancestors("{*}article")):
                count += 1
                bounded.read_since = 0
                fields = nonblank(_fields(article))
                yield ArticleEntry(stream.name, article.sourceline, fields, doubts=tuple(_doubts(article)))
                _release(article)
    except etree.XMLSyntaxError as error:
        if bounded.failed is not None:
            raise bounded.failed from error
        # the message repeats the line, sometimes after a line break
        reason = " ".join(error.msg.rpartition(", line ")[0].split()) or error.msg
        reason = f"it is not well-formed XML: {reason} (column {error.offset})"
        raise failure(stream.name, error.lineno, reason) from error
    if not count:
        raise failure(stream.name, None, "there is no element article in it; give JATS XML")


def _refuse_entities(file: str, article: Any) -> None:
    dtd = article.getroottree().docinfo.internalDTD
    names = [entity.name for entity in dtd.iterentities()] if dtd is not None else []
    if names:
        reason = f"it declares the entity {names[0]!r}, and files that declare entities are not read"
        raise failure(file, None, f"{reason}; write characters")


def _release(article: Any) -> None:
    """Free the memory of an article and of the nodes before it."""
    article.clear(keep_tail=False)
    while article.getprevious() is not None:
        del article.getparent()[0]


def _fields(article: Any) -> dict[str, str | None]:
    journal, meta = article.find("{*}front/{*}journal-meta"), article.find("{*}front/{*}article-meta")
    doi = list(filter(_is_doi, _all(meta, "article-id")))
    return {
        "issn": ", ".join(filter(None, map(_text, sorted(_all(journal, "issn"), key=_electronic)))),
        "volume": _first(meta, "volume"),
        "issue": _issue(meta)[0],
        "page": _first(meta, "fpage") or _first(meta, "page-range"),
        "title": _first(meta, _TITLE),
        "subtitle": _first(meta, _SUBTITLE),
        "doi": _text(doi[0]) if doi else None,
    }


def _issue(meta: Any) -> tuple[str, list[str]]:
    """Return the issue with its supplement, and the supplements that it does not tell."""
    issue = _first(meta, "issue")
    supplements = list(dict.fromkeys(filter(None, map(_text, _all(meta, "supplement")))))
    both = in_supplement(issue, supplements[0]) if supplements else None
    return (issue, supplements) if both is None else (both, supplements[1:])


def _doubts(article: Any) -> Iterator[str]:
    """Yield what numbers the article beside its volume and issue, and formulas in its title."""
    meta = article.find("{*}front/{*}article-meta")
    dois = [_text(element).lower() for element in _all(meta, "article-id") if _is_doi(element)]
    several = {name: list(map(_text, _all(meta, name))) for name in ("volume", "issue", "fpage", *_TITLES)}
    for name, texts in {**several, "article-id": dois}.items():
        different = list(dict.fromkeys(filter(None, texts)))
        if len(different) > 1:
            last = name.rpartition("}")[2]
            yield f"of the elements {last} ({', '.join(different)}) the first is used"
    yield from _doubts_of_title(meta)
    yield from _doubts_of_ids(article, meta, dois)
    unused = {name: list(filter(None, map(_text, _all(meta, name)))) for name in _NUMBERING}
    for name, texts in {"supplement": _issue(meta)[1], **unused}.items():
        if texts:
            yield f"the element {name} ({', '.join(texts)}) is not used"
    yield from unpaged(_first(meta, "fpage"), _first(meta, "elocation-id"))
    titles = [element for path in _TITLES for element in _all(meta, path)]
    if any(_name(element) in _FORMULAS for title in titles for element in title.iter()):
        yield FORMULA


def _doubts_of_title(meta: Any) -> Iterator[str]:
    """Yield supplements in the title of the issue, and titles beside that of the article."""
    if not _all(meta, "supplement"):
        for name in ("issue-title", "issue-subtitle"):
            elements = [] if meta is None else meta.iterfind(f".//{{*}}{name}")
            issues = list(filter(_SUPPLEMENT.search, map(_text, elements)))
            if issues:
                yield f"the element {name} ({', '.join(issues)}) is not used"
    if not _first(meta, _TITLE):
        for name in ("title-group/{*}alt-title", "title-group/{*}trans-title-group/{*}trans-title"):
            if title := _first(meta, name):
                yield f"the element {name.rpartition('}')[2]} ({title}) is not used"


def _doubts_of_ids(article: Any, meta: Any, dois: Sequence[str]) -> Iterator[str]:
    """Yield DOIs that are not marked as such, and articles within the article."""
    others = [] if dois else [_text(element) for element in _all(meta, "article-id")]
    for text in filter(names_doi, others):
        yield f"the article-id ({text}), which may be the DOI, is not used; mark it as one"
    links = [] if dois else [str(element.get(_HREF) or "") for element in _all(meta, "self-uri")]
    for text in filter(names_doi, links):
        yield f"the self-uri ({text}), which may be the DOI, is not used; give an article-id"
    for name in ("sub-article", "response"):
        inner = [one for part in _all(article, name) for one in part.iterfind(".//{*}article-id")]
        if named := ", ".join(_text(one) for one in inner if _is_doi(one)):
            yield f"the {name} ({named}) is not read"


def _is_doi(element: Any) -> bool:
    return str(element.get("pub-id-type")).lower() == "doi"


def _electronic(issn: Any) -> bool:
    """Return whether an ISSN is not that of the printed edition, which sorts first."""
    return "ppub" not in issn.get("pub-type", "") and issn.get("publication-format") != "print"


def _all(parent: Any, path: str) -> list[Any]:
    return [] if parent is None else parent.findall(f"{{*}}{path}")


def _first(parent: Any, path: str) -> str:
    """Return the text of the first element that is not empty."""
    return next(filter(None, map(_text, _all(parent, path))), "")


def _text(element: Any) -> str:
    """Return the words of an element; markup inside words (italics, subscripts) adds no space."""
    return "" if element is None else " ".join("".join(_pieces(element)).split())


def _pieces(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in _children(element):
        if not isinstance(child.tag, str):  # a comment, an instruction, a reference to an entity
            yield child.text if (child.text or "").startswith("&") else ""
        elif _name(child) in _APART:
            yield " "
        else:
            yield from _pieces(child)
        yield child.tail or ""


def _children(element: Any) -> list[Any]:
    """Return the children of an element; of ``alternatives`` one, and TeX only if it is the only text."""
    children = list(element)
    if _name(element) != "alternatives":
        return children
    texts = [child for child in children if isinstance(child.tag, str) and _name(child) not in _GRAPHICS]
    return sorted(texts, key=lambda child: _name(child) == "tex-math")[:1]


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
