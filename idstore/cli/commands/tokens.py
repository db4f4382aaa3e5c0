"""``idstore token``: how parties sign in to a server."""

from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.tokens import NewToken, Token


def add(
    call: Call,
    of: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="PARTY", help="The party that it signs in. [default: the acting party]"
        ),
    ] = None,
    namespaces: Annotated[
        list[str] | None,
        typer.Option("--namespace", metavar="N", help="It changes only this namespace. Repeatable."),
    ] = None,
    acts: Annotated[
        list[str] | None,
        typer.Option("--act", metavar="A", help="It does only this: mint, bind, fixate. Repeatable."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="T", help="It is valid before this date or time (UTC).")
    ] = None,
) -> None:
    """Make a token, and print it; it is not shown again.

    Administrators make tokens for other parties. A client sends it as bearer token, or as the password of
    the party. The folder of the store keeps its hash only. Backups and exports have no tokens.

    Undone by: token revoke.
    """
    from idstore.operations.declared import new_token

    end = arguments.timestamp(expires, ahead=True)

    def act(registry: "Registry", party: "Party") -> "tuple[NewToken, arguments.Unseen]":
        unseen = {} if of is None else arguments.unseen_parties(registry, [of], party)
        made = new_token(registry, party, of, namespaces or [], acts or [], end)
        return made, unseen

    made, unseen = session.read(call, act)
    call.output.data(made.token, {"token": made.token, "party": made.party})
    arguments.warn_of_unseen(call, unseen, f"revoke the token (idstore token revoke {made.id})")


def list_(call: Call) -> None:
    """List tokens without their secrets: administrators those of all parties, others their own.

    The columns are id, party, namespaces, acts, time of creation and end, separated by tabs.
    """
    from idstore.tokens import list_tokens

    tokens = session.read(call, list_tokens)
    if tokens:
        call.output.heading("id", "party", "namespaces", "acts", "created", "expires")
    for token in tokens:
        document = _json(token)
        line = "\t".join(
            ",".join(value) if isinstance(value, list) else str(value or "") for value in document.values()
        )
        call.output.data(line.rstrip(), document)


def revoke(
    call: Call, id: Annotated[str, typer.Argument(metavar="TOKEN", help="The id of a token, as listed.")]
) -> None:
    """Refuse a token from now on. For its party and administrators.

    Undone by: nothing; add another token.
    """
    from idstore.tokens import revoke_token

    session.read(call, lambda registry, party: revoke_token(registry, id, party))


def _json(token: "Token") -> dict[str, object]:
    from idstore.model import times

    return {
        "id": token.id,
        "party": token.party,
        "namespaces": [*token.namespaces],
        "acts": [*token.acts],
        "created": times.iso(token.created),
        "expires": None if token.expires is None else times.iso(token.expires),
    }
