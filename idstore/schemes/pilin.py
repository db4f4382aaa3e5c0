"""PILIN handles: suffixes that are opaque, short enough to dictate, and made from the clock.

Nine symbols of ``0123456789BCDFGHJKLMNPQRSTVWXYZ``: the milliseconds since 1582-10-15T00:00Z in base 31, least significant symbol first.
Source: PILIN project, Handle Suffix Format Policy, version 1.0, 2007-06-26.

>>> parse("http://resolver.net.au/hdl/102.100.272/0N8J991QH")
PilinHandle(prefix='102.100.272', suffix='0N8J991QH')
>>> parse("Y35XYS0QH").made.isoformat(timespec="milliseconds")
'2007-05-25T03:49:52.865+00:00'
>>> encode(decode("Y35XYS0QH"))
'Y35XYS0QH'
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import total_ordering
from types import MappingProxyType
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier, NamespaceExhausted
from idstore.frozen import dataclass
from idstore.schemes import Allocation, Context, Rule, Scheme, WrittenForm
from idstore.schemes._base import UNMAPPED, moments, unguided
from idstore.schemes._handles import (
    addressed,
    alias_bases,
    aliases_in,
    base_of,
    checked_aliases,
    divided,
    forms,
    prefix_of,
    suffix_in,
    unwrapped,
)
from idstore.schemes._settings import filled
from idstore.schemes._text import Excerpt, ascii_upper
from idstore.schemes._text import encode as encode_part
from idstore.schemes.handle_values import Carrying
from idstore.vocabulary import IDS

NAME: Final = "pilin"
ALPHABET: Final = "0123456789BCDFGHJKLMNPQRSTVWXYZ"
LENGTH: Final = 9

EPOCH: Final = -12_219_292_800_000
"""1582-10-15T00:00Z in milliseconds since 1970."""
END: Final = EPOCH + len(ALPHABET) ** LENGTH
"""The first millisecond since 1970 that nine symbols cannot write: the last that they can is 2420-08-16T03:29:20.670Z."""

_PAIRS: Final = tuple(low + high for high in ALPHABET for low in ALPHABET)
_PYTHON_DIGITS: Final = str.maketrans(ALPHABET, "0123456789abcdefghijklmnopqrstu")
_FOREIGN: Final = re.compile(f"[^{ALPHABET}]")
RESOLVER: Final = "http://resolver.net.au/hdl/"
"""The resolver that the project cited its handles by."""
_PROXY: Final = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~-]+)*/", re.ASCII)
_WORD: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9]{0,63})?", re.ASCII)


def encode(moment: int) -> str:
    """The suffix of a moment, in milliseconds since 1970. Raises NamespaceExhausted outside of what nine symbols can write."""
    if not EPOCH <= moment < END:
        raise NamespaceExhausted("nine symbols write times from 1582-10-15 to 2420-08-16T03:29:20.670Z only", moment=moment)
    rest, first = divmod(moment - EPOCH, 961)
    rest, second = divmod(rest, 961)
    rest, third = divmod(rest, 961)
    last, fourth = divmod(rest, 961)
    return _PAIRS[first] + _PAIRS[second] + _PAIRS[third] + _PAIRS[fourth] + ALPHABET[last]


def decode(suffix: str) -> int:
    """The moment that a suffix (upper case, as `PilinHandle` holds it) was made from, in milliseconds since 1970."""
    return EPOCH + int(suffix[::-1].translate(_PYTHON_DIGITS), len(ALPHABET))


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class PilinHandle:
    """A handle whose suffix follows the policy; ``prefix``, which compares without ASCII case, is empty for a suffix written alone."""

    prefix: str
    suffix: str

    @property
    def key(self) -> tuple[str, str]:
        """What decides whether two are the same."""
        return ascii_upper(self.prefix), self.suffix

    @property
    def made(self) -> datetime:
        """When the suffix was made, to the millisecond, in UTC."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=decode(self.suffix))

    def __str__(self) -> str:
        return f"{self.prefix}/{self.suffix}" if self.prefix else self.suffix

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, PilinHandle) else NotImplemented

    def __lt__(self, other: "PilinHandle") -> bool:
        return self.key < other.key


def parse(text: str) -> PilinHandle:
    """Read a handle in any written form, or a suffix alone. Lower case is read as upper case. Raises InvalidIdentifier."""
    excerpt, wrapped = unwrapped(text, NAME)
    if not wrapped and "/" not in text:
        return PilinHandle("", _suffix(excerpt))
    prefix, suffix = divided(excerpt)
    return PilinHandle(prefix, _suffix(suffix))


class Pilin(Carrying):
    """See `Scheme`.

    Settings: ``parent``, the prefix that this one is derived from; ``alias``, prefixes under which the same names can be written;
    ``proxy``, the resolver to cite with; ``cite_as``, a word to cite with in place of the prefix, as ``PILIN/Y35XYS0QH``.
    """

    name = NAME
    title = "PILIN handles, with suffixes made from the clock (Handle Suffix Format Policy)"
    identifier_class = IDS.PilinHandle.value
    defaults: Mapping[str, str] = MappingProxyType({"parent": "", "alias": "", "proxy": RESOLVER, "cite_as": ""})
    chosen = False
    example = "102.100.272/Y35XYS0QH"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`."""
        full = filled(self.defaults, settings)
        stored, full["parent"] = base_of(base, full["parent"])
        full["alias"] = checked_aliases(full["alias"], stored)
        if not _PROXY.fullmatch(full["proxy"]):
            reason = f"the setting proxy={full['proxy']!r} is no resolver's address; write one as {RESOLVER}"
            raise InvalidData(reason, setting="proxy", value=full["proxy"])
        if not _WORD.fullmatch(full["cite_as"]):
            reason = f"the setting cite_as={full['cite_as']!r} is not one word of letters and digits; write one as PILIN"
            raise InvalidData(reason, setting="cite_as", value=full["cite_as"])
        return Context(stored, full)

    def parse(self, text: str) -> PilinHandle:
        """See `Scheme`."""
        return parse(text)

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`."""
        excerpt = _own_form(text, context) or suffix_in(text, context, NAME)
        if "/" in excerpt.text and excerpt.start == 0:
            raise InvalidIdentifier(text, f"it is not under {context.base}", 0, NAME)
        return _suffix(excerpt)

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`; the policy on citations asks for a URI form and a resolver's address, and shows ``PILIN/SUFFIX`` beside them."""
        uri, proxy, word = self.iri(label, context), context.settings.get("proxy", RESOLVER), context.settings.get("cite_as")
        address = f"{proxy}{encode_part(prefix_of(context.base))}/{label}"
        resolver = [WrittenForm("proxy", address)] if address != uri else []
        named = [WrittenForm("name", f"{word}/{label}")] if word else []
        return WrittenForm("uri", uri), *forms(label, context), *resolver, *named, WrittenForm("bare", label)

    def aliases(self, context: Context) -> tuple[str, ...]:
        """See `Aliasing`."""
        return alias_bases(context)

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:  # noqa: ARG002 - settings change nothing here
        """See `Scheme`."""
        return (
            Rule("symbols", "Symbols", f"A suffix has no other symbols than {ALPHABET}.", (_FOREIGN.pattern,), forbidden=True),
            Rule("length", "Length", f"A suffix has {LENGTH} symbols.", (f"^[{ALPHABET}]{{{LENGTH}}}$",)),
        )

    def space(self, settings: Mapping[str, str]) -> int:  # noqa: ARG002
        """See `Generating`."""
        return len(ALPHABET) ** LENGTH

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`: one for each millisecond, and never for a time that the clock has not reached."""
        unguided(allocation, principle=UNMAPPED)
        return map(encode, moments(allocation))


def _own_form(text: str, context: Context) -> Excerpt | None:
    """What follows the namespace's own resolver and prefix, or the word that it is cited by. Raises InvalidIdentifier."""
    proxy, word = context.settings.get("proxy", RESOLVER), context.settings.get("cite_as")
    if word and _begins(text, f"{word}/"):
        return Excerpt(text, text[len(word) + 1 :], len(word) + 1, NAME)
    if not _begins(text, proxy):
        return None
    excerpt = addressed(text, len(proxy), NAME)
    prefixes = (prefix_of(context.base), *aliases_in(context))
    own = next((prefix for prefix in prefixes if _begins(excerpt.text, f"{prefix}/")), None)
    return None if own is None else excerpt.after(len(own) + 1)


def _begins(text: str, start: str) -> bool:
    return ascii_upper(text[: len(start)]) == ascii_upper(start)


def _suffix(excerpt: Excerpt) -> str:
    """A suffix in upper case. Raises InvalidIdentifier."""
    suffix = ascii_upper(excerpt.text)
    foreign = _FOREIGN.search(suffix)
    if foreign is not None and foreign.start() < LENGTH:
        raise excerpt.error(f"{excerpt.text[foreign.start()]!r} is not one of the symbols {ALPHABET}", foreign.start())
    if len(suffix) > LENGTH:
        raise excerpt.error(f"a suffix has {LENGTH} symbols, and more follow", LENGTH)
    if len(suffix) < LENGTH:
        raise excerpt.error(f"it has {len(suffix)} symbols, and a suffix has {LENGTH}", len(suffix))
    return suffix


SCHEME: Final[Scheme] = Pilin()
