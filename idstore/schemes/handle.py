"""Handles: a globally unique prefix, and a suffix that the owner of the prefix chooses.

The first ``/`` separates prefix and suffix. A new handle may have any character except controls, invisible
and unassigned ones and, unless a namespace allows them, characters beyond the Basic Multilingual Plane; a
handle that was issued elsewhere keeps its characters. There is no normalization. Handles are case
sensitive unless their namespace says otherwise; prefixes and DOI names (ISO 26324) are not.
Sources: Handle System, Handle Syntax (2008-05-23), http://www.handle.net/overviews/handle-syntax.html; RFC
3651.

>>> parse("10.1045/april2006-paskin")
Handle(prefix='10.1045', suffix='april2006-paskin')
>>> parse("10.1045/april2006-paskin") == parse("https://doi.org/10.1045/APRIL2006-PASKIN")
True
>>> parse("12345.1/a") == parse("12345.1/A")
False
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import total_ordering
from types import MappingProxyType
from typing import Final
from uuid import uuid4

from idstore.characters import BEYOND_BMP, ascii_upper, unwanted_class
from idstore.errors import InvalidIdentifier
from idstore.schemes import Allocation, Context, Rule, Scheme, WrittenForm, pilin
from idstore.schemes._base import moments, refuse_metadata
from idstore.schemes._handles import (
    EXTENSIONS,
    alias_bases,
    check_characters,
    check_writable,
    extending,
    forms,
    ignores_case,
    normalize_aliases,
    normalize_base,
    prefix_of,
    split_handle,
    suffix_in,
    unwrap,
)
from idstore.schemes._text import Excerpt
from idstore.schemes.handle_values import ON_FIXATE, Carrying, admin_setting, publish_setting
from idstore.schemes.settings import choice, flag, with_defaults
from idstore.vocabulary import IDS

NAME: Final = "handle"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """A handle, without URI scheme or proxy."""

    prefix: str
    suffix: str

    @property
    def key(self) -> tuple[str, str]:
        """The comparison key."""
        return ascii_upper(self.prefix), ascii_upper(self.suffix) if ignores_case(
            self.prefix
        ) else self.suffix

    def __str__(self) -> str:
        return f"{self.prefix}/{self.suffix}"

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Handle) else NotImplemented

    def __lt__(self, other: "Handle") -> bool:
        return self.key < other.key


def parse(text: str) -> Handle:
    """Read a handle in any written form; percent-decode addresses and ``info:`` URIs.

    Raises InvalidIdentifier.
    """
    excerpt, _ = unwrap(text, NAME)
    prefix, suffix = split_handle(excerpt)
    check_characters(_suffix(suffix), bmp_only=True)
    return Handle(prefix, suffix.text)


class Handles(Carrying):
    """See `Scheme`.

    Settings: ``case_sensitive``, ``bmp_only``, ``suffix`` (how to mint suffixes), ``parent``, ``alias``
    (prefixes), ``pass_through`` and ``template`` (see `extending`), ``publish`` (see `publish_setting`),
    ``admin`` (see `admin_setting`).
    """

    name = NAME
    title = "Handles, DOI names among them (Handle System)"
    identifier_class = IDS.Handle.value
    defaults: Mapping[str, str] = MappingProxyType(
        {
            "case_sensitive": "true",
            "bmp_only": "true",
            "suffix": "pilin",
            "parent": "",
            "alias": "",
            **EXTENSIONS,
            "publish": ON_FIXATE,
            "admin": "",
        }
    )
    adjustable = ("alias", *EXTENSIONS, "publish", "admin")
    chosen = True
    example = "10.1045/april2006-paskin"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`."""
        full = with_defaults(self.defaults, settings)
        for name in ("case_sensitive", "bmp_only"):
            full[name] = flag(full, name)
        full["suffix"] = choice(full, "suffix", "pilin", "uuid")
        full["publish"] = publish_setting(full)
        full["admin"] = admin_setting(full)
        stored, full["parent"] = normalize_base(base, full["parent"])
        full["alias"] = normalize_aliases(full["alias"], stored)
        return Context(stored, full | extending(full))

    def parse(self, text: str) -> Handle:
        """See `Scheme`."""
        return parse(text)

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`; a bare text without the namespace's prefix is a suffix."""
        excerpt = _suffix(suffix_in(text, context, NAME))
        check_writable(excerpt, bmp_only=context.settings["bmp_only"] == "true")
        return excerpt.text

    def check_new(self, label: str, context: Context) -> None:
        """See `Restricting`: some characters are kept only where a handle was issued elsewhere."""
        check_characters(Excerpt(label, label, 0, NAME), bmp_only=context.settings["bmp_only"] == "true")

    def aliases(self, context: Context) -> tuple[str, ...]:
        """See `Aliasing`."""
        return alias_bases(context)

    def key(self, label: str, context: Context) -> str:
        """See `Scheme`."""
        return label if self.uniform(context) else ascii_upper(label)

    def uniform(self, context: Context) -> bool:
        """See `Uniform`: where case counts."""
        return context.settings["case_sensitive"] != "false" and not ignores_case(prefix_of(context.base))

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`; a bare suffix that would be read as another form is left out."""
        candidates = (
            WrittenForm("uri", self.iri(label, context)),
            *forms(label, context),
            WrittenForm("bare", label),
        )
        return tuple(form for form in candidates if self._reads(form.text, context) == label)

    def _reads(self, text: str, context: Context) -> str | None:
        try:
            return self.label(text, context)
        except InvalidIdentifier:
            return None

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:
        """See `Scheme`."""
        rules = (
            Rule("nul", "NUL", "A handle has no NUL.", ("\u0000",), forbidden=True, fixed=True),
            Rule(
                "characters",
                "Characters",
                "A handle has no controls, no invisible or unassigned characters and no noncharacters.",
                (f"[{unwanted_class()}]",),
                forbidden=True,
                fixed=True,
                advisory=True,
            ),
        )
        if settings["bmp_only"] == "false":
            return rules
        return (
            *rules,
            Rule(
                "bmp",
                "UCS-2",
                "A handle stays in the Basic Multilingual Plane.",
                (f"[{BEYOND_BMP}]",),
                forbidden=True,
            ),
        )

    def series(self, label: str, context: Context) -> tuple[str, int]:
        """See `Scheme`: the number of a suffix made from the clock is its time, as PILIN counts it."""
        return "", pilin.number(label) if context.settings["suffix"] == "pilin" else 0

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`."""
        refuse_metadata(allocation)
        while allocation.context.settings["suffix"] == "uuid":
            yield str(uuid4())
        yield from map(pilin.encode, moments(allocation, pilin.EPOCH + allocation.highest("")))


def _suffix(excerpt: Excerpt) -> Excerpt:
    """Return a suffix unchanged. Raises InvalidIdentifier if it is empty."""
    if not excerpt.text:
        raise excerpt.error("the suffix is empty", 0)
    return excerpt


SCHEME: Final[Scheme] = Handles()
