"""The settings of an OpenID provider, and the person that it signs in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from idstore.errors import InvalidData
from idstore.server.settings_file import Secret
from idstore.web_addresses import address_parts, is_this_machine


@dataclass(frozen=True, slots=True)
class OpenId:
    """The table ``[openid]``.

    issuer          address of the provider, as its tokens name it.
    client_id       of this server at the provider.
    client_secret   its secret; None: a public client, by PKCE alone.
    audience        whom bearer tokens of programs must be for; empty: client_id.
    scope           what is asked for at the sign-in.
    name_claim      the claim that has the party's name. The provider must not let people choose it freely.
    groups_claim    the claim that has the groups.
    required_group  the group whose members may sign in; empty: everyone.
    groups          group of the provider → the group of the registry that its members are in.
    ca_file         certificates to trust; None: those of the system.
    seconds         how long the provider may take to answer.
    """

    issuer: str
    client_id: str
    client_secret: Secret | None = None
    audience: str = ""
    scope: str = "openid profile"
    name_claim: str = "preferred_username"
    groups_claim: str = "groups"
    required_group: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    ca_file: Path | None = None
    seconds: float = 5.0

    def __post_init__(self) -> None:
        """Raise InvalidData for values that make no sense."""
        if find_spec("authlib") is None or find_spec("itsdangerous") is None:
            raise InvalidData("an OpenID provider needs more packages: pip install 'idstore[openid]'")
        address = address_parts(self.issuer)
        is_local = is_this_machine(address.hostname or "")
        if not address.hostname or address.scheme not in ({"https", "http"} if is_local else {"https"}):
            raise InvalidData(
                f"issuer: {self.issuer!r} is no provider; write https://login.example.org/realm",
                field="issuer",
                value=self.issuer,
            )
        if not self.client_id:
            raise InvalidData(
                "client_id: empty; write the name of this server at the provider", field="client_id"
            )
        if "openid" not in self.scope.split():
            raise InvalidData(f"scope: {self.scope!r} lacks openid; add it", field="scope", value=self.scope)


@dataclass(frozen=True, slots=True)
class Person:
    """Who signed in: the party's name, and the groups of the registry that the provider puts it in."""

    name: str
    groups: frozenset[str]
