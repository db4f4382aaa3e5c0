"""``idstore import``: files coming in."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, exits, session, stdin
from idstore.cli.call import Call
from idstore.cli.commands import foreign, merging, stating
from idstore.cli.ending import Misuse
from idstore.cli.progress import Progress

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry

_SUFFIXES: Final = {".xml": "droid", ".zip": "pronom", ".txt": "list"}
"""What a file's ending says, where it is neither RDF nor a table."""
_WITH_NAMESPACE: Final = "list, droid, pronom, handle-batch, and tables of identifiers that exist already"


def import_(
    call: Call,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files to read; - is standard input.")],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help=(
                "turtle, trig, ntriples, nquads, jsonld, rdf-patch, droid, pronom, list, handle-batch, sssom, tsv or csv. "
                "[default: by each FILE's ending; .xml is droid, .zip pronom, .txt list]"
            ),
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help=(
                f"Where to, for {_WITH_NAMESPACE}. "
                "[default: for droid and pronom the namespace of info:pronom/, for a batch file by prefix]"
            ),
        ),
    ] = None,
    column: arguments.Column = None,
    base: arguments.Base = None,
    relation: arguments.RelationName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> int:
    """Take in what export wrote, what PRONOM publishes, identifiers issued elsewhere, bindings from a table, or a batch file.

    With --namespace a table (sssom, tsv, csv) is one of identifiers that exist already, with what is known of them.

    A list has one identifier a line, and, after a tab, its name if it has one. Administrators may; bindings (sssom, tsv, csv) everybody who
    may bind; a batch file (handle-batch) is carried out with your own rights.
    All or nothing: where a file is malformed, nothing is imported. Reading the same again changes nothing, but for batch files.
    A DROID signature file registers PUIDs and renames those that PRONOM names otherwise now; PRONOM's reports, in a ZIP archive, bind
    PUIDs to each other and deprecate. What a newer release leaves out is told, and stays. --dry-run lists every change.
    """
    from idstore.exchange.sources import ending

    _check(format)
    table = _table(files, format)
    if table is not None:
        columns = arguments.columns(column, base, relation)
        if table == "list" and namespace is None:
            raise Misuse("say with --namespace where the identifiers of a list belong")
        if namespace is not None:
            return stating.enrol(call, files[0], table, namespace, columns, dry_run=dry_run)
        return stating.state(call, files[0], table, columns, dry_run=dry_run)
    if column or base or relation:
        raise Misuse("--column, --base and --relation are for tables")
    kinds = {format or _SUFFIXES.get(ending(file), "rdf") for file in files}
    alien = sorted(kinds & {*foreign.IMPORTS})
    if alien and (len(kinds) > 1 or len(files) > 1):
        raise Misuse(f"import one {alien[0]} file at a time, and not together with others")
    if alien:
        return foreign.IMPORTS[alien[0]](call, files[0], namespace, dry_run)
    if namespace is not None and format is None and not _is_rdf(files[0]):
        what = f"its ending {ending(files[0])} tells" if ending(files[0]) else "its name has no ending that tells"
        raise Misuse(f"{files[0]} could be anything, for {what} no format; say with --format what it is")
    if namespace is not None:
        raise Misuse(
            f"--namespace is for {_WITH_NAMESPACE}; {files[0]} is read as an export of idstore's, which names its namespaces itself: "
            "leave it out, or say with --format what the file is"
        )
    _import_registry(call, files, format, dry_run)
    return exits.DONE


def _check(format: str | None) -> None:
    """Raise Misuse where there is no such format."""
    from idstore.exchange import patch, rdf, tables

    formats = (*rdf.FORMATS, patch.FORMAT, *foreign.IMPORTS, tables.LIST, *tables.FORMATS)
    if format is not None and format not in formats:
        raise Misuse(f"no format {format!r} to import; there are {', '.join(formats)}")


def _is_rdf(file: str) -> bool:
    """Whether a file's ending is that of an RDF format."""
    from pyoxigraph import RdfFormat

    from idstore.exchange.sources import ending

    return RdfFormat.from_extension(ending(file).removeprefix(".")) is not None


def _table(files: list[str], format: str | None) -> str | None:
    """The format of a table, if that is to be read."""
    from idstore.exchange import tables
    from idstore.exchange.sources import ending

    found = {format or tables.format_of(file) or _SUFFIXES.get(ending(file)) for file in files} & {*tables.FORMATS, tables.LIST}
    if found and len(files) > 1:
        raise Misuse("import one table at a time, and not together with others")
    return found.pop() if found else None


def _import_registry(call: Call, files: list[str], format: str | None, dry_run: bool) -> None:
    from idstore.exchange import rdf

    with stdin.files(files) as paths, Progress(call.output) as progress:

        def act(registry: "Registry", party: "Party") -> rdf.ImportReport:
            return rdf.import_registry(registry, paths, party, format, dry_run=dry_run, progress=progress.step)

        found = session.write(call, act, dry=dry_run)
    merging.show(call.output, found, dry_run=dry_run)
    for one, called in found.namesakes:
        call.output.warn(f"{one.name} means {called.base} here; call the other namespace of that name by its base, {one.base}")
