"""What handles have in common: prefix and suffix, the forms in which they are written, the bases of their namespaces.

A handle is a prefix and a suffix, divided by the first ``/``; prefixes are segments joined by ``.``. In ``hdl:`` and ``doi:`` forms it
stands as it is, in addresses and ``info:`` URIs percent-encoded.
Sources: RFC 3651; Handle.Net technical manual, version 9; PILIN, Citation of Handles Policy; ISO 26324 for DOI names.
"""

import re
from functools import lru_cache
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.schemes import Context, WrittenForm
from idstore.schemes._text import Excerpt, ascii_upper, encode

PROXY: Final = "https://hdl.handle.net/"

CONTROLS: Final = "\u0000-\u001f\u007f-\u009f"
"""C0 and C1 controls and DEL, as the inside of a character class."""

NONCHARACTERS: Final = "\ufdd0-\ufdef" + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
BEYOND_BMP: Final = "\U00010000-\U0010ffff"

_FORM: Final = re.compile(
    r"(?P<plain>(?:hdl:/?|(?P<doi>doi:)) *)"
    r"|info:hdl[:/]|hdl%3A(?:%2F)?|https?://(?:hdl\.handle\.net|resolver\.net\.au/hdl)/"
    r"|(?P<encoded_doi>info:doi/|https?://(?:www\.|dx\.)?doi\.org/)",
    re.IGNORECASE | re.ASCII,
)
_FOREIGN: Final = re.compile(r"info:|[a-z][a-z0-9+.-]*://", re.IGNORECASE | re.ASCII)
_REFUSED: Final = re.compile(f"[{CONTROLS}{NONCHARACTERS}\ud800-\udfff]")
_REFUSED_IN_UCS2: Final = re.compile(f"[{CONTROLS}{NONCHARACTERS}\ud800-\udfff{BEYOND_BMP}]")
_ODD_DOT: Final = re.compile(r"^\.|(?<=\.)\.|(?<=\.)$")


def unwrapped(text: str, scheme: str) -> tuple[Excerpt, bool]:
    """The handle inside a written form, and whether a form was round it. Raises InvalidIdentifier."""
    form = _FORM.match(text)
    if form is None:
        if _FOREIGN.match(text):
            raise InvalidIdentifier(text, "it is an address, but not one of a handle; write hdl:PREFIX/SUFFIX", 0, scheme)
        return Excerpt(text, text, 0, scheme), False
    place = form.end()
    excerpt = Excerpt(text, text[place:], place, scheme) if form["plain"] else addressed(text, place, scheme)
    if (form["doi"] or form["encoded_doi"]) and not excerpt.text.startswith("10."):
        raise excerpt.error("a DOI name begins with 10.", 0)
    return excerpt, True


def addressed(text: str, start: int, scheme: str) -> Excerpt:
    """The handle that is written from ``start`` on in an address, percent-decoded once. Raises InvalidIdentifier."""
    rest = re.search("[?#]", text[start:])
    if rest is not None:
        reason = f"{rest.group()!r} ends an address; in a handle write %{ord(rest.group()):X}"
        raise InvalidIdentifier(text, reason, start + rest.start(), scheme)
    return Excerpt.decoded(text, start, scheme)


def divided(excerpt: Excerpt) -> tuple[str, Excerpt]:
    """Prefix and suffix of a handle. Raises InvalidIdentifier."""
    prefix, slash, _ = excerpt.text.partition("/")
    check_prefix(excerpt.before(len(prefix)))
    if not slash:
        raise excerpt.error("there is no '/' after the prefix", len(prefix))
    return prefix, excerpt.after(len(prefix) + 1)


def check_prefix(excerpt: Excerpt) -> None:
    """Check a prefix: segments of at least one character, joined by dots. Raises InvalidIdentifier."""
    if not excerpt.text:
        raise excerpt.error("the prefix is empty", 0)
    if excerpt.text.startswith(" "):
        raise excerpt.error("a space stands before the prefix", 0)
    dot = _ODD_DOT.search(excerpt.text)
    check_characters(excerpt.before(dot.start()) if dot else excerpt, bmp_only=True)
    if dot is not None:
        raise excerpt.error("a segment of the prefix is empty", dot.start())


def check_characters(excerpt: Excerpt, *, bmp_only: bool) -> None:
    """Check that a handle's characters are allowed. Raises InvalidIdentifier."""
    refused = (_REFUSED_IN_UCS2 if bmp_only else _REFUSED).search(excerpt.text)
    if refused is None:
        return
    never = _REFUSED.match(refused.group())
    reason = "a control, a surrogate or no character" if never else "beyond the Basic Multilingual Plane, which UCS-2 cannot write"
    raise excerpt.error(f"U+{ord(refused.group()):04X} is {reason}", refused.start())


def suffix_in(text: str, context: Context, scheme: str) -> Excerpt:
    """The suffix of a written form under the prefix of a context, or an alias of it; a text without any prefix is taken for one.

    Raises InvalidIdentifier.
    """
    excerpt, wrapped = unwrapped(text, scheme)
    own = prefix_of(context.base)
    for prefix in (own, *aliases_in(context)):
        if ascii_upper(excerpt.text[: len(prefix) + 1]) == ascii_upper(prefix + "/"):
            return excerpt.after(len(prefix) + 1)
    if wrapped:
        prefix, _ = divided(excerpt)
        raise InvalidIdentifier(text, f"its prefix is {prefix}, not {own}", 0, scheme)
    return excerpt


def aliases_in(context: Context) -> list[str]:
    """The prefixes that are aliases of a context's own."""
    return context.settings.get("alias", "").split()


def alias_bases(context: Context) -> tuple[str, ...]:
    """The bases that the namespaces of a context's aliases would have: see `idstore.schemes.Aliasing`."""
    return tuple(f"{PROXY}{encode(prefix)}/" for prefix in aliases_in(context))


def checked_aliases(text: str, base: str) -> str:
    """The stored form of a setting ``alias`` beside a stored base: prefixes in any form, divided by spaces. Raises InvalidData."""
    found: dict[str, str] = {}
    for alias in text.split():
        prefix = _prefix(alias, "setting alias")
        if ascii_upper(prefix) == ascii_upper(prefix_of(base)):
            raise InvalidData(f"the prefix {prefix} cannot be an alias of itself; leave the setting alias out", base=base, setting="alias")
        found.setdefault(ascii_upper(prefix), prefix)
    return " ".join(found.values())


def base_of(base: str, parent: str) -> tuple[str, str]:
    """The stored forms of a namespace's base and its setting ``parent``, both given as a prefix in any form. Raises InvalidData."""
    prefix = _prefix(base, "base")
    if prefix == "0" or prefix.startswith("0."):
        raise InvalidData(f"the prefix {prefix} belongs to the Global Handle Registry; choose one that was assigned to you", base=base)
    if "@" in prefix:
        raise InvalidData(f"the prefix {prefix} has an '@', which RFC 3651 keeps out of prefixes; choose one without", base=base)
    if parent:
        parent = _prefix(parent, "setting parent")
        head, _, last = prefix.rpartition(".")
        if not last or ascii_upper(head) != ascii_upper(parent):
            reason = f"the prefix {prefix} is not derived from parent={parent}; a derived prefix is {parent}.SEGMENT"
            raise InvalidData(reason, base=base, setting="parent")
    return f"{PROXY}{encode(prefix)}/", parent


def _prefix(text: str, what: str) -> str:
    try:
        excerpt, _ = unwrapped(text, "handle")
        excerpt = excerpt.before(len(excerpt.text) - 1) if excerpt.text.endswith("/") else excerpt
        if "/" in excerpt.text:
            raise excerpt.error("more follows the prefix", excerpt.text.index("/"))
        check_prefix(excerpt)
    except InvalidIdentifier as error:
        reason = f"the {what} {text!r} is no handle prefix: {error.reason} (at position {error.position})"
        raise InvalidData(f"{reason}; write one as 102.100.272 or {PROXY}102.100.272/", base=text, position=error.position) from error
    return excerpt.text


@lru_cache(maxsize=1024)
def prefix_of(base: str) -> str:
    """The prefix in the stored form of a base."""
    return Excerpt.decoded(base, len(PROXY), "handle", -1).text


def forms(label: str, context: Context) -> list[WrittenForm]:
    """The forms in which people write the handle of a suffix, but the full IRI and the bare suffix."""
    whole = f"{prefix_of(context.base)}/{label}"
    encoded = encode(whole)
    made = [WrittenForm("hdl", f"hdl:{whole}"), WrittenForm("info", f"info:hdl/{encoded}"), WrittenForm("handle", whole)]
    if whole.startswith("10."):
        made += [WrittenForm("doi", f"doi:{whole}"), WrittenForm("proxy", f"https://doi.org/{encoded}")]
    return made + [WrittenForm("alias", f"hdl:{prefix}/{label}") for prefix in aliases_in(context)]
