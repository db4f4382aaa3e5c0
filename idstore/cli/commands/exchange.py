"""``idstore export`` and ``import``: files going out and coming in."""

import tempfile
from pathlib import Path
from typing import Annotated, Final

import typer

from idstore.cli import arguments, exits, inputs, session
from idstore.cli.commands import pronom, stating
from idstore.cli.commands.lookup import Stage
from idstore.cli.options import Call
from idstore.cli.outputs import output

DROID: Final = "droid"
PRONOM: Final = "pronom"


def export(
    call: Call,
    namespace: Annotated[str | None, typer.Option(metavar="N", help="Only this namespace.")] = None,
    stage: Annotated[Stage | None, typer.Option(help="Only identifiers in this stage.")] = None,
    since: arguments.Since = None,
    format: Annotated[
        str | None, typer.Option(metavar="F", help="turtle, trig, ntriples, nquads or jsonld. [default: by FILE's ending, else turtle]")
    ] = None,
    file: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where to; - is standard output.")] = inputs.STDIN,
) -> None:
    """Write out what you may see; the same state gives the same bytes.

    All that an administrator exports can be imported without loss; anything less is marked as partial.
    """
    from idstore.exchange import rdf
    from idstore.registry.exporting import Extract

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
            help="turtle, trig, ntriples, nquads, jsonld, droid, pronom, sssom, tsv or csv. "
            "[default: by each FILE's ending; .xml is droid, .zip pronom]",
        ),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(metavar="N", help="Where to, for droid and pronom. [default: the namespace of info:pronom/]")
    ] = None,
    column: arguments.Column = None,
    base: arguments.Base = None,
    relation: arguments.RelationName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> int:
    """Take in what export wrote, what PRONOM publishes, or bindings from a table.

    Administrators may; bindings (sssom, tsv, csv) everybody who may bind. All or nothing: where a file is malformed, nothing is imported.
    Reading the same again changes nothing. A DROID signature file registers PUIDs and renames those that PRONOM names otherwise now;
    PRONOM's reports, in a ZIP archive, bind PUIDs to each other and deprecate. What a newer release leaves out is told, and stays.
    --dry-run lists every change.
    """
    table = _table(files, format)
    if table is not None:
        return stating.state(call, files[0], table, arguments.columns(column, base, relation), dry_run=dry_run)
    if column or base or relation:
        raise arguments.Misuse("--column, --base and --relation are for tables of bindings")
    kinds = {format or _kind(file) for file in files}
    if kinds & {DROID, PRONOM} and (len(kinds) > 1 or len(files) > 1):
        raise arguments.Misuse("import one signature file or archive of reports at a time, and not together with others")
    if kinds == {DROID}:
        pronom.import_signatures(call, files[0], namespace, dry_run)
    elif kinds == {PRONOM}:
        pronom.import_reports(call, files[0], namespace, dry_run)
    else:
        if namespace is not None:
            raise arguments.Misuse("--namespace is for signature files and reports; an export names its namespaces itself")
        _import_registry(call, files, format, dry_run)
    return exits.DONE


def _table(files: list[str], format: str | None) -> str | None:
    """The format of a table of bindings, if that is to be read."""
    from idstore.exchange import tables

    found = {format or tables.format_of(file) for file in files} & {*tables.FORMATS}
    if found and len(files) > 1:
        raise arguments.Misuse("import one table of bindings at a time, and not together with others")
    return found.pop() if found else None


def _kind(file: str) -> str:
    """What a file holds, by its ending."""
    name = file.lower()
    return PRONOM if name.endswith(".zip") else DROID if name.removesuffix(".gz").endswith(".xml") else "rdf"


def _import_registry(call: Call, files: list[str], format: str | None, dry_run: bool) -> None:
    from idstore.exchange import rdf

    if format is not None and format not in rdf.FORMATS:
        raise arguments.Misuse(f"no format {format!r} to import; there are {', '.join(rdf.FORMATS)}, {DROID}, {PRONOM}")
    with tempfile.TemporaryDirectory(prefix="idstore-") as scratch:
        paths = [_path(file, Path(scratch)) for file in files]
        found = session.write(
            call, lambda registry, party: rdf.import_registry(registry, paths, party, format, dry_run=dry_run), dry=dry_run
        )
    call.output.data(
        f"{_tense(dry_run)} {found.created} identifiers, {found.events} events; {found.known} events were known",
        {"dryRun": dry_run, "created": found.created, "events": found.events, "known": found.known},
    )


def _path(file: str, scratch: Path) -> Path:
    """The file; what standard input brings, as a file."""
    if file != inputs.STDIN:
        return Path(file)
    place = scratch / "standard input"
    place.write_bytes(inputs.content(file))
    return place


def _tense(dry_run: bool) -> str:
    return "would register" if dry_run else "registered"
