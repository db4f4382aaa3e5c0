"""PRONOM persistent unique identifiers (PUIDs): names of technical information, such as file formats.

A ``/`` separates a type and an identifier, both of lower-case letters and digits. Identifiers of a type that
begins with ``x-`` are temporary, private or experimental.
Source: The National Archives, Digital Preservation Technical Paper 2, The PRONOM PUID Scheme, 2006-07-27,
section "PUID structure".

>>> parse("info:pronom/fmt/18")
Puid(type='fmt', value='18')
>>> parse("http://www.nationalarchives.gov.uk/PRONOM/x-fmt/111").provisional
True
>>> parse("https://pronom.nationalarchives.gov.uk/fmt/18#sig") == parse("fmt/18")
True
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count
from types import MappingProxyType
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier, NotPermitted
from idstore.schemes import Allocation, Context, LabelType, Rule, Scheme, WrittenForm
from idstore.schemes._base import SchemeBase, refuse_metadata
from idstore.schemes._text import Excerpt, check_base
from idstore.schemes.settings import choice, with_defaults
from idstore.vocabulary import IDS

NAME: Final = "puid"
PRONOM: Final = "info:pronom/"
DEFAULT_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "chr": "character encoding",
        "cmp": "compression",
        "fmt": "file format",
        "hdw": "hardware",
        "sfw": "software",
    }
)
"""The types of the PRONOM service, each with and without ``x-``. The paper defines only ``fmt`` and allows
others."""

_PRONOM_FORM: Final = re.compile(
    r"info:pronom/|https?://(?:(?:www\.|apps\.)?nationalarchives\.gov\.uk/pronom"
    r"|pronom\.nationalarchives\.gov\.uk(?:/pronom)?)/",
    re.IGNORECASE | re.ASCII,
)
_AFTER_WEB: Final = re.compile(r"(?:/|\.xml)?(?:[?#].*)?$", re.DOTALL)
"""The end of a web address that names the same PUID: another format of the page, or a part of it."""
_WEB: Final = "http://www.nationalarchives.gov.uk/PRONOM/"
_PART: Final = re.compile("[a-z0-9]+")
_ANY: Final = re.compile("(?:x-)?[a-z0-9]+/[a-z0-9]+")
"""A PUID of any type."""
_COUNTED: Final = re.compile("[0-9]{1,18}")
"""Identifiers that are numbers of at most 64 bits."""
_LONG: Final = re.compile("[0-9]{10,}")
"""Numbers that cannot be chosen: the numbers that are minted later would go on from there for ever."""
_RANGE: Final = re.compile("x-(?P<type>[a-z0-9]+)/(?P<first>[0-9]{1,18})-(?P<last>[0-9]{1,18})")


@dataclass(frozen=True, slots=True, order=True)
class Puid:
    """A type and the identifier within it."""

    type: str
    value: str

    @property
    def provisional(self) -> bool:
        """Whether the type begins with ``x-``, which the standard calls not persistent."""
        return self.type.startswith("x-")

    def __str__(self) -> str:
        return f"{self.type}/{self.value}"


def parse(text: str) -> Puid:
    """Read a PUID: ``fmt/18``, ``info:pronom/fmt/18`` or a web address of PRONOM.

    Raises InvalidIdentifier.
    """
    start, end = _pronom_form(text) or (0, len(text))
    return _puid(Excerpt(text, text[start:end], start, NAME), DEFAULT_TYPES)


def written_key(text: str) -> str | None:
    """Return the comparison key of a PUID in one of PRONOM's own forms, as an IRI; None for other texts."""
    form = _pronom_form(text)
    return f"{PRONOM}{text[slice(*form)]}" if form and _ANY.fullmatch(text, *form) else None


def _pronom_form(text: str) -> tuple[int, int] | None:
    """Return where the label of one of PRONOM's own forms begins and ends; None for other texts."""
    form = _PRONOM_FORM.match(text)
    if form is None:
        return None
    after = _AFTER_WEB.search(text, form.end()) if "://" in form[0] else None
    return form.end(), after.start() if after else len(text)


class Puids(SchemeBase):
    """See `Scheme`, and in `idstore.schemes`: `Typed`, `Reserving`, `Restricting` and `Adjustable`.

    Settings: ``types`` (without ``x-``, separated by ``|``, each optionally with its meaning:
    ``fmt|lan:programming language``), ``authority`` (``external``: another registry assigns the PUIDs;
    ``own``: this registry does), ``reserved`` (ranges of provisional PUIDs that this registry assigns
    although the authority is elsewhere, separated by spaces: ``x-fmt/90000-99999``).
    """

    name = NAME
    title = "PRONOM persistent unique identifiers of file formats and the like (The National Archives)"
    identifier_class = IDS.Puid.value
    defaults: Mapping[str, str] = MappingProxyType(
        {"types": "|".join(DEFAULT_TYPES), "authority": "external", "reserved": ""}
    )
    adjustable = ("reserved",)
    chosen = True
    example = "fmt/18"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`; the default of ``authority`` is ``own`` for all bases except PRONOM's."""
        check_base(base, "/#", "http://formats.example.org/puid/")
        authority = "external" if base == PRONOM else "own"
        full = with_defaults({**self.defaults, "authority": authority}, settings)
        full["authority"] = choice(full, "authority", "external", "own")
        full["types"] = _types_setting(_types(full["types"]))
        full["reserved"] = _reserved_setting(full)
        return Context(base, full)

    def types(self, context: Context) -> tuple[LabelType, ...]:
        """See `Typed`: each type and its ``x-`` form."""
        types = _types(context.settings["types"]).items()
        formal = tuple(LabelType(code, title or DEFAULT_TYPES.get(code, "")) for code, title in types)
        return formal + tuple(LabelType(f"x-{entry.code}", entry.title, provisional=True) for entry in formal)

    def with_type(self, context: Context, code: str, title: str) -> Context:
        """See `Typed`."""
        if not _PART.fullmatch(code):
            raise InvalidData(
                f"the type {code!r} must be lower-case letters and digits, without x-, which comes with it",
                type=code,
            )
        if not title.strip() or not title.isprintable() or "|" in title:
            raise InvalidData(
                f"the meaning of the type {code} must be a few words on one line, without '|'",
                type=code,
                title=title,
            )
        types = {code: title.strip(), **_types(context.settings["types"])}
        return self.context(context.base, {**context.settings, "types": _types_setting(types)})

    def assigned_elsewhere(self, context: Context) -> bool:
        """See `Reserving`."""
        return context.settings["authority"] == "external"

    def reserved(self, label: str, context: Context) -> str | None:
        """See `Reserving`: where the authority is elsewhere, only the reserved ranges may be chosen from."""
        kind, _, value = label.partition("/")
        chosen = int(value) if _COUNTED.fullmatch(value) else -1
        here = not self.assigned_elsewhere(context)
        return (
            None
            if here or any(chosen in numbers for numbers in _ranges(kind, context))
            else _external(context)
        )

    def check_new(self, label: str, context: Context) -> None:
        """See `Restricting`: where this registry counts the numbers, one that is chosen is not very long."""
        _, _, value = label.partition("/")
        if _LONG.fullmatch(value) and not self.assigned_elsewhere(context):
            raise InvalidIdentifier(
                label,
                "a number of ten digits and more cannot be chosen, because all later numbers of this type"
                " would follow it; choose a shorter one",
                len(label) - len(value),
                NAME,
            )

    def parse(self, text: str) -> Puid:
        """See `Scheme`."""
        return parse(text)

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`."""
        start, end = 0, len(text)
        if text.startswith(context.base):
            start = len(context.base)
        elif form := _pronom_form(text):
            if context.base != PRONOM:
                raise InvalidIdentifier(
                    text, f"it belongs to PRONOM and is not under {context.base}", 0, NAME
                )
            start, end = form
        return str(_puid(Excerpt(text, text[start:end], start, NAME), _types(context.settings["types"])))

    def uniform(self, context: Context) -> bool:  # noqa: ARG002 - the same for all namespaces
        """See `Uniform`."""
        return True

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`."""
        own = (WrittenForm("uri", self.iri(label, context)), WrittenForm("bare", label))
        return (*own, WrittenForm("web", _WEB + label)) if context.base == PRONOM else own

    def series(self, label: str, context: Context) -> tuple[str, int]:  # noqa: ARG002 - the type suffices
        """See `Scheme`: each type is a series."""
        kind, _, value = label.partition("/")
        return kind, int(value) if _COUNTED.fullmatch(value) else 0

    def provisional(self, label: str, context: Context) -> bool:  # noqa: ARG002 - the type suffices
        """See `Scheme`."""
        return label.startswith("x-")

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:
        """See `Scheme`."""
        types = _types(settings["types"])
        message = (
            f"A PUID is a type ({', '.join(types)}; after x- for provisional ones), '/' and an identifier."
        )
        return (
            Rule(
                "characters",
                "Characters",
                "A PUID has only a to z, 0 to 9, '/' and '-'.",
                ("[^a-z0-9/-]",),
                forbidden=True,
                fixed=True,
            ),
            Rule("form", "Form", message, (f"^(x-)?({'|'.join(types)})/[a-z0-9]+$",)),
        )

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`: the next numbers of the type in the metadata's field ``type`` (default ``fmt``).

        Where the authority is elsewhere they come from the reserved ranges of the type.
        """
        refuse_metadata(allocation, "type")
        kind = allocation.metadata.get("type") or "fmt"
        types = _types(allocation.context.settings["types"])
        if kind.removeprefix("x-") not in types:
            reason = f"there is no type {kind!r} here; use {', '.join(types)}, each with or without x-"
            raise InvalidData(reason, field="type", value=kind)
        highest = allocation.highest(kind)
        if not self.assigned_elsewhere(allocation.context):
            return (f"{kind}/{number}" for number in count(highest + 1))
        ranges = _ranges(kind, allocation.context)
        if not ranges:
            raise NotPermitted(_external(allocation.context), field="type", value=kind)
        later = (range(highest + 1, numbers.stop) for numbers in ranges if highest in numbers)
        return (f"{kind}/{number}" for number in chain(*later, *ranges))


def _types(setting: str) -> dict[str, str]:
    """Return the types in the setting, sorted, each with its meaning or ''. Raises InvalidData."""
    types: dict[str, str] = {}
    for entry in sorted(setting.split("|")):
        code, colon, title = entry.partition(":")
        if not _PART.fullmatch(code):
            reason = (
                f"the type {code!r} in the setting types must be lower-case letters and digits, as in fmt|sfw"
            )
            raise InvalidData(reason, setting="types", value=entry)
        if not title.isprintable() or bool(colon) > bool(title.strip()):
            reason = (
                f"the type {entry!r} in the setting types needs a few words on one line after the colon,"
                " as in fmt:file format"
            )
            raise InvalidData(reason, setting="types", value=entry)
        types[code] = title.strip() or types.get(code, "")
    return types


def _types_setting(types: Mapping[str, str]) -> str:
    """Return the setting for types."""
    return "|".join(f"{code}:{title}" if title else code for code, title in sorted(types.items()))


def _reserved_setting(settings: Mapping[str, str]) -> str:
    """Return the stored form of the setting ``reserved``. Raises InvalidData."""
    types = _types(settings["types"])
    entries = settings["reserved"].split()
    for entry in entries:
        match = _RANGE.fullmatch(entry)
        if match is None or match["type"] not in types or int(match["first"]) > int(match["last"]):
            raise InvalidData(
                f"{entry!r} in the setting reserved is no range of a provisional type; write"
                " x-fmt/90000-99999",
                setting="reserved",
                value=entry,
            )
    if entries and settings["authority"] == "own":
        raise InvalidData(
            "a namespace with authority=own assigns every PUID; omit the setting reserved",
            setting="reserved",
            value=settings["reserved"],
        )
    return " ".join(dict.fromkeys(entries))


def _ranges(kind: str, context: Context) -> list[range]:
    """Return the numbers of a type that a namespace reserves."""
    matches = [_RANGE.fullmatch(entry) for entry in context.settings.get("reserved", "").split()]
    return [
        range(int(match["first"]), int(match["last"]) + 1)
        for match in matches
        if match is not None and f"x-{match['type']}" == kind
    ]


def _external(context: Context) -> str:
    """Return the reason why this registry does not assign a PUID, with the remedy."""
    reserved = context.settings.get("reserved", "")
    own = (
        f"this registry assigns only {', '.join(reserved.split())}"
        if reserved
        else "to assign provisional ones here, a namespace needs a range in its setting reserved,"
        " as reserved=x-fmt/90000-99999"
    )
    return f"PUIDs under {context.base} are assigned elsewhere and come by import; {own}"


def _puid(excerpt: Excerpt, types: Collection[str]) -> Puid:
    """Return the parts of a label. Raises InvalidIdentifier."""
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
