"""The caller of a request: its party, and what its sign-in permits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from starlette.requests import Request

from idstore.errors import NotPermitted, SignInRequired
from idstore.model.party import NOBODY, Party
from idstore.operations.operation import ApiOperation, Rights
from idstore.registry import Registry
from idstore.registry.batch_mint import RequestRow
from idstore.registry.change_rows import ChangeRow
from idstore.registry.requests import Request as MintRequest
from idstore.remedies import Remedy
from idstore.server.sign_in.networks import network
from idstore.tokens import Token

T = TypeVar("T")

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

    def check_signed_in(self, operation: ApiOperation) -> None:
        """Raise SignInRequired for an anonymous caller of an operation that needs a sign-in."""
        if operation.rights is not Rights.EVERYONE and self.party == NOBODY:
            raise SignInRequired(
                f"{operation.name} is for {operation.rights}; sign in", remedy=Remedy.SIGN_IN
            )

    def check(self, operation: ApiOperation, registry: Registry, arguments: dict[str, object]) -> None:
        """Raise SignInRequired or NotPermitted unless the caller may try the operation."""
        self.check_signed_in(operation)
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
        if token.acts:
            names = {operation.name} if operation.name in token.acts else _ones(operation, arguments)
            missing = _acts(arguments, names) - {*token.acts}
            if missing:
                raise NotPermitted(f"the token does not permit {min(missing)}; use another token")
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
        subjects += [[row.id for row in _rows(arguments, ChangeRow)]]
        texts = [text for one in subjects for text in (one if isinstance(one, list) else [one])]
        named = operation.argument(operation.namespace, arguments)
        bases = {registry.show(str(text), self.party).namespace for text in texts}
        return bases if named is None else bases | {registry.namespace(str(named)).base}


def counted_as(request: Request) -> str:
    """Return what limits count a request for: the party that signed in, else the address: see `network`.

    All requests without a sign-in by the store's socket count as of one address.
    """
    caller: Caller = request.state.caller
    if caller.party == NOBODY:
        return f"@{network(request.client.host) if request.client else ''}"
    return caller.party.name


def _ones(operation: ApiOperation, arguments: dict[str, object]) -> set[str]:
    """Return the operations on one identifier that an operation on several does; else its own name."""
    match operation.name:
        case "mint_several":
            return {"mint"}
        case "mint_many":
            return {"mint" if row.label is None else "register" for row in _rows(arguments, RequestRow)}
        case "change_many":
            return set()  # the acts of its rows
    return {operation.name}


def _acts(arguments: dict[str, object], names: set[str]) -> set[str]:
    """Add the other acts of an operation: those of its rows, and what is done with a new identifier."""
    requests = [arguments.get("request"), *(row.request for row in _rows(arguments, RequestRow))]
    acts = names | {row.act for row in _rows(arguments, ChangeRow)}
    for request in requests:
        if isinstance(request, MintRequest):
            acts |= {*["bind"] * bool(request.bindings), *["fixate"] * request.fixate}
    return acts


def _rows(arguments: dict[str, object], kind: type[T]) -> list[T]:
    """Return the rows of a table, if they are of that kind."""
    rows = cast("Sequence[object]", arguments.get("rows", ()))
    return [row for row in rows if isinstance(row, kind)]
