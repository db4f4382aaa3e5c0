"""``idstore export`` and ``import``: files going out and coming in."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, exits, inputs, session
from idstore.cli.commands import batch, stating
from idstore.cli.commands.lookup import Stage
from idstore.cli.options import Call
from idstore.cli.outputs import output

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.adopting import Adoption

DROID: Final = "droid"
LIST: Final = "list"
_SHOWN: Final = 10
"""Identifiers that a report lists of each sort, without --json."""
_FOREIGN: Final = {".xml": DROID, ".txt": LIST}
"""Which format a file's ending says, of those that are not idstore's own."""


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
            metavar="F",
            help="turtle, trig, ntriples, nquads or jsonld, handle-batch; rdf-patch with --after. [default: by FILE's ending, else turtle]",
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
    if chosen == batch.FORMAT:
        batch.export(call, file, namespace, stage and stage.value, arguments.moment(since))
        return
    if chosen not in rdf.FORMATS:
        raise arguments.Misuse(f"no format {chosen!r} to export to; there are {', '.join(rdf.FORMATS)}, {batch.FORMAT}")
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
            help=(
                "turtle, trig, ntriples, nquads, jsonld, droid, list, handle-batch, sssom, tsv or csv. "
                "[default: by each FILE's ending; .xml is droid, .txt list]"
            ),
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Where to, for list, droid and handle-batch. [default: for droid the namespace of info:pronom/, for a batch file by prefix]",
        ),
    ] = None,
    column: arguments.Column = None,
    base: arguments.Base = None,
    relation: arguments.RelationName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> int:
    """Take in what export wrote, a DROID signature file, a list of identifiers issued elsewhere, bindings from a table, or a batch file.

    A list has one identifier a line, and, after a tab, its name if it has one. Administrators may; bindings (sssom, tsv, csv) everybody who
    may bind; a batch file (handle-batch) is carried out with your own rights.
    All or nothing: where a file is malformed, nothing is imported. Reading the same again changes nothing, but for batch files.
    """
    table = _table(files, format)
    if table is not None:
        return stating.state(call, files[0], table, arguments.columns(column, base, relation), dry_run=dry_run)
    if column or base or relation:
        raise arguments.Misuse("--column, --base and --relation are for tables of bindings")
    kinds = {format or _FOREIGN.get(Path(file.removesuffix(".gz")).suffix.lower(), "rdf") for file in files}
    foreign = sorted(kinds & {*_FOREIGN_IMPORTS})
    if len(kinds) > 1 or (foreign and len(files) > 1):
        raise arguments.Misuse("import one signature file, list or batch file at a time, and not together with others")
    if foreign:
        return _FOREIGN_IMPORTS[foreign[0]](call, files[0], namespace, dry_run)
    if namespace is not None:
        raise arguments.Misuse("--namespace is for lists, signature files and batch files; an export names its namespaces itself")
    _import_registry(call, files, format, dry_run)
    return exits.DONE


def _table(files: list[str], format: str | None) -> str | None:
    """The format of a table of bindings, if that is to be read."""
    from idstore.exchange import tables

    found = {format or tables.format_of(file) for file in files} & {*tables.FORMATS}
    if found and len(files) > 1:
        raise arguments.Misuse("import one table of bindings at a time, and not together with others")
    return found.pop() if found else None


def _import_registry(call: Call, files: list[str], format: str | None, dry_run: bool) -> None:
    from idstore.exchange import patch, rdf

    if format is not None and format not in (*rdf.FORMATS, patch.FORMAT):
        raise arguments.Misuse(
            f"no format {format!r} to import; there are {', '.join((*rdf.FORMATS, patch.FORMAT, *_FOREIGN_IMPORTS))}, and sssom, tsv, csv"
        )
    with tempfile.TemporaryDirectory(prefix="idstore-") as scratch:
        paths = [_unpatched(_path(file, Path(scratch)), format, Path(scratch), number) for number, file in enumerate(files)]
        format = None if format == patch.FORMAT else format
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


def _unpatched(path: Path, format: str | None, scratch: Path, number: int) -> Path:
    """The file; of a patch, what it adds."""
    from idstore.exchange import patch

    if format != patch.FORMAT and path.suffix != patch.SUFFIX:
        return path
    place = scratch / f"{number}.nq"
    patch.to_nquads(path, place)
    return place


def _import_droid(call: Call, file: str, namespace: str | None, dry_run: bool) -> int:
    from idstore.exchange import droid, pronom

    def act(registry: "Registry", party: "Party") -> "Adoption":
        with droid.signatures(file) as signatures:
            return pronom.import_formats(registry, signatures, party, namespace, dry_run=dry_run)

    return _report(call, session.write(call, act, dry=dry_run), dry_run)


def _import_list(call: Call, file: str, namespace: str | None, dry_run: bool) -> int:
    from idstore.exchange import identifiers

    if namespace is None:
        raise arguments.Misuse("say with --namespace where the identifiers of a list belong")

    def act(registry: "Registry", party: "Party") -> "Adoption":
        return identifiers.import_identifiers(registry, file, party, namespace, dry_run=dry_run)

    return _report(call, session.write(call, act, dry=dry_run), dry_run)


def _report(call: Call, found: "Adoption", dry_run: bool) -> int:
    sorts = {
        "new": [*found.new],
        "renamed": [f"{one.iri}: {_called(one.old_name, one.old_version)} → {_called(one.name, one.version)}" for one in found.renamed],
        "vanished": [*found.vanished],
        "kept": [*found.kept],
    }
    lines = [f"{_tense(dry_run)} {len(found.new)} identifiers, renamed {len(found.renamed)}; {len(found.unchanged)} are as they were"]
    for sort in ("renamed", "vanished", "kept"):
        shown = sorts[sort]
        lines += [f"{sort}\t{one}" for one in shown[:_SHOWN]]
        if len(shown) > _SHOWN:
            lines.append(f"{sort}\tand {len(shown) - _SHOWN} more; --json lists all")
    call.output.data("\n".join(lines), {"dryRun": dry_run, **sorts, "unchanged": len(found.unchanged)})
    return exits.DONE


def _called(name: str, version: str | None) -> str:
    return name if version is None else f"{name} {version}"


def _tense(dry_run: bool) -> str:
    return "would register" if dry_run else "registered"


_FOREIGN_IMPORTS: Final[Mapping[str, Callable[[Call, str, str | None, bool], int]]] = {
    DROID: _import_droid,
    LIST: _import_list,
    batch.FORMAT: batch.import_,
}
"""What reads a file in a format that is not idstore's own, one at a time: by format, given the file, the namespace, and whether it is a dry run."""
