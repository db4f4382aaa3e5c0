"""The caller of a request: its party, and what its sign-in permits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from starlette.requests import Request

from idstore.errors import NotPermitted, SignInRequired
from idstore.model.party import NOBODY, Party
from idstore.operations.operation import ApiOperation, Rights
from idstore.registry import Registry
from idstore.registry.batch_mint import RequestRow
from idstore.registry.change_rows import ChangeRow
from idstore.registry.requests import Request as MintRequest
from idstore.remedies import Remedy
from idstore.tokens import Token

_SUBJECTS: Final = frozenset({"id", "ids", "work", "existing"})
"""Arguments that name the identifiers which an operation changes."""


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
            raise SignInRequired(
                f"{operation.name} is for {operation.rights}; sign in", remedy=Remedy.SIGN_IN
            )
        if self.is_session and operation.writes:
            raise NotPermitted(
                "a browser's session only reads; sign in with a token to change something",
                remedy=Remedy.SIGN_IN,
            )
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
        if self.token is not None and operation.writes:
            self._check_token(self.token, operation, registry, arguments)

    def _check_token(
        self, token: Token, operation: ApiOperation, registry: Registry, arguments: dict[str, object]
    ) -> None:
        """Raise NotPermitted unless the token permits all that an operation changes."""
        if operation.name == "add_token" and token.is_limited:
            raise NotPermitted("a token with limits makes no tokens; use another token")
        for act in _acts(operation, arguments):
            if token.acts and act not in token.acts:
                raise NotPermitted(f"the token does not permit {act}; use another token")
        if token.namespaces:
            allowed = {registry.namespace(name).base for name in token.namespaces}
            concerned = self._namespaces(operation, registry, arguments)
            if not concerned or not concerned <= allowed:
                raise NotPermitted(
                    f"the token permits acts in {', '.join(token.namespaces)} only; use another token"
                )

    def _namespaces(
        self, operation: ApiOperation, registry: Registry, arguments: dict[str, object]
    ) -> set[str]:
        """Return the bases of the namespaces that an operation would change."""
        subjects = [arguments[name] for name in _SUBJECTS if arguments.get(name) is not None]
        subjects += [[row.id for row in _changes(arguments)]]
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


def _acts(operation: ApiOperation, arguments: dict[str, object]) -> Iterator[str]:
    """Yield the names of all acts of an operation: a new identifier can be bound and published as well."""
    yield operation.name
    rows = cast("Sequence[object]", arguments.get("rows", ()))
    requests = [arguments.get("request"), *(row.request for row in rows if isinstance(row, RequestRow))]
    yield from {row.act for row in _changes(arguments)}
    for request in requests:
        if isinstance(request, MintRequest):
            yield from ["bind"] * bool(request.bindings) + ["fixate"] * request.fixate


def _changes(arguments: dict[str, object]) -> list[ChangeRow]:
    """Return the rows of a table of changes."""
    rows = cast("Sequence[object]", arguments.get("rows", ()))
    return [row for row in rows if isinstance(row, ChangeRow)]
