"""Common code of handle schemes: prefix and suffix, written forms, bases of namespaces.

The first ``/`` separates prefix and suffix of a handle; a prefix is a sequence of segments joined by ``.``.
``hdl:`` and ``doi:`` forms hold the handle verbatim, addresses and ``info:`` URIs percent-encoded.
Sources: RFC 3651; Handle.Net technical manual, version 9; PILIN, Citation of Handles Policy; ISO 26324 for
DOI names.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from idstore import characters
from idstore.characters import BEYOND_BMP, CONTROLS, SURROGATES, ascii_upper
from idstore.errors import InvalidData, InvalidIdentifier
from idstore.schemes import Address, Context, WrittenForm
from idstore.schemes._text import Excerpt, encode
from idstore.schemes.settings import flag

PROXY: Final = "https://hdl.handle.net/"
EXTENSIONS: Final = {"pass_through": "false", "template": ""}
"""Defaults of the settings for handles that begin with a registered one: see `extending`."""

_FORM: Final = re.compile(
    r"(?P<plain>(?:hdl:/?|(?P<doi>doi:)) *)"
    r"|info:hdl[:/]|hdl%3A(?:%2F)?|https?://(?:hdl\.handle\.net|resolver\.net\.au/hdl)/"
    r"|(?P<encoded_doi>info:doi/|https?://(?:www\.|dx\.)?doi\.org/)",
    re.IGNORECASE | re.ASCII,
)
_FOREIGN: Final = re.compile(r"info:|[a-z][a-z0-9+.-]*://", re.IGNORECASE | re.ASCII)
_ELSEWHERE: Final = re.compile(
    r"\s*(?://)?(?P<host>(?:(?:www\.|dx\.)?doi\.org|hdl\.handle\.net|(?P<site>(?:www\.)?handle\.net)"
    r"|resolver\.net\.au/hdl)(?::\d+)?/)(?P<path>.+)"
    r"|\s*(?:urn:(?:doi|hdl):|doi\s+)(?P<named>.+)"
    r"|\s*(?P<handle>(?:10|20\.500|0)\.[^/%\s]*(?:/|%2F).+)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
"""A DOI name, a handle of two large issuers of prefixes, or a resolver's address without its scheme.

The prefix may be incomplete. The site of the Handle System is no resolver, but is written like one.
"""
_TRACKING: Final = re.compile(
    r"\?(?:(?:utm_[^&=#]*|gclid|fbclid)=[^&#]*(?:&(?=[^#])|(?=#|$)))+(?=#|$)", re.IGNORECASE | re.ASCII
)
"""A query of parameters that mailings and advertisements add to links."""
_PORT: Final = re.compile(r":\d+(?=/)")
_CONTROL: Final = re.compile(f"[{CONTROLS}]")
_UNWRITABLE: Final = re.compile(f"[\u0000{SURROGATES}]")
_BEYOND_BMP: Final = re.compile(f"[{BEYOND_BMP}]")
_ODD_DOT: Final = re.compile(r"^\.|(?<=\.)\.|(?<=\.)$")


def unwrap(text: str, scheme: str) -> tuple[Excerpt, bool]:
    """Return the handle in a written form, and whether the text had such a form. Raises InvalidIdentifier."""
    form = _FORM.match(text)
    if form is None:
        if _FOREIGN.match(text):
            raise InvalidIdentifier(
                text, "the address is not one of a handle; write hdl:PREFIX/SUFFIX", 0, scheme
            )
        return Excerpt(text, text, 0, scheme), False
    place = form.end()
    excerpt = (
        Excerpt(text, text[place:], place, scheme) if form["plain"] else decode_address(text, place, scheme)
    )
    if (form["doi"] or form["encoded_doi"]) and not excerpt.text.startswith("10."):
        raise excerpt.error("a DOI name begins with 10.", 0)
    return excerpt, True


def ignores_case(prefix: str) -> bool:
    """Whether suffixes ignore case regardless of settings: DOI names and the Global Handle Registry's own."""
    return prefix.startswith(("10.", "0."))


def written_key(text: str) -> str | None:
    """Return the comparison key of a handle in a form with URI scheme or proxy, as an IRI.

    None for any other text. Settings of a namespace may ignore more differences.
    """
    if not _FORM.match(text):
        return None
    try:
        prefix, suffix = split_handle(unwrap(text, "handle")[0])
    except InvalidIdentifier:
        return None
    folded = ascii_upper(suffix.text) if ignores_case(prefix) else suffix.text
    return PROXY + encode(f"{ascii_upper(prefix)}/{folded}")


def start_key(text: str) -> str | None:
    """Return the comparison key of a beginning of handles, as an IRI; None for a text without such a form.

    The proxies of DOI names resolve all handles, so that they count here for every prefix.

    >>> start_key("http://dx.doi.org/12345/Ab"), start_key("hdl:")
    ('https://hdl.handle.net/12345/AB', 'https://hdl.handle.net/')
    """
    form = _FORM.match(text)
    if form is None:
        return None
    encoded = re.sub("^[^?#]*", lambda handle: encode(unquote(handle.group())), text[form.end() :])
    return PROXY + ascii_upper(encoded)


def decode_address(text: str, start: int, scheme: str) -> Excerpt:
    """Return the handle in an address from ``start`` on, percent-decoded once. Raises InvalidIdentifier."""
    text = untracked(text)
    rest = re.search("[?#]", text[start:])
    if rest is not None:
        reason = f"{rest.group()!r} ends an address; write %{ord(rest.group()):X} if it belongs to the handle"
        raise InvalidIdentifier(text, reason, start + rest.start(), scheme)
    return Excerpt.decoded(text, start, scheme)


def untracked(text: str) -> str:
    """Return an address without a query that only tells where the link was found.

    >>> untracked("https://doi.org/10.1045/a?utm_source=x&gclid=1"), untracked("https://doi.org/10.1045/a?b")
    ('https://doi.org/10.1045/a', 'https://doi.org/10.1045/a?b')

    An address longer than `characters.EXAMINED` is returned as it is.
    """
    return _TRACKING.sub("", text) if "?" in text and len(text) <= characters.EXAMINED else text


def split_handle(excerpt: Excerpt) -> tuple[str, Excerpt]:
    """Return prefix and suffix of a handle. Raises InvalidIdentifier."""
    prefix, slash, _ = excerpt.text.partition("/")
    check_prefix(excerpt.before(len(prefix)))
    if not slash:
        raise excerpt.error("a '/' is missing after the prefix", len(prefix))
    return prefix, excerpt.after(len(prefix) + 1)


def check_prefix(excerpt: Excerpt) -> None:
    """Raise InvalidIdentifier unless a prefix consists of non-empty segments joined by dots."""
    if not excerpt.text:
        raise excerpt.error("the prefix is empty", 0)
    if excerpt.text.startswith(" "):
        raise excerpt.error("a space precedes the prefix", 0)
    dot = _ODD_DOT.search(excerpt.text)
    check_characters(excerpt.before(dot.start()) if dot else excerpt, bmp_only=True)
    if dot is not None:
        raise excerpt.error("a segment of the prefix is empty", dot.start())


def check_characters(excerpt: Excerpt, *, bmp_only: bool) -> None:
    """Raise InvalidIdentifier if a new handle may not have a character: see `characters.unwanted`."""
    unwanted = (_CONTROL if excerpt.text.isascii() else characters.unwanted()).search(excerpt.text)
    check_writable(excerpt if unwanted is None else excerpt.before(unwanted.start()), bmp_only=bmp_only)
    if unwanted is not None:
        code, kind = ord(unwanted.group()), characters.kind(unwanted.group())
        raise excerpt.error(f"U+{code:04X} is {kind}", unwanted.start())


def check_writable(excerpt: Excerpt, *, bmp_only: bool) -> None:
    """Raise InvalidIdentifier if a handle has a character that no handle can have, wherever it was issued."""
    refused = _UNWRITABLE.search(excerpt.text)
    if refused is not None:
        raise excerpt.error(f"U+{ord(refused.group()):04X} cannot be written", refused.start())
    refused = _BEYOND_BMP.search(excerpt.text) if bmp_only else None
    if refused is not None:
        reason = "is beyond the Basic Multilingual Plane, which UCS-2 cannot write"
        raise excerpt.error(f"U+{ord(refused.group()):04X} {reason}", refused.start())


def suffix_in(text: str, context: Context, scheme: str) -> Excerpt:
    """Return the suffix of a handle under the context's prefix or an alias; bare text is a suffix.

    Raises InvalidIdentifier.
    """
    excerpt, wrapped = unwrap(text, scheme)
    own = prefix_of(context.base)
    for prefix in (own, *aliases_in(context)):
        if ascii_upper(excerpt.text[: len(prefix) + 1]) == ascii_upper(prefix + "/"):
            return excerpt.after(len(prefix) + 1)
    if wrapped:
        prefix, _ = split_handle(excerpt)
        raise InvalidIdentifier(text, f"its prefix is {prefix}, not {own}", 0, scheme)
    return excerpt


def address(text: str) -> Address | None:
    """Return the base that the prefix of a handle stands for: see `idstore.schemes.Addressed`.

    >>> address("doi.org/10.1045/a").likely, address("10.1045%2Fa").likely, address("april/10.1045").likely
    ('hdl:10.1045/a', 'hdl:10.1045/a', None)
    >>> address("doi.org/2027/a").likely, address("DOI 10.1045/a").likely
    ('https://doi.org/2027/a', 'hdl:10.1045/a')
    """
    if _FOREIGN.match(text) and not _FORM.match(text):
        return Address(text)
    likely = None if _FORM.match(text) else _likely(text)
    try:
        excerpt, wrapped = unwrap(text, "handle")
        prefix, _ = split_handle(excerpt)
    except InvalidIdentifier:
        return None if likely is None else Address(likely, bare=True, likely=likely)
    return Address(f"{PROXY}{encode(prefix)}/", not wrapped, likely)


def _likely(text: str) -> str | None:
    """Return the identifier of another registry that a bare text looks like; it may be misspelt.

    >>> _likely("handle.net/10.1045/a"), _likely("handle.net/about"), _likely("10./a")
    ('hdl:10.1045/a', 'https://handle.net/about', 'hdl:10./a')
    """
    match = _ELSEWHERE.match(text)
    if match is None:
        return None
    unread: str | None
    if match["host"]:
        unread = f"https://{_PORT.sub('', match['host'])}{match['path']}"
        form = f"{PROXY}{match['path']}" if match["site"] else unread
    else:
        written = (match["handle"] or match["named"]).strip()
        form = f"hdl:{written}" if "/" in written else f"{PROXY}{written}"
        unread = form if match["handle"] else None
    try:
        excerpt, _ = unwrap(form, "handle")
        split_handle(excerpt)
    except InvalidIdentifier:
        return unread
    return f"hdl:{excerpt.text}"


def aliases_in(context: Context) -> list[str]:
    """Return the alias prefixes of a context."""
    return context.settings.get("alias", "").split()


def alias_bases(context: Context) -> tuple[str, ...]:
    """Return the bases of a context's alias prefixes: see `idstore.schemes.Aliasing`."""
    return tuple(f"{PROXY}{encode(prefix)}/" for prefix in aliases_in(context))


def ancestor_bases(base: str) -> tuple[str, ...]:
    """Return the bases of the prefixes that a base's prefix is derived from: see `Hierarchical`.

    >>> ancestor_bases("http://hdl.handle.net/12345.1.2/"), ancestor_bases("http://example.org/")
    (('https://hdl.handle.net/12345.1/', 'https://hdl.handle.net/12345/'), ())
    """
    prefix = (start_key(base) or PROXY).removeprefix(PROXY).partition("/")[0]
    segments = unquote(prefix).split(".")
    prefixes = (".".join(segments[:count]) for count in range(len(segments) - 1, 0, -1))
    return tuple(f"{PROXY}{encode(prefix)}/" for prefix in prefixes)


def normalize_aliases(text: str, base: str) -> str:
    """Return the stored form of a setting ``alias``: prefixes in any form, separated by spaces.

    Raises InvalidData.
    """
    aliases: dict[str, str] = {}
    for alias in text.split():
        prefix = _prefix(alias, "setting alias")
        if ascii_upper(prefix) == ascii_upper(prefix_of(base)):
            raise InvalidData(
                f"the prefix {prefix} cannot be an alias of itself; omit the setting alias",
                base=base,
                setting="alias",
            )
        aliases.setdefault(ascii_upper(prefix), prefix)
    return " ".join(aliases.values())


def normalize_base(base: str, parent: str) -> tuple[str, str]:
    """Return the stored forms of a base and of a setting ``parent``, given as prefixes.

    Raises InvalidData.
    """
    prefix = _prefix(base, "base")
    if prefix == "0" or prefix.startswith("0."):
        raise InvalidData(
            f"the prefix {prefix} belongs to the Global Handle Registry; choose one that was assigned to you",
            base=base,
        )
    if "@" in prefix:
        raise InvalidData(
            f"the prefix {prefix} has an '@', which RFC 3651 excludes from prefixes; choose one without",
            base=base,
        )
    if parent:
        parent = _prefix(parent, "setting parent")
        head, _, last = prefix.rpartition(".")
        if not last or ascii_upper(head) != ascii_upper(parent):
            reason = f"the prefix {prefix} is not derived from parent={parent}; use a prefix {parent}.SEGMENT"
            raise InvalidData(reason, base=base, setting="parent")
    return f"{PROXY}{encode(prefix)}/", parent


def extending(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the stored forms of the settings of `EXTENSIONS`, which tell where unregistered handles lead.

    pass_through  whether the rest of a handle that begins with a registered one is appended to its target.
    template      how such handles are made: see `idstore.schemes.templates`.
    Raises InvalidData.
    """
    template = settings["template"].strip()
    if template:
        from idstore.schemes import templates

        if not templates.parse(template).delimiter:
            raise InvalidData(
                'the template has no delimiter; write <template delimiter="@">', setting="template"
            )
    return {"pass_through": flag(settings, "pass_through"), "template": template}


def _prefix(text: str, what: str) -> str:
    try:
        excerpt, _ = unwrap(text, "handle")
        excerpt = excerpt.before(len(excerpt.text) - 1) if excerpt.text.endswith("/") else excerpt
        if "/" in excerpt.text:
            raise excerpt.error("the text continues after the prefix", excerpt.text.index("/"))
        check_prefix(excerpt)
    except InvalidIdentifier as error:
        reason = f"the {what} {text!r} is not a handle prefix: {error.reason} (at position {error.position})"
        raise InvalidData(
            f"{reason}; write one as 102.100.272 or {PROXY}102.100.272/", base=text, position=error.position
        ) from error
    return excerpt.text


@lru_cache(maxsize=1024)
def prefix_of(base: str) -> str:
    """Return the prefix in the stored form of a base."""
    return Excerpt.decoded(base, len(PROXY), "handle", -1).text


def forms(label: str, context: Context) -> list[WrittenForm]:
    """Return the written forms of a handle, except the full IRI and the bare suffix."""
    whole = f"{prefix_of(context.base)}/{label}"
    encoded = encode(whole)
    written = [
        WrittenForm("hdl", f"hdl:{whole}"),
        WrittenForm("info", f"info:hdl/{encoded}"),
        WrittenForm("handle", whole),
    ]
    if whole.startswith("10."):
        written += [WrittenForm("doi", f"doi:{whole}"), WrittenForm("proxy", f"https://doi.org/{encoded}")]
    return written + [WrittenForm("alias", f"hdl:{prefix}/{label}") for prefix in aliases_in(context)]
