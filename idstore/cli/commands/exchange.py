"""``idstore export`` and ``import``: files going out and coming in."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, exits, inputs, session
from idstore.cli.commands import merging, stating
from idstore.cli.commands.lookup import Stage
from idstore.cli.options import Call
from idstore.cli.outputs import output

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.adopting import Adoption

DROID: Final = "droid"


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
    title: Annotated[str | None, typer.Option(metavar="T", help="With --description: what the data are called.")] = None,
    licence: Annotated[str | None, typer.Option("--license", metavar="IRI", help="With --description: their licence.")] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="F", help="turtle, trig, ntriples, nquads or jsonld; rdf-patch with --after. [default: by FILE's ending, else turtle]"
        ),
    ] = None,
    file: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where to; - is standard output.")] = inputs.STDIN,
) -> None:
    """Write out what you may see; the same state gives the same bytes.

    All that an administrator exports can be imported without loss; anything less is marked as partial.
    """
    from idstore.exchange import description as descriptions
    from idstore.exchange import patch, rdf
    from idstore.registry.exporting import Extract

    partly = bool(namespace or stage or since)
    if (title or licence) and not description:
        raise arguments.Misuse("--title and --license go with --description")
    if description:
        if partly or format or after is not None:
            raise arguments.Misuse("--description is of all that you may see; it goes with --title, --license and --output only")
        with output(file) as target:
            session.read(
                call, lambda registry, party: descriptions.describe(registry, target, party, title=title, licence=licence), detached=True
            )
        return
    if after is not None or format == patch.FORMAT:
        if partly or format not in (None, patch.FORMAT):
            raise arguments.Misuse(f"--after SEQ gives an {patch.FORMAT} of all that you may see; leave the other choices out")
        with output(file) as target:
            last = session.read(call, lambda registry, party: patch.export(registry, target, party, after or 0), detached=True)
        call.output.say(f"idstore: up to {last}; the next one begins with --after {last}")
        return
    chosen = format or rdf.SUFFIXES.get(Path(file).suffix, "turtle")
    if chosen not in rdf.FORMATS:
        raise arguments.Misuse(f"no format {chosen!r} to export to; there are {', '.join(rdf.FORMATS)}")
    extract = Extract(namespace, stage and stage.value, arguments.moment(since))
    with output(file) as target:
        session.read(call, lambda registry, party: rdf.export(registry, target, party, chosen, extract), detached=True)


def import_(
    call: Call,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files to read; - is standard input.")],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="turtle, trig, ntriples, nquads, jsonld, droid, sssom, tsv or csv. [default: by each FILE's ending; .xml is droid]",
        ),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(metavar="N", help="Where to, for droid. [default: the namespace of info:pronom/]")
    ] = None,
    column: arguments.Column = None,
    base: arguments.Base = None,
    relation: arguments.RelationName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> int:
    """Take in what export wrote, a DROID signature file, or bindings from a table.

    Administrators may; bindings (sssom, tsv, csv) everybody who may bind. All or nothing: where a file is malformed, nothing is imported.
    Reading the same again changes nothing.
    """
    table = _table(files, format)
    if table is not None:
        return stating.state(call, files[0], table, arguments.columns(column, base, relation), dry_run=dry_run)
    if column or base or relation:
        raise arguments.Misuse("--column, --base and --relation are for tables of bindings")
    kinds = {format or (DROID if _is_droid(file) else "rdf") for file in files}
    if len(kinds) > 1 or (kinds == {DROID} and len(files) > 1):
        raise arguments.Misuse("import one signature file at a time, and not together with others")
    if kinds != {DROID}:
        if namespace is not None:
            raise arguments.Misuse("--namespace is for signature files; an export names its namespaces itself")
        _import_registry(call, files, format, dry_run)
    else:
        _import_droid(call, files[0], namespace, dry_run)
    return exits.DONE


def _table(files: list[str], format: str | None) -> str | None:
    """The format of a table of bindings, if that is to be read."""
    from idstore.exchange import tables

    found = {format or tables.format_of(file) for file in files} & {*tables.FORMATS}
    if found and len(files) > 1:
        raise arguments.Misuse("import one table of bindings at a time, and not together with others")
    return found.pop() if found else None


def _is_droid(file: str) -> bool:
    return file.removesuffix(".gz").lower().endswith(".xml")


def _import_registry(call: Call, files: list[str], format: str | None, dry_run: bool) -> None:
    from idstore.exchange import patch, rdf

    if format is not None and format not in (*rdf.FORMATS, patch.FORMAT):
        raise arguments.Misuse(f"no format {format!r} to import; there are {', '.join(rdf.FORMATS)}, {patch.FORMAT}, {DROID}")
    with tempfile.TemporaryDirectory(prefix="idstore-") as scratch:
        paths = [_path(file, Path(scratch)) for file in files]
        found = session.write(
            call, lambda registry, party: rdf.import_registry(registry, paths, party, format, dry_run=dry_run), dry=dry_run
        )
    merging.show(call.output, found, dry_run=dry_run)


def _path(file: str, scratch: Path) -> Path:
    """The file; what standard input brings, as a file."""
    if file != inputs.STDIN:
        return Path(file)
    place = scratch / "standard input"
    place.write_bytes(inputs.content(file))
    return place


def _import_droid(call: Call, file: str, namespace: str | None, dry_run: bool) -> None:
    from idstore.exchange import droid, pronom

    def act(registry: "Registry", party: "Party") -> "Adoption":
        with droid.signatures(file) as signatures:
            return pronom.import_formats(registry, signatures, party, namespace, dry_run=dry_run)

    found = session.write(call, act, dry=dry_run)
    sorts = {
        "new": [*found.new],
        "renamed": [f"{one.iri}: {_called(one.old_name, one.old_version)} → {_called(one.name, one.version)}" for one in found.renamed],
        "vanished": [*found.vanished],
        "kept": [*found.kept],
    }
    lines = [
        f"{merging.tense(dry_run)} {len(found.new)} identifiers, renamed {len(found.renamed)}; {len(found.unchanged)} are as they were"
    ]
    for sort in ("renamed", "vanished", "kept"):
        lines += merging.listed(sort, sorts[sort])
    call.output.data("\n".join(lines), {"dryRun": dry_run, **sorts, "unchanged": len(found.unchanged)})


def _called(name: str, version: str | None) -> str:
    return name if version is None else f"{name} {version}"
