"""``idstore version``: works and their versions."""

from typing import Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.commands import allocation
from idstore.cli.ending import Misuse
from idstore.cli.giving import Said


def add(
    call: Call,
    work: Annotated[str, typer.Argument(metavar="ID", help=f"The identifier of the work, {arguments.WRITTEN}.")],
    number: Annotated[str, typer.Option(metavar="N", help="The version: V0.1, V0.2 drafts, V1.0 the first release, V1.1 with amendments.")],
    existing: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="An identifier of yours that is the version's, instead of a new one.")
    ] = None,
    name: allocation.Name = None,
    lang: allocation.Lang = None,
    comment: allocation.Comment = None,
    target: allocation.Target = None,
    request_key: allocation.Key = None,
) -> None:
    """Give a version of a work an identifier of its own, and print its IRI.

    The owner of the work may, once it is fixated. The work leads to the newest version that is fixated as well; a version stays.
    """
    from idstore.cli.records import described

    request = Said.of(name, lang, comment, target, request_key).request()
    if existing is not None and (name, comment, target, request_key) != (None, None, None, None):
        raise Misuse("what describes a new identifier does not go together with --id")
    [made] = session.write(
        call,
        lambda registry, party: described(
            registry, party, [registry.add_version(work, number, party, request, existing=existing)], remarks=call.output.json
        ),
    )
    call.output.made(made.iri, made.json())


def list_(
    call: Call,
    work: Annotated[str, typer.Argument(metavar="ID", help=f"The identifier of the work, {arguments.WRITTEN}.")],
) -> None:
    """List the versions of a work that you may see, the newest first.

    The columns are the number, then those of idstore list.
    """
    from idstore.cli.records import described

    found = session.read(call, lambda registry, party: described(registry, party, registry.versions(work, party), remarks=call.output.json))
    for one in found:
        call.output.data(f"{one.record.version}\t{one.line()}", one.json())
