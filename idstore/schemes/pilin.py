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
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import total_ordering
from types import MappingProxyType
from typing import Final

from idstore.errors import InvalidIdentifier, NamespaceExhausted
from idstore.schemes import Allocation, Context, Rule, Scheme, WrittenForm
from idstore.schemes._base import moments
from idstore.schemes._handles import base_of, divided, forms, suffix_in, unwrapped
from idstore.schemes._settings import filled
from idstore.schemes._text import Excerpt, ascii_upper
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
    """See `Scheme`. Setting: ``parent``, the prefix that this one is derived from."""

    name = NAME
    title = "PILIN handles, with suffixes made from the clock (Handle Suffix Format Policy)"
    identifier_class = IDS.PilinHandle.value
    defaults: Mapping[str, str] = MappingProxyType({"parent": ""})
    chosen = False
    example = "102.100.272/Y35XYS0QH"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`."""
        full = filled(self.defaults, settings)
        stored, full["parent"] = base_of(base, full["parent"])
        return Context(stored, full)

    def parse(self, text: str) -> PilinHandle:
        """See `Scheme`."""
        return parse(text)

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`."""
        excerpt = suffix_in(text, context.base, NAME)
        if "/" in excerpt.text and excerpt.start == 0:
            raise InvalidIdentifier(text, f"it is not under {context.base}", 0, NAME)
        return _suffix(excerpt)

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`; the policy on citations asks for the resolver's address."""
        others = forms(label, context.base)
        resolver = WrittenForm("proxy", f"http://resolver.net.au/hdl/{others[1].text.removeprefix('info:hdl/')}")
        return WrittenForm("uri", self.iri(label, context)), *others, resolver, WrittenForm("bare", label)

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:  # noqa: ARG002 - settings change nothing here
        """See `Scheme`."""
        return (
            Rule("symbols", "Symbols", f"A suffix has no other symbols than {ALPHABET}.", (_FOREIGN.pattern,), forbidden=True),
            Rule("length", "Length", f"A suffix has {LENGTH} symbols.", (f"^[{ALPHABET}]{{{LENGTH}}}$",)),
        )

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`: one for each millisecond, and never for a time that the clock has not reached."""
        return map(encode, moments(allocation))


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
