"""An LDAP directory: whose password is right, and who is in which group.

Sources: RFC 4511 (protocol), RFC 4513 (simple bind; a bind with an empty password succeeds for everyone).
"""

import logging
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from idstore.errors import InvalidData, SignInUnavailable
from idstore.server.settings_file import Secret
from idstore.server.sign_in.names import canonical
from idstore.web_addresses import address_parts, is_this_machine

try:
    import ldap
    from ldap.dn import is_dn, str2dn
    from ldap.filter import filter_format
except ImportError:
    ldap = None

_LOG: Final = logging.getLogger(__name__)
_GROUPS: Final = 1000
"""Groups of a member beyond which no further ones are looked for."""
_LDAPS: Final = 636
"""The usual port of ``ldaps``."""
_LONGEST: Final = 60.0
"""Seconds."""
_MEMBER_NAME: Final = "memberUid"
"""The attribute of groups that hold names of members (RFC 2307) instead of their distinguished names."""


@dataclass(frozen=True, slots=True)
class Ldap:
    """The table ``[ldap]``.

    url              ``ldaps://HOST:PORT``, or ``ldap://HOST:PORT`` with start_tls or on this machine.
    user_base        the entry below which the users are.
    group_base       the entry below which the groups are.
    required_group   name or distinguished name of the group whose members may sign in.
    groups           name or distinguished name of a group → the group of the registry that its members are
                     in.
    start_tls        encrypt the connection before anything is sent over it.
    ca_file          certificates to trust; None: those of the system.
    bind_dn          the account that looks for users and groups; empty: anonymous.
    bind_password    its password.
    user_attribute   has the name of a user.
    group_attribute  has the name of a group.
    member_attribute  has the members of a group: their distinguished names, or their names in memberUid.
    seconds          how long a sign-in may take.
    cached_seconds   how long a sign-in is valid without asking again.
    """

    url: str
    user_base: str
    group_base: str
    required_group: str = "rdswip_registry"
    groups: Mapping[str, str] = field(default_factory=dict)
    start_tls: bool = False
    ca_file: Path | None = None
    bind_dn: str = ""
    bind_password: Secret | None = None
    user_attribute: str = "uid"
    group_attribute: str = "cn"
    member_attribute: str = "member"
    seconds: float = 3.0
    cached_seconds: float = 5.0

    def __post_init__(self) -> None:
        """Raise InvalidData for values that make no sense."""
        if ldap is None:
            raise InvalidData("a directory needs another package: pip install 'idstore[ldap]'")
        self._check_address()
        for key, name in (("user_base", self.user_base), ("group_base", self.group_base)):
            if not name or not is_dn(name):
                raise InvalidData(
                    f"{key}: {name!r} is no distinguished name; write dc=example,dc=org",
                    field=key,
                    value=name,
                )
        if bool(self.bind_dn) != (self.bind_password is not None):
            raise InvalidData(
                "bind_dn and bind_password_file belong together; give both or none",
                field="bind_password_file",
            )
        for key, seconds in (("seconds", self.seconds), ("cached_seconds", self.cached_seconds)):
            if not 0 <= seconds <= _LONGEST:
                raise InvalidData(
                    f"{key}: {seconds:g} is not from 0 to {_LONGEST:g}; change it", field=key, value=seconds
                )

    def _check_address(self) -> None:
        address = address_parts(self.url)
        if address.scheme not in {"ldap", "ldaps"} or not address.hostname or address.path.strip("/"):
            raise InvalidData(
                f"url: {self.url!r} is no directory; write ldaps://ldap.example.org",
                field="url",
                value=self.url,
            )
        if self.start_tls and address.scheme == "ldaps":
            raise InvalidData(
                "start_tls: the connection of an ldaps address is encrypted already; remove it",
                field="start_tls",
            )
        if not self.encrypted and not is_this_machine(address.hostname):
            raise InvalidData(
                f"url: others could read the passwords sent to {self.url}; use ldaps, or start_tls = true",
                field="url",
                value=self.url,
            )
        if self.ca_file is not None and not self.ca_file.is_file():
            raise InvalidData(
                f"ca_file: {self.ca_file} is no file; name the certificates to trust",
                field="ca_file",
                value=str(self.ca_file),
            )

    @property
    def encrypted(self) -> bool:
        """Whether others cannot read what is sent to the directory."""
        return self.start_tls or self.url.startswith("ldaps:")


@dataclass(frozen=True, slots=True)
class Member:
    """A user of the required group, and the groups of the registry that the directory puts it in."""

    name: str
    groups: frozenset[str]


class Directory:
    """Asks a directory. Each call opens a connection, and may be made by any thread."""

    def __init__(self, settings: Ldap) -> None:
        self._settings = settings

    def find(self, name: str, password: str) -> Member | None:
        """Return the member with that name and password.

        name  of a party; see `canonical`.
        None  no such user, another password, or not in the required group.
        Raises SignInUnavailable: the directory does not answer, or not as its settings say.
        Cost: a connection and four requests, one more for each level of nested groups.
        """
        if not password:
            return None
        with self._connected() as connection:
            user = self._user(connection, name)
            if user is None:
                return None
            groups = self._groups(connection, user, name)
            if not _has(groups, self._settings.required_group) or not _accepts(connection, user, password):
                return None
        return Member(
            name, frozenset(ours for theirs, ours in self._settings.groups.items() if _has(groups, theirs))
        )

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Open a connection as the account that looks for users."""
        settings = self._settings
        connection = ldap.initialize(settings.url)
        secret = settings.bind_password
        try:
            self._check_answers()
            self._prepare(connection)
            if settings.start_tls:
                connection.start_tls_s()
            connection.simple_bind_s(settings.bind_dn, "" if secret is None else secret.value)
        except OSError as error:
            raise self._unavailable(error, str(error)) from None
        except ldap.LDAPError as error:
            _close(connection)
            raise self._unavailable(error, " ".join(_words(error))) from None
        try:
            yield connection
        except ldap.LDAPError as error:  # its explanation may name a user
            raise self._unavailable(error, "".join(_words(error)[:1])) from None
        finally:
            _close(connection)

    def _check_answers(self) -> None:
        """Open another TLS connection first, if the address is one of TLS. Raises OSError.

        libldap has no time limit for the TLS handshake of such an address, and does not say what is wrong
        with a certificate.
        """
        address = address_parts(self._settings.url)
        if address.scheme == "ldaps":
            authority = self._settings.ca_file
            context = ssl.create_default_context(cafile=None if authority is None else str(authority))
            host, port = str(address.hostname), address.port or _LDAPS
            with (
                socket.create_connection((host, port), self._settings.seconds) as plain,
                context.wrap_socket(plain, server_hostname=host),
            ):
                pass

    def _prepare(self, connection: Any) -> None:
        settings = self._settings
        connection.protocol_version = ldap.VERSION3
        connection.set_option(ldap.OPT_REFERRALS, 0)  # the password goes to this directory alone
        connection.set_option(ldap.OPT_NETWORK_TIMEOUT, settings.seconds)
        connection.set_option(ldap.OPT_TIMEOUT, settings.seconds)
        if settings.encrypted:
            if settings.ca_file is not None:
                connection.set_option(ldap.OPT_X_TLS_CACERTFILE, str(settings.ca_file))
            connection.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_DEMAND)
            connection.set_option(ldap.OPT_X_TLS_NEWCTX, 0)  # the options before it take effect here

    def _user(self, connection: Any, name: str) -> str | None:
        """Return the distinguished name of the only user with a name, None if there is none."""
        attribute = self._settings.user_attribute
        entries = self._search(
            connection, self._settings.user_base, filter_format(f"({attribute}=%s)", [name]), attribute
        )
        # a directory compares as its schema says; one name in it must be one party here
        if len(entries) != 1 or {canonical(text) for text in entries[0][1]} != {name}:
            return None
        return entries[0][0]

    def _groups(self, connection: Any, user: str, name: str) -> list[tuple[str, list[str]]]:
        """Return the groups of a user, and the groups of these groups: distinguished name and names."""
        settings = self._settings
        by_name = settings.member_attribute == _MEMBER_NAME
        found: dict[str, list[str]] = {}
        members = [name if by_name else user]
        while members and len(found) < _GROUPS:
            text = "".join(filter_format(f"({settings.member_attribute}=%s)", [one]) for one in members)
            groups = self._search(connection, settings.group_base, f"(|{text})", settings.group_attribute)
            new = {dn: names for dn, names in groups if dn not in found}
            found |= new
            members = [] if by_name else [*new]
        return [*found.items()]

    def _search(
        self, connection: Any, base: str, condition: str, attribute: str
    ) -> list[tuple[str, list[str]]]:
        """Return the entries below a base that meet a condition.

        Each is a distinguished name, and the values of an attribute.
        """
        entries = connection.search_s(base, ldap.SCOPE_SUBTREE, condition, [attribute])
        return [
            (dn, [value.decode(errors="replace") for value in _values(values, attribute)])
            for dn, values in entries
            if dn is not None  # a referral
        ]

    def _unavailable(self, error: Exception, reason: str) -> SignInUnavailable:
        _LOG.warning(
            "the directory %s cannot be asked: %s (%s)", self._settings.url, reason, type(error).__name__
        )
        return SignInUnavailable(
            "the directory that knows the passwords does not answer; try again later", retry_after=10
        )


def _accepts(connection: Any, user: str, password: str) -> bool:
    """Return whether a directory accepts the password of a user."""
    try:
        connection.simple_bind_s(user, password)
    except (
        ldap.INVALID_CREDENTIALS,
        ldap.INAPPROPRIATE_AUTH,  # the user has no password
        ldap.UNWILLING_TO_PERFORM,  # the account is locked
        ldap.NO_SUCH_OBJECT,
    ):
        return False
    return True


def _has(groups: Sequence[tuple[str, list[str]]], wanted: str) -> bool:
    """Return whether a group with that name, or that distinguished name, is there. Case does not count."""
    if "=" in wanted and is_dn(wanted):
        return any(_folded(dn) == _folded(wanted) for dn, _ in groups)
    return any(name.casefold() == wanted.casefold() for _, names in groups for name in names)


def _folded(name: str) -> list[list[tuple[str, str]]]:
    return [sorted((kind.casefold(), value.casefold()) for kind, value, _ in part) for part in str2dn(name)]


def _values(values: dict[str, list[bytes]], attribute: str) -> list[bytes]:
    """Return the values of an attribute, whose name a directory may write with other letters."""
    return next((found for name, found in values.items() if name.casefold() == attribute.casefold()), [])


def _words(error: Exception) -> list[str]:
    """Return what is wrong, and an explanation if the library has one."""
    said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    return [str(said[key]) for key in ("desc", "info") if said.get(key)]


def _close(connection: Any) -> None:
    try:
        connection.unbind_ext_s()
    except ldap.LDAPError:
        _LOG.debug("the connection was closed already")
