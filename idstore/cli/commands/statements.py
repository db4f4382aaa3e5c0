"""Statements on identifiers: ``idstore target``, ``name``, ``bind``, ``unbind``, ``comment`` and ``vet``."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, exits, session
from idstore.cli.call import Call
from idstore.cli.table_changes import change_table
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.model.event import Event
    from idstore.model.namespace import Namespace
    from idstore.model.party import Party
    from idstore.registry import Registry

EXACT: Final = "skos:exactMatch"


def target(
    call: Call,
    id: Annotated[str | None, typer.Argument(metavar="ID", help=f"An identifier, {arguments.FORMS}.")] = None,
    uri: Annotated[
        str | None, typer.Argument(metavar="URI", help="An absolute IRI, or a prefixed name: wd:Q42.")
    ] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Remove the target.")] = False,
    force: arguments.Force = False,
    table: arguments.ChangeTable = None,
    dry_run: arguments.TableDryRun = False,
) -> int:
    """Set the target of an identifier. For its owner.

    With --from the targets are in the column target.

    Undone by: target with the earlier URI, or --unset.
    """
    from idstore.cli.events import print_changes

    if table is not None and (id, unset, force) == (None, False, False):
        return change_table(call, "target", table, {}, dry_run=dry_run)
    if id is None or table is not None or dry_run:
        raise UsageError("give an identifier and its target, or a table with --from")
    if unset == (uri is not None):
        raise UsageError("give the URI, or --unset")
    arguments.warn_of_target(call, uri)

    def act(registry: "Registry", party: "Party") -> "tuple[Event, list[str]]":
        others = arguments.leading_to(registry, uri, party)
        event = registry.target(id, uri, party, force=force)
        return event, [iri for iri in others if iri != event.about]

    event, others = session.write(call, act)
    arguments.warn_of_others(call, uri, others)
    print_changes(call, event)
    return exits.DONE


def name(
    call: Call,
    id: Annotated[str | None, typer.Argument(metavar="ID", help=f"An identifier, {arguments.FORMS}.")] = None,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The name.")] = None,
    lang: Annotated[str | None, typer.Option(metavar="L", help="Its language: en, pt-br.")] = None,
    unset: Annotated[
        str | None,
        typer.Option(metavar="L", help="Remove the name in this language; und: the one without a language."),
    ] = None,
    table: arguments.ChangeTable = None,
    dry_run: arguments.TableDryRun = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --from: take names in quotes, and those like formulas.")
    ] = False,
) -> int:
    """Give an identifier a name. For its owner.

    Replaces its name in the same language. With --from the names are in columns such as name, name_de and
    name@en; an empty cell changes nothing.

    Undone by: name with the earlier text, or --unset.
    """
    if table is not None and (id, unset) == (None, None):
        return change_table(call, "name", table, {"lang": lang}, dry_run=dry_run, force=force)
    if id is None or table is not None or dry_run or force:
        raise UsageError("give an identifier and its name, or a table with --from")
    if (text is None) == (unset is None) or (unset is not None and lang is not None):
        raise UsageError("give a name, or --unset with its language")
    from idstore.cli.events import print_changes
    from idstore.model.terms import UNDETERMINED

    print_changes(
        call,
        session.write(
            call, lambda registry, party: registry.name(id, text, party, unset or lang or UNDETERMINED)
        ),
    )
    return exits.DONE


def bind(
    call: Call,
    id: arguments.Id,
    uri: arguments.Uri,
    relation: arguments.Relation = EXACT,
    note: Annotated[str | None, typer.Option(metavar="T", help="A note on the binding.")] = None,
    confidence: Annotated[
        str | None, typer.Option(metavar="C", help="The confidence in it, from 0 to 1.")
    ] = None,
    justification: Annotated[
        str | None,
        typer.Option(
            metavar="IRI",
            help="The justification: an IRI, or a prefixed name such as semapv:ManualMappingCuration.",
        ),
    ] = None,
    author: Annotated[
        str | None, typer.Option(metavar="A", help="Its author, if not you: the IRI of an ORCID, or a name.")
    ] = None,
    force: arguments.Force = False,
) -> None:
    """Bind an identifier to another URI.

    A repeated binding changes nothing. Before fixation for the owner and parties with grant --bind, then for
    all parties.

    Undone by: unbind.
    """
    from idstore.cli.events import print_changes
    from idstore.registry.bindings import Statement

    arguments.warn_of_target(call, uri)
    statement = Statement(
        uri,
        relation,
        note,
        None if confidence is None else arguments.confidence(confidence),
        justification,
        author,
        force=force,
    )

    def act(registry: "Registry", party: "Party") -> "tuple[Event | None, str]":
        event = registry.bind(id, statement, party)
        return event, "" if event is None else _doubt_of_own(registry, event, party)

    event, doubt = session.write(call, act)
    if event is None:
        call.output.warn("you have bound it already; nothing was changed")
    if doubt:
        call.output.warn(doubt)
    print_changes(call, event)


def _doubt_of_own(registry: "Registry", event: "Event", party: "Party") -> str:
    """Return what to warn of if a binding leads to this registry: to nothing there, or to a draft.

    The binding is made: a question that fails does not fail the command.
    """
    from idstore.errors import IdstoreError, InvalidIdentifier, NotRegistered
    from idstore.registry.namespace_index import NamespaceIndex
    from idstore.vocabulary import RDF

    target = event.text(RDF.object) or ""
    try:
        if NamespaceIndex(registry.namespaces()).home(target) is None:
            return ""
        draft = not registry.show(target, party).public
        if draft and registry.show(event.about, party).public:
            return f"{target} is a draft, and everyone sees this binding to it"
    except (NotRegistered, InvalidIdentifier):
        return f"{target} is in a namespace of this registry, and no identifier that you may see; check it"
    except IdstoreError:
        pass
    return ""


def unbind(
    call: Call,
    id: arguments.Id,
    uri: arguments.Uri,
    relation: arguments.Relation = EXACT,
    note: Annotated[str | None, typer.Option(metavar="T", help="Why, for the log.")] = None,
) -> None:
    """Remove a binding.

    For the party that made it, and the owner of the identifier. The log keeps both acts.

    Undone by: bind.
    """
    from idstore.cli.events import print_changes
    from idstore.registry.bindings import Statement

    statement = Statement(uri, relation, note)
    print_changes(call, session.write(call, lambda registry, party: registry.unbind(id, statement, party)))


def comment(
    call: Call,
    about: arguments.IdOrNamespace,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The comment.")],
    internal: Annotated[
        bool,
        typer.Option(
            "--internal",
            help="Show it only to those who may see the draft (grant list) and administrators, for ever.",
        ),
    ] = False,
) -> None:
    """Comment on an identifier or a namespace.

    For those who may see the identifier (its grant list), or the owner of the namespace.

    Undone by: nothing; an administrator can redact the text.
    """
    from idstore.cli.events import print_changes

    def act(registry: "Registry", party: "Party") -> "Event | Namespace":
        if not arguments.is_namespace(registry, about):
            return registry.comment(about, text, party, internal=internal)
        if internal:
            raise UsageError("everyone can read a comment on a namespace; leave --internal out")
        registry.comment_namespace(about, text, party)
        return registry.namespace(about)

    print_changes(call, session.write(call, act))


def vet(
    call: Call,
    id: arguments.Id,
    note: Annotated[
        str | None, typer.Option(metavar="T", help="What you checked, and against which source.")
    ] = None,
) -> None:
    """Record that you checked an identifier and its statements, and found them correct.

    For all parties that see it. idstore authority shows who vetted it, and whether it changed since.

    Undone by: nothing; a later vet stands beside it.
    """
    from idstore.cli.events import print_changes

    print_changes(call, session.write(call, lambda registry, party: registry.vet(id, party, note)))
