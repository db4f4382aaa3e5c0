"""Handles: a prefix, assigned once in the world, and a suffix that its owner chooses.

Prefix and suffix are divided by the first ``/``. Any character may stand in a handle but controls and, unless a namespace says otherwise,
those beyond the Basic Multilingual Plane; nothing is normalised. Handles are case sensitive unless their namespace says otherwise, prefixes
and DOI names (ISO 26324) are not.
Sources: Handle System, Handle Syntax (2008-05-23), http://www.handle.net/overviews/handle-syntax.html; RFC 3651.

>>> parse("10.1045/april2006-paskin")
Handle(prefix='10.1045', suffix='april2006-paskin')
>>> parse("10.1045/april2006-paskin") == parse("https://doi.org/10.1045/APRIL2006-PASKIN")
True
>>> parse("12345.1/a") == parse("12345.1/A")
False
"""

from collections.abc import Iterator, Mapping
from functools import total_ordering
from types import MappingProxyType
from typing import Final

from idstore import randomness
from idstore.errors import InvalidIdentifier
from idstore.frozen import dataclass
from idstore.schemes import Allocation, Context, Rule, Scheme, WrittenForm, pilin
from idstore.schemes._base import moments, unguided
from idstore.schemes._handles import (
    BEYOND_BMP,
    CONTROLS,
    NONCHARACTERS,
    alias_bases,
    base_of,
    check_characters,
    checked_aliases,
    divided,
    forms,
    prefix_of,
    suffix_in,
    unwrapped,
)
from idstore.schemes._settings import choice, filled, flag
from idstore.schemes._text import Excerpt, ascii_upper
from idstore.schemes.handle_values import Carrying
from idstore.vocabulary import IDS

NAME: Final = "handle"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """A handle as written, without scheme or proxy."""

    prefix: str
    suffix: str

    @property
    def key(self) -> tuple[str, str]:
        """What decides whether two are the same."""
        return ascii_upper(self.prefix), ascii_upper(self.suffix) if _folded(self.prefix) else self.suffix

    def __str__(self) -> str:
        return f"{self.prefix}/{self.suffix}"

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Handle) else NotImplemented

    def __lt__(self, other: "Handle") -> bool:
        return self.key < other.key


def parse(text: str) -> Handle:
    """Read a handle in any written form; addresses and ``info:`` URIs are percent-decoded once. Raises InvalidIdentifier."""
    excerpt, _ = unwrapped(text, NAME)
    prefix, suffix = divided(excerpt)
    return Handle(prefix, _suffix(suffix, bmp_only=True))


class Handles(Carrying):
    """See `Scheme`. Settings: ``case_sensitive``, ``bmp_only``, ``suffix`` (how suffixes are minted), ``parent``, ``alias`` (prefixes)."""

    name = NAME
    title = "Handles, DOI names among them (Handle System)"
    identifier_class = IDS.Handle.value
    defaults: Mapping[str, str] = MappingProxyType(
        {"case_sensitive": "true", "bmp_only": "true", "suffix": "pilin", "parent": "", "alias": ""}
    )
    chosen = True
    example = "10.1045/april2006-paskin"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`."""
        full = filled(self.defaults, settings)
        for name in ("case_sensitive", "bmp_only"):
            full[name] = flag(full, name)
        full["suffix"] = choice(full, "suffix", "pilin", "uuid")
        stored, full["parent"] = base_of(base, full["parent"])
        full["alias"] = checked_aliases(full["alias"], stored)
        return Context(stored, full)

    def parse(self, text: str) -> Handle:
        """See `Scheme`."""
        return parse(text)

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`; a text with neither this prefix nor a form round it is a suffix."""
        return _suffix(suffix_in(text, context, NAME), bmp_only=context.settings["bmp_only"] == "true")

    def aliases(self, context: Context) -> tuple[str, ...]:
        """See `Aliasing`."""
        return alias_bases(context)

    def key(self, label: str, context: Context) -> str:
        """See `Scheme`."""
        folded = context.settings["case_sensitive"] == "false" or _folded(prefix_of(context.base))
        return ascii_upper(label) if folded else label

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`; a suffix that looks like a form of its own is not offered bare."""
        every = (WrittenForm("uri", self.iri(label, context)), *forms(label, context), WrittenForm("bare", label))
        return tuple(form for form in every if self._reads(form.text, context) == label)

    def _reads(self, text: str, context: Context) -> str | None:
        try:
            return self.label(text, context)
        except InvalidIdentifier:
            return None

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:
        """See `Scheme`."""
        rules = (
            Rule("controls", "Controls", "A handle has no control characters.", (f"[{CONTROLS}]",), forbidden=True),
            Rule("noncharacters", "Noncharacters", "A handle has no noncharacters (as U+FFFE).", (f"[{NONCHARACTERS}]",), forbidden=True),
        )
        if settings["bmp_only"] == "false":
            return rules
        return (*rules, Rule("bmp", "UCS-2", "A handle stays in the Basic Multilingual Plane.", (f"[{BEYOND_BMP}]",), forbidden=True))

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`."""
        unguided(allocation)
        while allocation.context.settings["suffix"] == "uuid":
            yield randomness.uuid()
        yield from map(pilin.encode, moments(allocation))


def _folded(prefix: str) -> bool:
    """Whether a prefix folds its suffixes whatever the namespace says: DOI names, and the Global Handle Registry's own handles."""
    return prefix.startswith(("10.", "0."))


def _suffix(excerpt: Excerpt, *, bmp_only: bool) -> str:
    """A suffix as it is. Raises InvalidIdentifier."""
    if not excerpt.text:
        raise excerpt.error("the suffix is empty", 0)
    check_characters(excerpt, bmp_only=bmp_only)
    return excerpt.text


SCHEME: Final[Scheme] = Handles()
