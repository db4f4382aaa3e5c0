"""``idstore fixate``, ``release``, ``revoke``, ``supersede``, ``deprecate``, ``transfer``, ``grant`` and ``ungrant``: from draft to end."""

from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, inputs, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idstore.model.event import Event
    from idstore.model.namespace import Namespace
    from idstore.model.party import Party
    from idstore.registry import Registry


def fixate(call: Call, ids: arguments.Ids) -> None:
    """Publish identifiers for ever, all of them or none. Their owner may."""
    from idstore.cli.events import done

    texts = list(inputs.texts(ids))

    def act(registry: "Registry", party: "Party") -> "tuple[list[Event], list[int]]":
        open_comments = [sum(not remark.internal for remark in registry.remarks(text, party)) for text in texts]
        return registry.fixate(texts, party), open_comments

    made, open_comments = session.write(call, act, begins=False)
    if count := sum(open_comments):
        commented = [text for text, said in zip(texts, open_comments, strict=True) if said]
        place = commented[0] if len(commented) == 1 else f"{len(commented)} identifiers"
        call.output.warn(f"{count} comment{'s' if count > 1 else ''} on {place} can be read by everyone now")
    done(call, *made)


def release(call: Call, id: arguments.Id) -> None:
    """Give a created identifier up. Its owner may. Its label is never issued again."""
    from idstore.cli.events import done

    done(call, session.write(call, lambda registry, party: registry.release(id, party)))


def revoke(
    call: Call,
    id: Annotated[str | None, typer.Argument(metavar="ID", help=f"An identifier, {arguments.WRITTEN}.")] = None,
    reason: Annotated[str | None, typer.Option(metavar="T", help="Why; a tombstone tells everyone.")] = None,
    of: Annotated[
        str | None, typer.Option("--party", metavar="U", help="Revoke everything that this party allocated; with --since.")
    ] = None,
    since: arguments.Since = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be revoked.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --party: revoke what is listed without it. An ID needs none.")] = False,
) -> None:
    """Take back abusive identifiers. Administrators may.

    Created ones are released, fixated ones become tombstones, which resolve to the reason. Neither can be undone. An ID with --reason is
    revoked at once, unless --dry-run is given; with --party and --since all is only listed, unless --yes is given.
    """
    if (id is None) == (of is None) or (of is None) != (since is None) or (dry_run and yes):
        raise Misuse("write ID --reason T, or --party U --since T with --dry-run or --yes; --dry-run goes with ID as well")
    if of is not None and since is not None:
        _revoke_all(call, of, since, reason, yes)
    elif id is not None:
        _revoke(call, id, reason, dry_run)


def _revoke(call: Call, id: str, reason: str | None, dry_run: bool) -> None:
    from idstore.cli.events import done

    if dry_run:
        found = session.write(call, lambda registry, party: [registry.may_revoke(id, party)], dry=True, begins=False)
        _rehearsed(call, found, "leave --dry-run out")
    elif reason is None:
        raise Misuse("say why with --reason")
    else:
        done(call, session.write(call, lambda registry, party: registry.revoke(id, reason, party), begins=False))


def _revoke_all(call: Call, of: str, since: str, reason: str | None, yes: bool) -> None:
    from idstore.cli.events import done
    from idstore.model.party import Party

    culprit, moment = Party(of), arguments.moment(since) or 0
    if yes:
        because = reason or f"everything that {of} allocated since {since} was revoked"
        made, stranger = session.write(
            call,
            lambda registry, party: (registry.revoke_all(culprit, moment, because, party), registry.is_stranger(culprit, party)),
            begins=False,
        )
        _warn_of(call, of, stranger=stranger)
        call.output.say(f"idstore: {len(made)} revoked")
        done(call, *made)
        return
    found, stranger = session.write(
        call,
        lambda registry, party: (registry.revocable(culprit, moment, party), registry.is_stranger(culprit, party)),
        dry=True,
        begins=False,
    )
    _warn_of(call, of, stranger=stranger)
    _rehearsed(call, found, "add --yes")


def _warn_of(call: Call, name: str, *, stranger: bool) -> None:
    if stranger:
        call.output.warn(arguments.unknown(name))


def _rehearsed(call: Call, found: "Sequence[str]", remedy: str) -> None:
    for iri in found:
        call.output.data(iri, {"id": iri, "revoked": False})
    call.output.say(
        f"idstore: dry run, nothing was changed: {len(found)} would be revoked; {remedy} to revoke {'it' if len(found) == 1 else 'them'}"
    )


def supersede(call: Call, ids: arguments.IdAndMore, by: arguments.By = None) -> None:
    """Name what replaces an identifier. Its owner may."""
    from idstore.cli.events import done

    one, successors = arguments.successors(ids, by)
    if not successors:
        raise Misuse(f"say what replaces {one}, with --by ID")
    done(call, session.write(call, lambda registry, party: registry.supersede(one, successors, party)))


def replace(
    call: Call,
    id: arguments.Id,
    file: Annotated[str, typer.Option("--metadata", metavar="FILE", help="The new copy's metadata, as for derive; - is standard input.")],
) -> None:
    """Let a new copy of an article take its identifier; print the old copy's new one.

    The owner of the namespace may. The old copy gets _old1, _old2 and so on; it is seen by whom the article is seen by.
    """
    from idstore.cli.loading import noting, tell_passed
    from idstore.cli.records import described
    from idstore.exchange import metadata

    passed: dict[str, None] = {}
    read = [entry.fields() for entry in noting(metadata.entries(file), passed)]
    tell_passed(call, [*passed])
    if len(read) != 1:
        raise Misuse(f"{file} describes {len(read)} articles; give the metadata of the one that replaces {id}")
    [made] = session.write(
        call, lambda registry, party: described(registry, party, [registry.replace(id, read[0], party)], remarks=call.output.json)
    )
    call.output.made(made.iri, made.json())


def deprecate(call: Call, ids: arguments.IdAndMore, reason: arguments.Reason, by: arguments.By = None) -> None:
    """Mark a fixated identifier as outdated. Its owner may."""
    from idstore.cli.events import done

    one, successors = arguments.successors(ids, by)
    done(call, session.write(call, lambda registry, party: registry.deprecate(one, reason, party, successors)))


def transfer(call: Call, what: arguments.IdOrNamespace, user: arguments.Person) -> None:
    """Offer an identifier or namespace to another party.

    Its owner may; it changes hands when the receiver runs the same command.
    """
    from idstore.cli.events import done
    from idstore.model.party import Party

    receiver = Party(user)

    def act(registry: "Registry", party: "Party") -> "Event | Namespace":
        if arguments.is_namespace(registry, what):
            return registry.transfer_namespace(what, receiver, party)
        return registry.transfer(what, receiver, party)

    done(call, session.write(call, act))


def grant(
    call: Call,
    id: arguments.Id,
    user: arguments.User,
    bind: Annotated[bool, typer.Option("--bind", help="And to bind it.")] = False,
) -> None:
    """Let others see a created identifier and comment on it.

    Its owner may. Once it is fixated everyone sees it, and the grant list can still comment.
    """
    from idstore.cli.events import done
    from idstore.model.party import Party

    grantee = Party(user)
    done(call, session.write(call, lambda registry, party: registry.grant(id, grantee, party, bind=bind)))


def ungrant(call: Call, id: arguments.Id, user: arguments.User) -> None:
    """Take a party or group off the grant list. The owner of the identifier may."""
    from idstore.cli.events import done
    from idstore.model.party import Party

    grantee = Party(user)
    done(call, session.write(call, lambda registry, party: registry.ungrant(id, grantee, party)))
