"""``idstore export``: files going out."""

from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, inputs, session
from idstore.cli.call import Call
from idstore.cli.commands import batch
from idstore.cli.commands.lookup import Stage
from idstore.cli.ending import Misuse
from idstore.cli.outputs import output
from idstore.cli.progress import Progress

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.exporting import Extract


def export(
    call: Call,
    namespace: Annotated[str | None, typer.Option(metavar="N", help="Only this namespace.")] = None,
    stage: Annotated[Stage | None, typer.Option(help="Only identifiers in this stage.")] = None,
    since: arguments.Since = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--after",
            metavar="SEQ",
            min=0,
            help="Only what became different behind this number, as an RDF Patch that another store can follow.",
        ),
    ] = None,
    description: Annotated[bool, typer.Option("--description", help="Only what the data are: VoID and DCAT, in Turtle.")] = False,
    title: Annotated[str | None, typer.Option(metavar="T", help="With --description or sssom: what the data are called.")] = None,
    licence: Annotated[str | None, typer.Option("--license", metavar="IRI", help="With --description or sssom: their licence.")] = None,
    digest: Annotated[
        bool, typer.Option("--digest", help="Only one line that stands for all of it: two registries that say the same have the same.")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="turtle, trig, ntriples, nquads, jsonld, sssom, csv or handle-batch; rdf-patch with --after. [default: by FILE's ending, else turtle]",
        ),
    ] = None,
    file: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where to; - is standard output.")] = inputs.STDIN,
) -> None:
    """Write out what you may see; the same state gives the same bytes.

    All that an administrator exports can be imported without loss; anything less is marked as partial. Tables (sssom, csv) hold identifiers
    with their names and bindings, and nothing of what happened.
    """
    from idstore.exchange import patch
    from idstore.registry.exporting import Extract

    partly, chosen = bool(namespace or stage or since), format or _format_of(file)
    if (title or licence) and not description and chosen != "sssom":
        raise Misuse("--title and --license go with --description or --format sssom")
    if description:
        if partly or format or digest or after is not None:
            raise Misuse("--description is of all that you may see; it goes with --title, --license and --output only")
        _describe(call, file, title, licence)
    elif after is not None or (chosen == patch.FORMAT and not digest):
        if partly or digest or format not in (None, patch.FORMAT):
            raise Misuse(f"--after SEQ gives an {patch.FORMAT} of all that you may see; leave the other choices out")
        _patch(call, file, after or 0)
    else:
        extract = Extract(namespace, stage and stage.value, arguments.moment(since))
        if not digest:
            _write(call, file, chosen, extract, title, licence)
        elif format or file != inputs.STDIN:
            raise Misuse("--digest is the same for every format; it goes with --namespace, --stage and --since only")
        else:
            _digest(call, extract)


def _format_of(file: str) -> str:
    """The format that the name of a file to be written tells, else turtle."""
    from idstore.exchange import patch, rdf, tables
    from idstore.exchange.sources import ending

    return {**rdf.SUFFIXES, patch.SUFFIX: patch.FORMAT}.get(ending(file)) or tables.format_of(file) or "turtle"


def _describe(call: Call, file: str, title: str | None, licence: str | None) -> None:
    from idstore.exchange.description import describe

    with output(file) as target, Progress(call.output) as progress:

        def act(registry: "Registry", party: "Party") -> None:
            describe(registry, target, party, title=title, licence=licence, progress=progress.step)

        session.read(call, act, detached=True)


def _patch(call: Call, file: str, after: int) -> None:
    from idstore.exchange import patch

    with output(file) as target, Progress(call.output) as progress:

        def act(registry: "Registry", party: "Party") -> int:
            return patch.export(registry, target, party, after, progress=progress.step)

        last = session.read(call, act, detached=True)
    call.output.say(f"idstore: up to {last}; the next one begins with --after {last}")


def _digest(call: Call, extract: "Extract") -> None:
    from idstore.exchange.digest import digest

    with Progress(call.output) as progress:
        found = session.read(call, lambda registry, party: digest(registry, party, extract, progress=progress.step), detached=True)
    call.output.data(str(found), {"digest": str(found), "canonicalization": "RDFC-1.0", "statements": found.statements})


def _write(call: Call, file: str, format: str, extract: "Extract", title: str | None, licence: str | None) -> None:
    from idstore.exchange import listing, rdf

    if format == batch.FORMAT:
        batch.export(call, file, extract)
        return
    formats = (*rdf.FORMATS, *listing.FORMATS, batch.FORMAT)
    if format not in formats:
        raise Misuse(f"no format {format!r} to export to; there are {', '.join(formats)}")

    def act(registry: "Registry", party: "Party") -> None:
        match format:
            case "csv":
                listing.export_csv(registry, target, party, extract, progress=progress.step)
            case "sssom":
                listing.export_sssom(registry, target, party, extract, title=title, licence=licence, progress=progress.step)
            case _:
                rdf.export(registry, target, party, format, extract, progress=progress.step)

    with output(file) as target, Progress(call.output) as progress:
        session.read(call, act, detached=True)
