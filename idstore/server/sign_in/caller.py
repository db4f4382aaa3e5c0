"""The caller of a request: its party, and what its sign-in permits."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from idstore.errors import NotPermitted, SignInRequired
from idstore.model.party import NOBODY, Party
from idstore.operations.operation import ApiOperation, Rights
from idstore.registry import Registry
from idstore.tokens import Token

_SUBJECTS: Final = {("id", "text"), ("ids", "texts"), ("work", "work")}
"""Parameters that name identifiers, each with its argument. (The ``id`` of a token has another argument.)"""


@dataclass(frozen=True, slots=True)
class Caller:
    """The party of a request, with the token by which it signed in.

    is_elsewhere  whether another system has signed it in: a directory, a proxy, a provider.
    is_session    whether a browser's session signed it in, which a browser sends with any request.
    is_cross_site  whether a page of another site caused the request.
    """

    party: Party
    token: Token | None = None
    is_elsewhere: bool = False
    is_session: bool = False
    is_cross_site: bool = False

    def check(self, operation: ApiOperation, registry: Registry, arguments: dict[str, object]) -> None:
        """Raise SignInRequired or NotPermitted unless the caller may try the operation."""
        if operation.rights is not Rights.EVERYONE and self.party == NOBODY:
            raise SignInRequired(f"{operation.name} is for {operation.rights}; sign in")
        if self.is_session and operation.writes:
            raise NotPermitted("a browser's session only reads; sign in with a token to change something")
        if self.is_cross_site and operation.writes:
            raise NotPermitted(
                "a page of another site caused the request; a change is made by a program, or on a page of"
                " this server"
            )
        if self.is_elsewhere and operation.name == "add_token":
            raise NotPermitted(
                "a party that signs in elsewhere makes no tokens, which would be valid for longer;"
                " ask an administrator of this machine"
            )
        if self.token is None or not operation.writes:
            return
        if operation.name == "add_token" and self.token.is_limited:
            raise NotPermitted("a token with limits makes no tokens; use another token")
        if self.token.acts and operation.name not in self.token.acts:
            raise NotPermitted(f"the token does not permit {operation.name}; use another token")
        if self.token.namespaces:
            allowed = {registry.namespace(name).base for name in self.token.namespaces}
            concerned = self._namespaces(operation, registry, arguments)
            if not concerned or not concerned <= allowed:
                raise NotPermitted(
                    f"the token permits acts in {', '.join(self.token.namespaces)} only; use another token"
                )

    def _namespaces(
        self, operation: ApiOperation, registry: Registry, arguments: dict[str, object]
    ) -> set[str]:
        """Return the bases of the namespaces that an operation would change."""
        given = [one.path[0] for one in operation.parameters if (one.name, one.path[0]) in _SUBJECTS]
        subjects = [arguments[name] for name in given if name in arguments]
        texts = [text for one in subjects for text in (one if isinstance(one, list) else [one])]
        named = operation.argument("namespace", arguments)
        about_namespace = "name" in arguments and not texts and operation.rights is Rights.PARTY
        if named is None and about_namespace and not operation.upload:
            named = arguments["name"]
        bases = {registry.show(str(text), self.party).namespace for text in texts}
        return bases if named is None else bases | {registry.namespace(str(named)).base}


def counted_as(request: Request) -> str:
    """Return what limits count a request for: the party that signed in, else the address.

    All requests without a sign-in by the store's socket count as of one address.
    """
    caller: Caller = request.state.caller
    if caller.party == NOBODY:
        return f"@{request.client.host if request.client else ''}"
    return caller.party.name
