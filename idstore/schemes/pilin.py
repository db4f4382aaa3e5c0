"""PILIN handles: opaque suffixes, short enough to dictate, made from the clock.

Nine symbols of ``0123456789BCDFGHJKLMNPQRSTVWXYZ``: the milliseconds since 1582-10-15T00:00Z in base 31,
least significant symbol first.
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

from idstore.characters import ascii_upper
from idstore.errors import InvalidData, InvalidIdentifier, NamespaceExhausted
from idstore.schemes import Address, Allocation, Context, Rule, Scheme, WrittenForm
from idstore.schemes._base import NO_MAPPING, moments, refuse_metadata
from idstore.schemes._handles import (
    EXTENSIONS,
    alias_bases,
    aliases_in,
    decode_address,
    extending,
    forms,
    normalize_aliases,
    normalize_base,
    prefix_of,
    split_handle,
    suffix_in,
    unwrap,
)
from idstore.schemes._text import Excerpt
from idstore.schemes._text import encode as encode_part
from idstore.schemes.handle_values import ON_FIXATE, Carrying, admin_setting, publish_setting
from idstore.schemes.settings import with_defaults
from idstore.vocabulary import IDS

NAME: Final = "pilin"
ALPHABET: Final = "0123456789BCDFGHJKLMNPQRSTVWXYZ"
LENGTH: Final = 9

EPOCH: Final = -12_219_292_800_000
"""1582-10-15T00:00Z in milliseconds since 1970."""
END: Final = EPOCH + len(ALPHABET) ** LENGTH
"""The first millisecond since 1970 that nine symbols cannot represent; the last is
2420-08-16T03:29:20.670Z."""

_PAIRS: Final = tuple(low + high for high in ALPHABET for low in ALPHABET)
_PYTHON_DIGITS: Final = str.maketrans(ALPHABET, "0123456789abcdefghijklmnopqrstu")
_FOREIGN: Final = re.compile(f"[^{ALPHABET}]")
RESOLVER: Final = "http://resolver.net.au/hdl/"
"""The resolver in the project's citations of handles."""
_PROXY: Final = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~-]+)*/", re.ASCII)
_WORD: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9]{0,63})?", re.ASCII)


def encode(moment: int) -> str:
    """Return the suffix for a time in milliseconds since 1970.

    Raises NamespaceExhausted for a time that nine symbols cannot represent.
    """
    if not EPOCH <= moment < END:
        raise NamespaceExhausted(
            "nine symbols represent only times from 1582-10-15 to 2420-08-16T03:29:20.670Z", moment=moment
        )
    rest, first = divmod(moment - EPOCH, 961)
    rest, second = divmod(rest, 961)
    rest, third = divmod(rest, 961)
    last, fourth = divmod(rest, 961)
    return _PAIRS[first] + _PAIRS[second] + _PAIRS[third] + _PAIRS[fourth] + ALPHABET[last]


def decode(suffix: str) -> int:
    """Return the time when a suffix (upper case) was made, in milliseconds since 1970."""
    return EPOCH + int(suffix[::-1].translate(_PYTHON_DIGITS), len(ALPHABET))


def number(label: str) -> int:
    """Return the milliseconds since 1582-10-15T00:00Z in a label; 0 for a label of another form."""
    return decode(label) - EPOCH if len(label) == LENGTH and not _FOREIGN.search(label) else 0


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class PilinHandle:
    """A handle whose suffix follows the policy.

    ``prefix`` compares without ASCII case, and is empty for a bare suffix.
    """

    prefix: str
    suffix: str

    @property
    def key(self) -> tuple[str, str]:
        """The comparison key."""
        return ascii_upper(self.prefix), self.suffix

    @property
    def made(self) -> datetime:
        """The time when the suffix was made, in UTC, to the millisecond."""
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
    """Read a handle in any written form, or a bare suffix, in upper or lower case.

    Raises InvalidIdentifier.
    """
    excerpt, wrapped = unwrap(text, NAME)
    if not wrapped and "/" not in text:
        return PilinHandle("", _suffix(excerpt))
    prefix, suffix = split_handle(excerpt)
    return PilinHandle(prefix, _suffix(suffix))


class Pilin(Carrying):
    """See `Scheme`.

    Settings: ``parent``, the prefix that this one is derived from; ``alias``, other prefixes for the same
    names; ``proxy``, the resolver in citations; ``cite_as``, a word that replaces the prefix in citations, as
    in ``PILIN/Y35XYS0QH``; ``pass_through`` and ``template`` (see `extending`), ``publish`` (see
    `publish_setting`), ``admin`` (see `admin_setting`).
    """

    name = NAME
    title = "PILIN handles, with suffixes made from the clock (Handle Suffix Format Policy)"
    identifier_class = IDS.PilinHandle.value
    defaults: Mapping[str, str] = MappingProxyType(
        {
            "parent": "",
            "alias": "",
            "proxy": RESOLVER,
            "cite_as": "",
            **EXTENSIONS,
            "publish": ON_FIXATE,
            "admin": "",
        }
    )
    adjustable = ("alias", "proxy", "cite_as", *EXTENSIONS, "publish", "admin")
    chosen = False
    example = "102.100.272/Y35XYS0QH"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`."""
        full = with_defaults(self.defaults, settings)
        stored, full["parent"] = normalize_base(base, full["parent"])
        full["alias"] = normalize_aliases(full["alias"], stored)
        full["publish"] = publish_setting(full)
        full["admin"] = admin_setting(full)
        if not _PROXY.fullmatch(full["proxy"]):
            reason = f"the setting proxy={full['proxy']!r} must be the address of a resolver, as {RESOLVER}"
            raise InvalidData(reason, setting="proxy", value=full["proxy"])
        if not _WORD.fullmatch(full["cite_as"]):
            reason = (
                f"the setting cite_as={full['cite_as']!r} must be one word of letters and digits, as PILIN"
            )
            raise InvalidData(reason, setting="cite_as", value=full["cite_as"])
        return Context(stored, full | extending(full))

    def parse(self, text: str) -> PilinHandle:
        """See `Scheme`."""
        return parse(text)

    def address(self, text: str) -> Address | None:
        """See `Addressed`; other addresses may be those of a namespace's own resolver."""
        stated = super().address(text)
        return None if stated == Address(text) else stated

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`."""
        excerpt = _own_form(text, context) or suffix_in(text, context, NAME)
        if "/" in excerpt.text and excerpt.start == 0:
            raise InvalidIdentifier(text, f"it is not under {context.base}", 0, NAME)
        return _suffix(excerpt)

    def uniform(self, context: Context) -> bool:  # noqa: ARG002 - the same for all namespaces
        """See `Uniform`."""
        return True

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`.

        The policy on citations requires URI and resolver address, and also shows ``PILIN/SUFFIX``.
        """
        uri = self.iri(label, context)
        proxy, word = context.settings.get("proxy", RESOLVER), context.settings.get("cite_as")
        address = f"{proxy}{encode_part(prefix_of(context.base))}/{label}"
        resolver = [WrittenForm("proxy", address)] if address != uri else []
        named = [WrittenForm("name", f"{word}/{label}")] if word else []
        return WrittenForm("uri", uri), *forms(label, context), *resolver, *named, WrittenForm("bare", label)

    def aliases(self, context: Context) -> tuple[str, ...]:
        """See `Aliasing`."""
        return alias_bases(context)

    def hosted_bases(self, context: Context) -> tuple[str, ...]:
        """See `Hosted`: the resolver in citations."""
        prefixes = (prefix_of(context.base), *aliases_in(context))
        return tuple(
            f"{context.settings.get('proxy', RESOLVER)}{encode_part(prefix)}/" for prefix in prefixes
        )

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:  # noqa: ARG002 - settings do not matter
        """See `Scheme`."""
        return (
            Rule(
                "symbols",
                "Symbols",
                f"A suffix has no other symbols than {ALPHABET}.",
                (_FOREIGN.pattern,),
                forbidden=True,
                fixed=True,
            ),
            Rule(
                "length",
                "Length",
                f"A suffix has {LENGTH} symbols.",
                (f"^[{ALPHABET}]{{{LENGTH}}}$",),
                fixed=True,
            ),
        )

    def made(self, label: str) -> int:
        """See `Timestamped`."""
        return decode(label)

    def space(self, settings: Mapping[str, str]) -> int:  # noqa: ARG002
        """See `Generating`."""
        return len(ALPHABET) ** LENGTH

    def series(self, label: str, context: Context) -> tuple[str, int]:  # noqa: ARG002 - the label suffices
        """See `Scheme`: the number is the time, in milliseconds since 1582."""
        return "", number(label)

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`: one candidate for each millisecond that the clock has reached."""
        refuse_metadata(allocation, principle=NO_MAPPING)
        return map(encode, moments(allocation, EPOCH + allocation.highest("")))


def _own_form(text: str, context: Context) -> Excerpt | None:
    """Return the part after the namespace's resolver and prefix, or after its citation word.

    Raises InvalidIdentifier.
    """
    proxy, word = context.settings.get("proxy", RESOLVER), context.settings.get("cite_as")
    if word and _begins(text, f"{word}/"):
        return Excerpt(text, text[len(word) + 1 :], len(word) + 1, NAME)
    if not _begins(text, proxy):
        return None
    excerpt = decode_address(text, len(proxy), NAME)
    prefixes = (prefix_of(context.base), *aliases_in(context))
    own = next((prefix for prefix in prefixes if _begins(excerpt.text, f"{prefix}/")), None)
    return None if own is None else excerpt.after(len(own) + 1)


def _begins(text: str, start: str) -> bool:
    return ascii_upper(text[: len(start)]) == ascii_upper(start)


def _suffix(excerpt: Excerpt) -> str:
    """Return a suffix in upper case. Raises InvalidIdentifier."""
    suffix = ascii_upper(excerpt.text)
    foreign = _FOREIGN.search(suffix)
    if foreign is not None and foreign.start() < LENGTH:
        raise excerpt.error(
            f"{excerpt.text[foreign.start()]!r} is not one of the symbols {ALPHABET}", foreign.start()
        )
    if len(suffix) > LENGTH:
        raise excerpt.error(f"it has more than {LENGTH} symbols", LENGTH)
    if len(suffix) < LENGTH:
        raise excerpt.error(f"it has {len(suffix)} symbols instead of {LENGTH}", len(suffix))
    return suffix


SCHEME: Final[Scheme] = Pilin()
