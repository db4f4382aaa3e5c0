"""Signing in by a header from a reverse proxy that has signed the party in."""

import hmac
import ipaddress
import logging
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from idstore.errors import InvalidData, NotPermitted
from idstore.model.party import Party
from idstore.server.settings_file import Secret
from idstore.server.sign_in.caller import Caller
from idstore.server.sign_in.names import canonical
from idstore.server.sign_in.ways import Credentials

PROXY_HEADER: Final = "Idstore-Proxy-Secret"
"""Header in which the proxy proves itself."""
_LOG: Final = logging.getLogger(__name__)
_HEADER: Final = re.compile(r"[A-Za-z0-9-]+")
_OTHER: Final = re.compile(
    r"(?i)authorization|cookie|forwarded|host|origin|referer|x-forwarded-.*|sec-.*|content-.*|idstore-.*"
)
"""Headers with another meaning."""


@dataclass(frozen=True, slots=True)
class TrustedHeader:
    """The table ``[trusted_header]``.

    header   has the name of the party, as UTF-8.
    proxies  addresses and networks from which it is believed.
    secret   what the proxy sends in `PROXY_HEADER`: other programs of its machine have its address too.
    """

    header: str
    proxies: tuple[str, ...]
    secret: Secret

    def __post_init__(self) -> None:
        """Raise InvalidData for values that make no sense."""
        if not _HEADER.fullmatch(self.header) or _OTHER.fullmatch(self.header):
            raise InvalidData(
                f"header: {self.header!r} cannot name a party; use another one, such as X-Remote-User",
                field="header",
                value=self.header,
            )
        if not self.proxies:
            raise InvalidData(
                'proxies: no address; write ["127.0.0.1"] for a proxy on this machine', field="proxies"
            )
        for proxy in self.proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError as error:
                raise InvalidData(
                    f"proxies: {error}; write 127.0.0.1 or 10.0.0.0/8", field="proxies"
                ) from None
        self.secret.check_length("secret_file")


class TrustedHeaderWay:
    """Believes a proxy; see `Way`."""

    def __init__(self, settings: TrustedHeader) -> None:
        self._settings = settings
        self._networks = [ipaddress.ip_network(proxy) for proxy in settings.proxies]

    async def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller; None without the header, or where it is empty. Raises NotPermitted."""
        header = self._settings.header
        sent = [value for value in credentials.headers.getlist(header) if value.strip()]
        if not sent:
            return None
        if not self._is_proxy(credentials.peer):
            raise NotPermitted(f"the header {header} is believed from the proxy alone; send none")
        secrets = credentials.headers.getlist(PROXY_HEADER)
        expected = self._settings.secret.value.encode()
        if len(secrets) != 1 or not hmac.compare_digest(secrets[0].encode("latin-1"), expected):
            _LOG.warning(
                "the proxy at %s sends %s without the secret of the settings", credentials.peer, header
            )
            raise NotPermitted(f"the header {header} comes without the proxy's secret; ask the operator")
        if credentials.authorization is not None:
            raise NotPermitted(
                f"the request has both {header} and Authorization, of which one could be somebody else's; the"
                " operator of the proxy must remove Authorization"
            )
        name = _name(sent[0]) if len(sent) == 1 else None
        if name is None:
            raise NotPermitted(f"the header {header} names no party; ask the operator of the proxy")
        return Caller(Party(name), is_elsewhere=True)

    def _is_proxy(self, peer: str) -> bool:
        with suppress(ValueError):
            parsed = ipaddress.ip_address(peer)
            address = getattr(parsed, "ipv4_mapped", None) or parsed
            return any(address in network for network in self._networks)
        return False


def _name(value: str) -> str | None:
    with suppress(UnicodeError):
        return canonical(value.encode("latin-1").decode())
    return None
