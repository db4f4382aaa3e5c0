"""``idstore version``: works and their versions."""

from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.commands import allocation
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.documents import Json
    from idstore.model.party import Party
    from idstore.registry import Registry


def add(
    call: Call,
    work: Annotated[
        str, typer.Argument(metavar="ID", help=f"The identifier of the work, {arguments.FORMS}.")
    ],
    number: Annotated[
        str,
        typer.Option(
            metavar="N", help="The version: V0.1, V0.2 drafts, V1.0 the first release, V1.1 with amendments."
        ),
    ],
    existing: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="An identifier that you own, instead of a new one."),
    ] = None,
    name: allocation.Name = None,
    lang: allocation.Lang = None,
    comment: allocation.Comment = None,
    target: allocation.Target = None,
    force: arguments.Force = False,
    request_key: allocation.Key = None,
) -> None:
    """Allocate an identifier for a version of a work, and print its IRI.

    For the owner of the work, after its fixation. The work resolves to its newest fixated version; a version
    stays a version.

    Undone by: nothing; a version that is not fixated can be released.
    """
    from idstore.cli.records import new_record_json

    request = allocation.build_request(call, name, lang, comment, target, request_key, force=force)
    if existing is not None and (name, comment, target, request_key) != (None, None, None, None):
        raise UsageError("the options that describe a new identifier do not go with --id")

    def act(registry: "Registry", party: "Party") -> "tuple[str, Json, list[str]]":
        bound = arguments.leading_to(registry, target, party)
        record = registry.add_version(work, number, party, request, existing=existing)
        document = new_record_json(call.output, registry, party, record, remarks=True)
        return record.iri, document, [iri for iri in bound if iri != record.iri]

    iri, document, others = session.write(call, act)
    allocation.print_allocated(call, iri, document, others, target)


def list_(
    call: Call,
    work: Annotated[
        str, typer.Argument(metavar="ID", help=f"The identifier of the work, {arguments.FORMS}.")
    ],
) -> None:
    """List the versions of a work that you may see, the newest first.

    The columns are the version, then those of idstore list.
    """
    from idstore.cli.records import COLUMNS, record_views

    views = session.read(
        call,
        lambda registry, party: record_views(
            registry, party, registry.versions(work, party), remarks=call.output.json
        ),
    )
    if views:
        call.output.heading("version", *COLUMNS)
    for view in views:
        call.output.data(f"{view.record.version}\t{view.line()}", view.json())
