"""Common parts of the readers of article metadata: entries, and errors with file and line."""

import logging
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange.sources import Source
from idstore.remedies import Remedy
from idstore.schemes.article_fields import FIELDS

_SUPPLEMENT: Final = re.compile(
    r"(?:(?:suppl?ements?|suppl?|sup|s)(?![^\W\d_]))?[\W_]*+([0-9]*)[\W_]*", re.IGNORECASE
)
"""The number of a supplement, also after its word; or its word alone."""
_TOLD: Final = re.compile(r"sup[a-z]*[\W_]*([0-9]*)", re.IGNORECASE)
"""A supplement within an issue."""
_DOI: Final = re.compile(r"\b10\.[0-9]{4,9}(?:/|%2F)\S", re.IGNORECASE)
_SAID_IN_NOTE: Final = re.compile(
    r"^[^\S\n]*+(?:(?:volume|vol|issue|number|no|pages?|pp|issn|title)\.?\s*[:=].*|suppl(?:ement)?\.?\s*[0-9]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_TAKEN: Final = "idstore's own JSON, CSL-JSON, Crossref's JSON, JATS XML, BibTeX and RIS"
EXTRA: Final = "articles"
"""The extra with the optional dependencies for JATS, BibTeX and RIS."""


@dataclass(frozen=True, slots=True)
class ArticleEntry:
    """One article of a file, or its error, so that reading can go on with the next one.

    line    its first line, from 1.
    result  its fields in the order of `FIELDS`, or the error.
    passed  keys of idstore's own JSON that are unknown and were ignored.
    doubts  what else was not understood or not used, in words: the label may not say what the source says.
    """

    file: str
    line: int
    result: Mapping[str, str] | InvalidData
    passed: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    def fields(self, *, strict: bool = False) -> Mapping[str, str]:
        """Return the fields, in the order of `FIELDS`.

        strict  whether unknown keys and doubts are errors.
        Raises InvalidData with file and line, and the field if one is at fault.
        """
        if isinstance(self.result, InvalidData):
            raise self.result
        if strict and (self.passed or self.doubts):
            unknown = [f"the key {key!r} is not known" for key in self.passed]
            raise failure(self.file, self.line, "; ".join([*unknown, *self.doubts]))
        return self.result


def unpaged(page: str, number: str) -> Iterator[str]:
    """Yield what to tell of an article that has a number where others have a page."""
    if number and not page:
        yield f"the article number ({number}) is no page, and not used"


def not_taken(format: str) -> str:
    """Return what to say of a file or record in a format that is known, and not read."""
    return f"this is {format}; taken are {_TAKEN}: convert it"


def names_doi(text: str) -> bool:
    """Whether a text holds a DOI, perhaps among other words.

    >>> names_doi("see https://doi.org/10.1045/a"), names_doi("version 10.1045")
    (True, False)
    """
    return _DOI.search(text) is not None


def unread_note(note: str) -> str | None:
    r"""Return the first line of a note that says what belongs into the label; None if none does.

    >>> unread_note("tex.x: 1\nVolume: 31"), unread_note("with a supplement")
    ('Volume: 31', None)
    """
    found = _SAID_IN_NOTE.search(note)
    return None if found is None else found[0].strip()


def unread_doi(values: Mapping[str, str], read: str, prose: Container[str]) -> Iterator[str]:
    """Yield what to tell of fields that hold a DOI, in an entry whose field for it is empty.

    read   the name of the field for the DOI.
    prose  names of fields whose texts may name the DOIs of other articles.
    """
    if values.get(read, "").strip():
        return
    for name, text in values.items():
        if name not in prose and names_doi(text):
            yield f"the field {name} ({text.strip()}), which may be the DOI, is not used; write it as {read}"


class Stream:
    """A source with bytes that were read ahead.

    head  the bytes read ahead.
    """

    def __init__(self, source: Source, head: bytes) -> None:
        self._source = source
        self._head = head
        self.name = source.name

    def put_back(self, content: bytes) -> None:
        """Return bytes to the front of the stream."""
        self._head = content + self._head

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes, none at the end. Raises InvalidData as the source."""
        if self._head:
            content, self._head = self._head[:size], self._head[size:]
            return content
        return self._source.read(size)

    def read_line(self, size: int) -> bytes:
        """Return the next line, at most ``size`` bytes of it; nothing at the end.

        Raises InvalidData as the source.
        """
        end = self._head.find(b"\n", 0, size) + 1 or min(size, len(self._head))
        line, self._head = self._head[:end], self._head[end:]
        if line.endswith(b"\n") or len(line) >= size:
            return line
        return line + self._source.read_line(size - len(line))


def failure(
    file: str, line: int | None, reason: str, *, remedy: Remedy | None = None, **fields: object
) -> InvalidData:
    """Return the error about a line of a file, or about the file."""
    place = file if line is None else f"{file}, line {line}"
    return InvalidData(f"{place}: {reason}", remedy=remedy, file=file, line=line, **fields)


def in_supplement(issue: str, supplement: str) -> str | None:
    """Return an issue with its supplement as one text.

    None if ``supplement`` tells no number, or another one than the issue itself does.

    >>> in_supplement("4", "Suppl. 2"), in_supplement("", "1"), in_supplement("4 suppl 2", "2")
    ('4 suppl 2', 'suppl 1', '4 suppl 2')
    >>> in_supplement("4", "Proceedings"), in_supplement("4 suppl 2", "3")
    (None, None)
    """
    number = _SUPPLEMENT.fullmatch(supplement.strip())
    told = _TOLD.search(issue)
    if number is None or (told and told[1] != number[1]):
        return None
    return issue if told else " ".join(filter(None, (issue, "suppl", number[1])))


def nonblank(values: Mapping[str, str | None]) -> dict[str, str]:
    """Return the fields that are neither absent nor blank, in the order of `FIELDS`."""
    return {name: text for name in FIELDS if (text := values.get(name)) is not None and text.strip()}


def library(file: str, module: str, format: str) -> Any:
    """Import a module of an optional dependency. Raises InvalidData, naming the extra."""
    package = module.partition(".")[0]
    try:
        imported = import_module(module)
    except ImportError as error:
        reason = (
            f"reading {format} takes the package {package}, which is not installed;"
            f" install it with `pip install 'idstore[{EXTRA}]'`"
        )
        raise failure(file, None, reason, extra=EXTRA) from error
    logging.getLogger(package).addHandler(logging.NullHandler())  # the reader reports errors itself
    return imported
