"""PRONOM persistent unique identifiers (PUIDs): they identify a class of technical information, first of all file formats.

A type and an identifier, lower-case letters and digits, divided by one ``/``. Identifiers of a type that begins with ``x-`` are temporary,
private or experimental.
Source: The National Archives, Digital Preservation Technical Paper 2, The PRONOM PUID Scheme, 2006-07-27, section "PUID structure".

>>> parse("info:pronom/fmt/18")
Puid(type='fmt', value='18')
>>> parse("http://www.nationalarchives.gov.uk/PRONOM/x-fmt/111").provisional
True
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.frozen import dataclass
from idstore.schemes import Allocation, Context, LabelType, Rule, Scheme, WrittenForm
from idstore.schemes._base import SchemeBase, unguided
from idstore.schemes._settings import choice, filled
from idstore.schemes._text import Excerpt, absolute
from idstore.vocabulary import IDS

NAME: Final = "puid"
PRONOM: Final = "info:pronom/"
DEFAULT_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {"chr": "character encoding", "cmp": "compression", "fmt": "file format", "hdw": "hardware", "sfw": "software"}
)
"""What the PRONOM service accepts, each with and without ``x-``; the paper itself defines ``fmt``, and says that others may follow."""

_PRONOM_FORM: Final = re.compile(r"info:pronom/|https?://(?:www\.)?nationalarchives\.gov\.uk/pronom/", re.IGNORECASE | re.ASCII)
_WEB: Final = "http://www.nationalarchives.gov.uk/PRONOM/"
_PART: Final = re.compile("[a-z0-9]+")
_COUNTED: Final = re.compile("[0-9]{1,18}")
"""Identifiers that are numbers, as far as a 64-bit integer holds them."""


@dataclass(frozen=True, slots=True, order=True)
class Puid:
    """A type and the identifier within it."""

    type: str
    value: str

    @property
    def provisional(self) -> bool:
        """Whether the type is an ``x-`` one, which the standard calls not persistent."""
        return self.type.startswith("x-")

    def __str__(self) -> str:
        return f"{self.type}/{self.value}"


def parse(text: str) -> Puid:
    """Read a PUID: ``fmt/18``, ``info:pronom/fmt/18`` or PRONOM's web address. Raises InvalidIdentifier."""
    form = _PRONOM_FORM.match(text)
    start = form.end() if form else 0
    return _puid(Excerpt(text, text[start:], start, NAME), DEFAULT_TYPES)


class Puids(SchemeBase):
    """See `Scheme`, `idstore.schemes.Typed` and `idstore.schemes.Reserving`.

    Settings: ``types`` (without ``x-``, divided by ``|``; what one means may follow it: ``fmt|lan:programming language``),
    ``authority`` (``external``: formal PUIDs are assigned elsewhere; ``own``).
    """

    name = NAME
    title = "PRONOM persistent unique identifiers of file formats and the like (The National Archives)"
    identifier_class = IDS.Puid.value
    defaults: Mapping[str, str] = MappingProxyType({"types": "|".join(DEFAULT_TYPES), "authority": "external"})
    chosen = True
    example = "fmt/18"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`; a base of one's own has ``authority=own`` unless said otherwise."""
        absolute(base, "/#", "http://formats.example.org/puid/")
        authority = "external" if base == PRONOM else "own"
        full = filled({**self.defaults, "authority": authority}, settings)
        full["authority"] = choice(full, "authority", "external", "own")
        full["types"] = _written(_types(full["types"]))
        return Context(base, full)

    def types(self, context: Context) -> tuple[LabelType, ...]:
        """See `Typed`: each type, and its ``x-`` form."""
        known = _types(context.settings["types"]).items()
        formal = tuple(LabelType(code, said or DEFAULT_TYPES.get(code, "")) for code, said in known)
        return formal + tuple(LabelType(f"x-{one.code}", one.title, provisional=True) for one in formal)

    def with_type(self, context: Context, code: str, title: str) -> Context:
        """See `Typed`."""
        if not _PART.fullmatch(code):
            raise InvalidData(f"the type {code!r} must be lower-case letters and digits, without x-; its x- form comes with it", type=code)
        if not title.strip() or not title.isprintable() or "|" in title:
            raise InvalidData(f"what the type {code} means must be a few words on one line, without '|'", type=code, title=title)
        known = {code: title.strip(), **_types(context.settings["types"])}
        return self.context(context.base, {**context.settings, "types": _written(known)})

    def reserved(self, label: str, context: Context) -> str | None:
        """See `Reserving`: formal PUIDs, unless this registry is their authority."""
        kind, _, _ = label.partition("/")
        return None if context.settings["authority"] == "own" or self.provisional(label, context) else _elsewhere(kind, context)

    def parse(self, text: str) -> Puid:
        """See `Scheme`."""
        return parse(text)

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`."""
        start = 0
        if text.startswith(context.base):
            start = len(context.base)
        elif form := _PRONOM_FORM.match(text):
            if context.base != PRONOM:
                raise InvalidIdentifier(text, f"it is PRONOM's, and not under {context.base}", 0, NAME)
            start = form.end()
        return str(_puid(Excerpt(text, text[start:], start, NAME), _types(context.settings["types"])))

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`."""
        own = (WrittenForm("uri", self.iri(label, context)), WrittenForm("bare", label))
        return (*own, WrittenForm("web", _WEB + label)) if context.base == PRONOM else own

    def series(self, label: str, context: Context) -> tuple[str, int]:  # noqa: ARG002 - the type says it
        """See `Scheme`: each type counts for itself."""
        kind, _, value = label.partition("/")
        return kind, int(value) if _COUNTED.fullmatch(value) else 0

    def provisional(self, label: str, context: Context) -> bool:  # noqa: ARG002 - the type says it
        """See `Scheme`."""
        return label.startswith("x-")

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:
        """See `Scheme`."""
        types = _types(settings["types"])
        message = f"A PUID is a type ({', '.join(types)}; after x- for provisional ones), '/' and an identifier."
        return (
            Rule("characters", "Characters", "A PUID has only a to z, 0 to 9, '/' and '-'.", ("[^a-z0-9/-]",), forbidden=True),
            Rule("form", "Form", message, (f"^(x-)?({'|'.join(types)})/[a-z0-9]+$",)),
        )

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`: the next numbers of the type that the metadata name under ``type`` (``fmt`` if they name none)."""
        unguided(allocation, "type")
        kind = allocation.metadata.get("type") or "fmt"
        types = _types(allocation.context.settings["types"])
        if kind.removeprefix("x-") not in types:
            reason = f"there is no type {kind!r} here; write one of {', '.join(types)}, with or without x- before it"
            raise InvalidData(reason, field="type", value=kind)
        if allocation.context.settings["authority"] == "external" and not kind.startswith("x-"):
            raise InvalidData(_elsewhere(kind, allocation.context), field="type", value=kind)
        return (f"{kind}/{number}" for number in count(allocation.highest(kind) + 1))


def _types(setting: str) -> dict[str, str]:
    """The types that the setting lists, sorted, and what it says of each. Raises InvalidData."""
    found: dict[str, str] = {}
    for one in sorted(setting.split("|")):
        code, colon, title = one.partition(":")
        if not _PART.fullmatch(code):
            reason = f"the type {code!r} in the setting types must be lower-case letters and digits, as in fmt|sfw"
            raise InvalidData(reason, setting="types", value=one)
        if not title.isprintable() or bool(colon) > bool(title.strip()):
            reason = f"the type {one!r} in the setting types needs a few words on one line behind the colon, as in fmt:file format"
            raise InvalidData(reason, setting="types", value=one)
        found[code] = title.strip() or found.get(code, "")
    return found


def _written(types: Mapping[str, str]) -> str:
    """The setting that lists these types."""
    return "|".join(f"{code}:{title}" if title else code for code, title in sorted(types.items()))


def _elsewhere(kind: str, context: Context) -> str:
    """Why nobody here gives out a formal PUID, and what to do."""
    return f"formal PUIDs under {context.base} are assigned elsewhere and come by import; mint a provisional one (type x-{kind}) instead"


def _puid(excerpt: Excerpt, types: Collection[str]) -> Puid:
    """The parts of a label. Raises InvalidIdentifier."""
    text = excerpt.text
    mark = len("x-") if text.startswith("x-") else 0
    kind = _PART.match(text, mark)
    slash = kind.end() if kind else mark
    if kind is None or text[slash : slash + 1] != "/":
        raise _unexpected(excerpt, slash, "in the type; it is lower-case letters and digits, then '/'")
    if kind.group() not in types:
        raise excerpt.error(f"there is no type {kind.group()!r}; there are {', '.join(types)}", mark)
    value = _PART.match(text, slash + 1)
    end = value.end() if value else slash + 1
    if value is None or end < len(text):
        raise _unexpected(excerpt, end, "after the '/'; there are lower-case letters and digits")
    return Puid(text[:slash], value.group())


def _unexpected(excerpt: Excerpt, index: int, place: str) -> InvalidIdentifier:
    trouble = f"{excerpt.text[index]!r} cannot stand" if index < len(excerpt.text) else "it ends"
    return excerpt.error(f"{trouble} {place}", index)


SCHEME: Final[Scheme] = Puids()
