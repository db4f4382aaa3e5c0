"""Lifecycle of identifiers: ``idstore fixate``, ``release``, ``revoke``, ``supersede`` and so on."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, confirmation, exits, inputs, session
from idstore.cli.call import Call
from idstore.cli.table_changes import change_table
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from idstore.documents import Json
    from idstore.model.event import Event
    from idstore.model.namespace import Namespace
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.replacement import Replaced


def fixate(
    call: Call,
    ids: arguments.Ids,
    dry_run: confirmation.DryRun = False,
    yes: confirmation.Yes = False,
) -> None:
    """Publish identifiers for ever (fixate), all of them or none. For their owner.

    With their comments, notes and reasons they become visible to everybody. Nothing undoes this: a published
    identifier can be deprecated, and an administrator can withdraw it (revoke). On a terminal the command
    shows what becomes visible, and asks.

    Undone by: nothing; deprecate advises against use.
    """
    from idstore.cli.events import print_changes

    texts = list(inputs.texts(ids))

    def rehearse(registry: "Registry", party: "Party") -> "Iterable[str]":
        return confirmation.publications(registry, party, registry.fixate(texts, party, dry_run=True))

    if _only_rehearsed(call, rehearse, dry_run=dry_run, yes=yes):
        return

    def act(registry: "Registry", party: "Party") -> "tuple[list[Event], list[int]]":
        open_comments = [
            sum(not remark.internal for remark in registry.remarks(text, party)) for text in texts
        ]
        return registry.fixate(texts, party), open_comments

    events, open_comments = session.write(call, act, creates=False)
    if count := sum(open_comments):
        commented = [text for text, number in zip(texts, open_comments, strict=True) if number]
        subject = commented[0] if len(commented) == 1 else f"{len(commented)} identifiers"
        call.output.warn(
            f"{count} comment{'s' if count > 1 else ''} on {subject} can be read by everyone now"
        )
    print_changes(call, *events)


def _only_rehearsed(
    call: Call, rehearse: "Callable[[Registry, Party], Iterable[str]]", *, dry_run: bool, yes: bool
) -> bool:
    """Print what would happen if that is all that is wanted, or show it and ask. Returns whether it was all.

    rehearse  returns lines: an identifier, what becomes of it, and a text.
    """
    if not dry_run and not confirmation.asks(yes=yes):
        return False
    lines = session.write(
        call, lambda registry, party: [*rehearse(registry, party)], dry_run=True, creates=False
    )
    if not dry_run:
        confirmation.confirm(call, lines)
        return False
    for line in lines:
        iri, effect, *text = line.split("\t", 2)
        call.output.data(
            line, {"id": iri, "effect": effect, "text": text[0] if text else None, "dryRun": True}
        )
    call.output.info("idstore: dry run, nothing was changed")
    return True


def release(
    call: Call, id: arguments.Id, dry_run: confirmation.DryRun = False, yes: confirmation.Yes = False
) -> None:
    """Release a created identifier. For its owner.

    Its record is removed, and its label is never issued again; nothing undoes this. On a terminal the command
    asks.

    Undone by: nothing.
    """
    from idstore.cli.events import print_changes

    def rehearse(registry: "Registry", party: "Party") -> "Iterable[str]":
        event = registry.release(id, party, dry_run=True)
        return [f"{event.about}\tis given up, and its label is never issued again"]

    if _only_rehearsed(call, rehearse, dry_run=dry_run, yes=yes):
        return
    print_changes(call, session.write(call, lambda registry, party: registry.release(id, party)))


def revoke(
    call: Call,
    id: Annotated[str | None, typer.Argument(metavar="ID", help=f"An identifier, {arguments.FORMS}.")] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="T", help="The reason; everyone sees it of what was published.")
    ] = None,
    of: Annotated[
        str | None,
        typer.Option("--party", metavar="U", help="Revoke all that this party allocated; with --since."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="T", help=f"With --party: what it allocated at or after {arguments.MOMENTS}."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the identifiers without revoking them.")
    ] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="With --party: revoke the identifiers instead of listing them. With ID: do not ask."
        ),
    ] = False,
) -> None:
    """Withdraw abusive identifiers (revoke). For administrators.

    Drafts are released. Published ones stay, withdrawn, with their reason (tombstones), to which they
    resolve. Neither can be undone. An ID with --reason is revoked at once, unless --dry-run is given; on a
    terminal the command asks. With --party and --since the identifiers are only listed, unless --yes is
    given.

    Undone by: nothing.
    """
    if (id is None) == (of is None) or (of is None) != (since is None) or (dry_run and yes):
        raise UsageError(
            "write ID --reason T, or --party U --since T with --dry-run or --yes; "
            "--dry-run goes with ID as well"
        )
    if of is not None and since is not None:
        _revoke_all(call, of, since, reason, yes)
    elif id is not None:
        _revoke(call, id, reason, dry_run=dry_run, yes=yes)


_RELEASED: Final = "is a draft: its record is removed, and its label is never issued again"
_WITHDRAWN: Final = "is published: it stays, withdrawn, with the reason for everybody"
_NO_REASON: Final = "not given"
"""The reason of a dry run without one."""


def _revoke(call: Call, id: str, reason: str | None, *, dry_run: bool, yes: bool) -> None:
    from idstore.cli.events import print_changes
    from idstore.errors import NotRegistered

    def fate(registry: "Registry", party: "Party") -> tuple[str, str]:
        """Return the IRI, and what becomes of it."""
        iri = registry.revoke(id, reason or _NO_REASON, party, dry_run=True).about
        try:
            is_draft = not registry.show(iri, party).fixated
        except NotRegistered:  # a draft of others, which administrators revoke unseen
            is_draft = True
        return iri, _RELEASED if is_draft else _WITHDRAWN

    if dry_run:
        iri, becomes = session.write(call, fate, dry_run=True, creates=False)
        call.output.data(iri, {"id": iri, "revoked": False, "effect": becomes})
        call.output.info(
            f"idstore: dry run, nothing was changed: it {becomes}; leave --dry-run out to revoke it"
        )
    elif reason is None:
        raise UsageError("give the reason with --reason")
    else:
        if confirmation.asks(yes=yes):
            iri, becomes = session.write(call, fate, dry_run=True, creates=False)
            confirmation.confirm(call, [f"{iri}\t{becomes}"])
        print_changes(
            call,
            session.write(call, lambda registry, party: registry.revoke(id, reason, party), creates=False),
        )


def _revoke_all(call: Call, of: str, since: str, reason: str | None, yes: bool) -> None:
    from idstore.cli.events import print_changes
    from idstore.model.party import Party

    allocator, start = Party(of), arguments.moment(since)
    if yes:
        text = reason or f"everything that {of} allocated since {since} was revoked"
        events, unknown = session.write(
            call,
            lambda registry, party: (
                registry.revoke_all(allocator, start, text, party),
                registry.is_stranger(allocator, party),
            ),
            creates=False,
        )
        _warn_unknown(call, of, unknown=unknown)
        call.output.info(f"idstore: {len(events)} revoked")
        print_changes(call, *events)
        return
    events, unknown = session.write(
        call,
        lambda registry, party: (
            registry.revoke_all(allocator, start, reason or _NO_REASON, party, dry_run=True),
            registry.is_stranger(allocator, party),
        ),
        dry_run=True,
        creates=False,
    )
    _warn_unknown(call, of, unknown=unknown)
    _print_revocable(call, [event.about for event in events])


def _warn_unknown(call: Call, name: str, *, unknown: bool) -> None:
    if unknown:
        call.output.warn(arguments.unknown_party_warning(name))


def _print_revocable(call: Call, iris: "Sequence[str]") -> None:
    """Print the identifiers of a dry run, and how to revoke them."""
    for iri in iris:
        call.output.data(iri, {"id": iri, "revoked": False})
    call.output.info(
        f"idstore: dry run, nothing was changed: {len(iris)} would be revoked; "
        f"add --yes to revoke {'it' if len(iris) == 1 else 'them'}"
    )


def supersede(
    call: Call,
    ids: arguments.IdsOrTable = None,
    by: arguments.By = None,
    table: arguments.ChangeTable = None,
    dry_run: arguments.TableDryRun = False,
) -> int:
    """Name the successors of an identifier. For its owner.

    With --from the successors are in the column replaced_by.

    Undone by: undeprecate.
    """
    from idstore.cli.events import print_changes

    _check_table(ids, table, dry_run=dry_run)
    if table is not None:
        return change_table(
            call, "supersede", table, {"replaced_by": "|".join(by) if by else None}, dry_run=dry_run
        )
    id, successors = arguments.successors(ids or [], by)
    if not successors:
        raise UsageError(f"name the successors of {id} with --by ID")
    print_changes(
        call, session.write(call, lambda registry, party: registry.supersede(id, successors, party))
    )
    return exits.DONE


def _check_table(given: object, table: str | None, *, dry_run: bool) -> None:
    """Raise UsageError unless there is either an identifier or a table."""
    if (not given) == (table is None):
        raise UsageError("give an identifier, or a table with --from")
    if dry_run and table is None:
        raise UsageError("--dry-run goes with --from")


def replace(
    call: Call,
    id: arguments.Id,
    file: Annotated[
        str,
        typer.Option(
            "--metadata", metavar="FILE", help="The new copy's metadata, as for derive; - is standard input."
        ),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="URI", help="The IRI of the new copy, to which ID resolves.")
    ] = None,
    force: arguments.Force = False,
    dry_run: confirmation.DryRun = False,
    yes: confirmation.Yes = False,
) -> None:
    """Give the identifier of an article to its new copy; print the new identifier of the old copy.

    For the owner of the namespace. The old copy gets the suffix _old1, _old2 and so on, and is visible to the
    same parties as the article. The target moves to the old copy, with the files and events that are
    part of the article; without --target, ID resolves to both copies until its owner sets a target. Bindings
    stay, and are listed. A new DOI in the metadata belongs to ID from now on. Nothing undoes this; on a
    terminal the command asks.

    Undone by: nothing; the old copy keeps its own identifier.
    """
    from idstore.cli.article_minting import collect_ignored_keys, warn_ignored_keys
    from idstore.cli.records import new_record_json
    from idstore.documents import compact_iri
    from idstore.exchange import metadata

    ignored: dict[str, None] = {}
    entries = [*collect_ignored_keys(metadata.entries(file), ignored)]
    articles = [entry.fields() for entry in entries]
    warn_ignored_keys(call, [*ignored])
    for doubt in (doubt for entry in entries for doubt in entry.doubts):
        call.output.warn(f"{file}: {doubt}")
    if len(articles) != 1:
        raise UsageError(
            f"{file} describes {len(articles)} articles; give the metadata of the new copy of {id} alone"
        )

    arguments.warn_of_target(call, target)

    def rehearse(registry: "Registry", party: "Party") -> "Iterable[str]":
        replaced = registry.replace(id, articles[0], party, target, force=force, dry_run=True)
        return _effects(replaced, target)

    if _only_rehearsed(call, rehearse, dry_run=dry_run, yes=yes):
        return

    def act(registry: "Registry", party: "Party") -> "tuple[Replaced, Json, list[str]]":
        others = arguments.leading_to(registry, target, party)
        result = registry.replace(id, articles[0], party, target, force=force)
        document = new_record_json(call.output, registry, party, result.old, remarks=True)
        return result, document, [iri for iri in others if iri != result.old.successors[0]]

    result, document, others = session.write(call, act)
    arguments.warn_of_others(call, target, others)
    for binding in result.bindings:
        call.output.info(
            f"idstore: stays with {result.old.successors[0]}:"
            f" {compact_iri(binding.relation)} {binding.target} (by {binding.by})"
        )
    if result.moved:
        call.output.info(f"idstore: moved to {result.old.iri}: {', '.join(result.moved)}")
    call.output.new_identifier(
        result.old.iri,
        document
        | {
            "moved": [*result.moved],
            "staying": [binding.as_dict() for binding in result.bindings],
        },
    )


def _effects(replaced: "Replaced", target: str | None) -> list[str]:
    """Return what becomes of an article, its old copy and what is below it, a line each."""
    old, article = replaced.old.iri, replaced.old.successors[0]
    leads = f"leads to {target}" if target is not None else "leads to both copies, until a target is set"
    return [
        f"{article}\tnames the new copy, and {leads}",
        f"{old}\tnames the old copy, with its target",
        *(f"{iri}\tmoves to {old}" for iri in replaced.moved),
    ]


def deprecate(
    call: Call,
    ids: arguments.IdsOrTable = None,
    reason: Annotated[
        str | None, typer.Option(metavar="T", help="The reason; it stands in the log, for everybody.")
    ] = None,
    by: arguments.By = None,
    table: arguments.ChangeTable = None,
    dry_run: arguments.TableDryRun = False,
) -> int:
    """Mark a fixated identifier as deprecated. For its owner.

    A deprecated identifier should not be used for new things. It stays valid, and resolves. show prints the
    reason. supersede also makes an identifier deprecated; revoke keeps the mark as it was. With --from the
    columns are reason, or --reason for all rows, and replaced_by.

    Undone by: undeprecate.
    """
    from idstore.cli.events import print_changes

    _check_table(ids, table, dry_run=dry_run)
    if table is not None:
        defaults = {"reason": reason, "replaced_by": "|".join(by) if by else None}
        return change_table(call, "deprecate", table, defaults, dry_run=dry_run)
    if reason is None:
        raise UsageError("give the reason with --reason")
    id, successors = arguments.successors(ids or [], by)
    print_changes(
        call, session.write(call, lambda registry, party: registry.deprecate(id, reason, party, successors))
    )
    return exits.DONE


def undeprecate(
    call: Call,
    ids: arguments.IdsOrTable = None,
    by: arguments.By = None,
    table: arguments.ChangeTable = None,
    dry_run: arguments.TableDryRun = False,
) -> int:
    """Take a deprecation back, with its reason and the successors. For its owner.

    With --by only these successors are taken back; the others stay, and so does the reason.

    Undone by: deprecate, supersede.
    """
    from idstore.cli.events import print_changes

    _check_table(ids, table, dry_run=dry_run)
    if table is not None:
        if by:
            raise UsageError("--by goes with an identifier, and not with a table")
        return change_table(call, "undeprecate", table, {}, dry_run=dry_run)
    id, successors = arguments.successors(ids or [], by)
    print_changes(
        call, session.write(call, lambda registry, party: registry.undeprecate(id, party, successors))
    )
    return exits.DONE


def transfer(call: Call, what: arguments.IdOrNamespace, user: arguments.ActingParty) -> None:
    """Offer an identifier or namespace to another party.

    For its owner; the receiver accepts it by running the same command. An offer to yourself withdraws it.

    Undone by: transfer to yourself, until it is accepted; then a transfer by the new owner.
    """
    from idstore.cli.events import print_changes
    from idstore.model.party import Party

    receiver = Party(user)

    def act(registry: "Registry", party: "Party") -> "tuple[Event | Namespace, arguments.Unseen]":
        unseen = arguments.unseen_parties(registry, [receiver.name], party)
        if arguments.is_namespace(registry, what):
            return registry.transfer_namespace(what, receiver, party), unseen
        return registry.transfer(what, receiver, party), unseen

    changed, unseen = session.write(call, act)
    print_changes(call, changed)
    arguments.warn_of_unseen(call, unseen, "withdraw the offer by a transfer to yourself")


def grant(
    call: Call,
    id: Annotated[str | None, typer.Argument(metavar="ID", help=f"An identifier, {arguments.FORMS}.")] = None,
    user: Annotated[str | None, typer.Argument(metavar="USER", help="A party: a user or a group.")] = None,
    bind: Annotated[bool, typer.Option("--bind", help="Let them bind it as well.")] = False,
    table: arguments.ChangeTable = None,
    dry_run: arguments.TableDryRun = False,
) -> int:
    """Let a party or group see a created identifier (grant list) and comment on it.

    For its owner. After fixation everyone sees the identifier, and those who might see the draft (its grant
    list) can still comment. With --from the columns are party and bind (yes or no); --bind is for all rows.

    Undone by: ungrant.
    """
    from idstore.cli.events import print_changes
    from idstore.model.party import Party

    _check_table(id, table, dry_run=dry_run)
    if table is not None:
        defaults = {"bind": "yes" if bind else None}
        return change_table(call, "grant", table, defaults, dry_run=dry_run)
    if id is None or user is None:
        raise UsageError("give the identifier and the party")
    grantee = Party(user)

    def act(registry: "Registry", party: Party) -> "tuple[Event, arguments.Unseen]":
        unseen = arguments.unseen_parties(registry, [grantee.name], party)
        return registry.grant(id, grantee, party, bind=bind), unseen

    event, unseen = session.write(call, act)
    print_changes(call, event)
    arguments.warn_of_unseen(call, unseen, "take the grant back (idstore ungrant)")
    return exits.DONE


def ungrant(call: Call, id: arguments.Id, user: arguments.User) -> None:
    """Remove a party or group from those who may see an identifier (grant list). For its owner.

    Undone by: grant.
    """
    from idstore.cli.events import print_changes
    from idstore.model.party import Party

    grantee = Party(user)
    print_changes(call, session.write(call, lambda registry, party: registry.ungrant(id, grantee, party)))
