"""Addresses of the web: targets as URIs, as the header ``Location`` needs them, and this machine."""

import ipaddress
import re
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

_PLAIN: Final = re.compile(
    r"https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:[/?](?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)?",
    re.IGNORECASE,
)
"""An address that needs no encoding."""
_WEB: Final = re.compile(
    r"(?P<scheme>https?)://(?P<user>[^/?#\\@]*@)?(?P<host>\[[^]/?#\\@]*\]|[^/?#\\@:\[\]]*)", re.IGNORECASE
)
_PORT: Final = re.compile(r"(?::[0-9]*)?(?=[/?#]|$)")
_BROKEN: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_SAFE: Final = "!$%&'()*+,/:;=?@~"


def location(target: str, appended: str = "") -> str | None:
    r"""Return the URI of a target with a text behind it; None unless the target is an address of the web.

    The text belongs to the path, the query or the fragment of the address; it changes nothing before them.
    Browsers are sent to nothing else, because a target may be any IRI, ``javascript:`` included.

    >>> location("http://bücher.example/ä b?q=1#f"), location("javascript:alert(1)")
    ('http://xn--bcher-kva.example/%C3%A4%20b?q=1#f', None)
    >>> location("http://a.example", ".evil.example"), location("http://a.example", "@evil.example")
    ('http://a.example/.evil.example', 'http://a.example/@evil.example')
    >>> location("http://a.example/x", "?page=2\r\nSet-Cookie: a=b")
    'http://a.example/x?page=2%0D%0ASet-Cookie:%20a=b'
    """
    if not appended and _PLAIN.fullmatch(target):
        return target
    web = _WEB.match(target)
    port = None if web is None else _PORT.match(target, web.end())
    if web is None or port is None or not web["host"]:
        return None
    rest = target[port.end() :]
    if appended and not rest and appended[0] not in "/?#":
        rest = "/"
    user = _encoded(web["user"] or "")
    return f"{web['scheme']}://{user}{_host(web['host'])}{port.group()}{_encoded(rest + appended)}"


def address_parts(text: str) -> SplitResult:
    """Return the parts of an address; empty ones for a text whose host or port is none.

    >>> [address_parts(text).hostname for text in ("https://a.example:80/x", "http://[::1", "http://a:99999")]
    ['a.example', None, None]
    """
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises ValueError for one that is none
    except ValueError:
        return urlsplit("")
    return parts


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine: ``localhost``, or an address that loops back.

    >>> [is_this_machine(host) for host in ("localhost", "127.0.0.2", "::1", "::ffff:127.0.0.1", "10.0.0.1")]
    [True, True, True, True, False]
    """
    return host == "localhost" or loops_back(host)


@lru_cache(maxsize=1024)
def loops_back(text: str) -> bool:
    """Return whether a text is an IP address that loops back; no name is one."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _host(host: str) -> str:
    """Return a host in ASCII, unchanged if no name server can know it."""
    if host.isascii():
        return quote(host, safe="!$%&'()*+,;=:~[]")
    import idna  # few hosts need it

    try:
        return idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        return quote(host)


def _encoded(text: str) -> str:
    """Return a text percent-encoded.

    Escapes stay, and so does the first number sign, which begins a fragment.
    """
    before, sign, fragment = _BROKEN.sub("%25", text).partition("#")
    return quote(before, safe=_SAFE) + sign + quote(fragment, safe=_SAFE)
