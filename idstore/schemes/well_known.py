"""Comparison keys of names in well-known schemes, whether or not a registry has a namespace for them.

A resolver's address, its protocol (http or https), and a URI scheme such as ``doi:`` are ways to write a
name, and no part of it; so is the usual port of a protocol. DOI names ignore ASCII case. ARKs ignore hyphens,
the ``/`` after ``ark:``, and a query that asks about them. Of URNs, UUIDs and national bibliography numbers
ignore case, ISBNs hyphens too.
Sources: RFC 3651 and ISO 26324 (handles, DOI names); The ARK Identifier Scheme, draft-kunze-ark, section
"Normalization and Lexical Equivalence"; RFC 8141, section 3.1 (URNs), RFC 9562, RFC 8458 and RFC 8254 (UUIDs,
NBNs, ISBNs); RFC 3986, section 6.2.3 (ports).

>>> key("doi:10.1000/ABC") == key("http://dx.doi.org/10.1000/abc")
True
>>> key("hdl:12345/ABC") == key("http://hdl.handle.net/12345/abc")
False
>>> key("https://n2t.net/ark:/12025/654-xz-321"), key("ark:12025/654xz321")
('ark:12025/654xz321', 'ark:12025/654xz321')
>>> key("https://nbn-resolving.org/urn:nbn:de:101-A"), key("urn:isbn:0-8044-2957-x")
('urn:nbn:de:101-a', 'urn:isbn:080442957X')
>>> key("http://purl.org:80/dc/terms/title"), key("http://example.org/title")
('https://purl.org/dc/terms/title', 'http://example.org/title')
"""

import re
import unicodedata
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from idstore.characters import ascii_lower, ascii_upper

_PROXIES: Final = frozenset(
    {"dx.doi.org", "doi.org", "hdl.handle.net", "resolver.net.au", "www.doi.org"},
)
"""Hosts of handles' addresses."""
_RESOLVERS: Final = _PROXIES | {
    "arks.org",
    "bioregistry.io",
    "d-nb.info",
    "identifiers.org",
    "isni.org",
    "n2t.net",
    "nbn-resolving.de",
    "nbn-resolving.org",
    "orcid.org",
    "purl.obolibrary.org",
    "purl.org",
    "ror.org",
    "urn.fi",
    "viaf.org",
    "w3id.org",
    "www.isni.org",
    "www.purl.org",
    "www.wikidata.org",
}
"""Hosts whose addresses are names, the same by either protocol."""
_ARK: Final = re.compile(r"ark:/?([0-9b-df-hj-np-tv-z]+)/([^?#]+)(?:\?[^#]*)?", re.IGNORECASE | re.ASCII)
_URN: Final = re.compile(r"([a-z0-9][a-z0-9-]{0,30}[a-z0-9]):([^?#]+)", re.IGNORECASE | re.ASCII)
_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")
_UNRESERVED: Final = re.compile("%(2D|2E|3[0-9]|4[1-9A-F]|5[0-9A]|5F|6[1-9A-F]|7[0-9A]|7E)")
"""Escapes of ASCII letters, digits, hyphen, full stop, underscore and tilde."""
_WIKIDATA: Final = re.compile(r"https://(?:www\.|m\.)?wikidata\.org/wiki/(?:Special:EntityData/)?(Q[0-9]+)\Z")
_ASCII: Final = "".join(map(chr, range(128)))
_AUTHORITY: Final = re.compile(r"https?://[^/?#]*", re.IGNORECASE | re.ASCII)
_USUAL_PORT: Final = re.compile(
    r"(http://[^/?#]*):80(?=[/?#]|$)|(https://[^/?#]*):443(?=[/?#]|$)", re.IGNORECASE | re.ASCII
)


def key(text: str) -> str:
    """Return the comparison key of a text: texts of one well-known scheme are one name if the keys are equal.

    The key of a key is the key itself; the key of a text in no such scheme is the text.
    """
    scheme, _, rest = text.partition(":")
    match scheme.lower():
        case "http" | "https":
            text = _without_port(text)
            rest = text.partition(":")[2]
            found = _address_key(text, rest)
        case "doi" | "hdl":
            found = _handle_key(text)
        case "info":
            found = _handle_key(text) or _pronom_key(text)
        case "ark":
            found = _ark_key(text)
        case "urn":
            found = _urn_key(rest)
        case _:
            return text
    return found or text


def usual(text: str) -> str:
    """Return an address of the web with protocol and host in lower case, and without the usual port.

    Sources: RFC 3986, sections 6.2.2.1 and 6.2.3. Other texts are returned as they are.

    >>> usual("HTTP://Example.ORG:80/Data#R1"), usual("https://example.org:8443/"), usual("hdl:10.1000/A")
    ('http://example.org/Data#R1', 'https://example.org:8443/', 'hdl:10.1000/A')
    """
    text = _without_port(text)
    start = _AUTHORITY.match(text)
    return text if start is None else ascii_lower(start[0]) + text[start.end() :]


def similar(text: str) -> str:
    """Return a form of a web address that addresses share which most servers answer alike.

    They differ by protocol, capitals of the host, the usual port, a path of ``/``, an escape of a character
    that needs none (RFC 3986, sections 6.2.2 and 6.2.3), or letters beyond ASCII that are escaped (RFC 3987,
    section 3.1) or composed differently, or are the two addresses of a Wikidata item. Other texts are
    returned as they are.

    >>> similar("http://Example.org"), similar("https://example.org:443/%7Ea")
    ('https://example.org/', 'https://example.org/~a')
    >>> similar("https://www.wikidata.org/wiki/Q2192")
    'https://www.wikidata.org/entity/Q2192'
    >>> similar("http://b\u00fccher.example/caf\u00e9"), similar("https://xn--bcher-kva.example/caf%c3%a9")
    ('https://xn--bcher-kva.example/caf%C3%A9', 'https://xn--bcher-kva.example/caf%C3%A9')
    """
    address = usual(_in_ascii(text))
    start = _AUTHORITY.match(address)
    if start is None:
        return text
    rest = _UNRESERVED.sub(lambda escape: chr(int(escape[1], 16)), _same_escapes(address[start.end() :]))
    address = f"https{start[0][start[0].index(':') :]}{rest or '/'}"
    return _WIKIDATA.sub(r"https://www.wikidata.org/entity/\1", address)


def _in_ascii(text: str) -> str:
    """Return a web address as a URI: its host in Punycode, other letters beyond ASCII as escapes of UTF-8."""
    start = None if text.isascii() else _AUTHORITY.match(text)
    if start is None:
        return text
    protocol, _, authority = start[0].partition("//")
    host, colon, port = authority.partition(":")
    with suppress(UnicodeError):  # not every text can be a host
        host = host.encode("idna").decode()
    rest = unicodedata.normalize("NFC", text[start.end() :])
    return f"{protocol}//{host}{colon}{port}" + quote(rest, safe=_ASCII, errors="replace")


def _without_port(text: str) -> str:
    if ":80" not in text and ":443" not in text:
        return text
    port = _USUAL_PORT.match(text)
    return text if port is None else (port[1] or port[2]) + text[port.end() :]


def start_key(text: str) -> str:
    """Return the comparison key of a beginning of names, in lower case.

    If a beginning starts with another one, by their keys, names under it can be names under the other one.

    >>> start_key("http://purl.org/X/"), start_key("https://doi.org/10.5072/"), start_key("ark:/12345/")
    ('https://purl.org/x/', 'https://hdl.handle.net/10.5072/', 'ark:12345/')
    """
    from idstore.schemes import _handles

    for rest in ("0/0", "0"):  # some forms are read in whole names alone
        known = key(text + rest)
        if known != text + rest and ascii_lower(known).endswith(rest):
            text = known[: -len(rest)]
            break
    return ascii_lower(_handles.start_key(text) or text)


def _address_key(text: str, rest: str) -> str | None:
    host, _, path = rest[2:].partition("/")
    host = host.lower()
    if path[:4].lower() == "ark:":
        return _ark_key(path)
    if host in _RESOLVERS and path[:4].lower() == "urn:":
        return _urn_key(path[4:])
    if host in _RESOLVERS:
        return (_handle_key(text) if host in _PROXIES else None) or f"https://{host}/{path}"
    if host.endswith("nationalarchives.gov.uk"):
        return _pronom_key(text)
    return _article_key(text) if "scholarsportal" in host else None


def _handle_key(text: str) -> str | None:
    from idstore.schemes import _handles  # the modules of schemes load when a name in one is compared

    return _handles.written_key(text)


def _pronom_key(text: str) -> str | None:
    from idstore.schemes import puid

    return puid.written_key(text)


def _article_key(text: str) -> str | None:
    from idstore.schemes import scholars_portal

    return scholars_portal.written_key(text)


def _ark_key(text: str) -> str | None:
    ark = _ARK.fullmatch(text)
    return ark and f"ark:{ark[1].lower()}/{_same_escapes(ark[2].replace('-', '').rstrip('/.'))}"


def _urn_key(rest: str) -> str | None:
    urn = _URN.fullmatch(rest)
    if urn is None:
        return None
    kind, name = urn[1].lower(), _same_escapes(urn[2])
    match kind:
        case "uuid" | "nbn":
            name = ascii_lower(name)
        case "isbn":
            name = ascii_upper(name).replace("-", "")
    return f"urn:{kind}:{name}"


def _same_escapes(text: str) -> str:
    return _ESCAPE.sub(lambda escape: escape.group().upper(), text)
