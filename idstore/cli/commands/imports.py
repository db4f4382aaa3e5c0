"""``idstore import``."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, confirmation, exits, inputs, session, stdin
from idstore.cli.call import Call
from idstore.cli.commands import import_report
from idstore.cli.progress import Progress
from idstore.cli.termination import UsageError
from idstore.errors import InvalidData

if TYPE_CHECKING:
    from idstore.exchange.importing import ImportChoices, Imported, ImportKind
    from idstore.model.party import Party
    from idstore.registry import Registry

_WITH_NAMESPACE: Final = "list, droid, pronom, handle-batch, tables and RDF of identifiers issued elsewhere"
_MISPLACED: Final = {
    "own_history": "--own-history is for exports of a registry",
    "keep_going": "--keep-going is for tables and RDF of identifiers issued elsewhere; name their namespace"
    " with --namespace, or leave it out",
    "force": "--force is for DROID signature files, PRONOM's records, exports, tables, and identifiers issued"
    " elsewhere",
    "columns": "--column, --base, --relation and --metadata are for tables",
}
"""Choice that a kind of file does not have → the message."""


def import_(
    call: Call,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files to read; - is standard input.")
    ],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help=(
                "turtle, trig, ntriples, nquads, jsonld, rdfxml, rdf-patch, droid, pronom, list, "
                "handle-batch, sssom, tsv, csv or xlsx. [default: by the suffix of each FILE; .rdf and .owl "
                "are rdfxml, .xml is droid, .zip, .json and a folder are pronom, .txt list]"
            ),
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help=(
                f"The namespace, for {_WITH_NAMESPACE}. "
                "[default: for droid and pronom the namespace of info:pronom/; for list and handle-batch "
                "by the prefix or base of each identifier]"
            ),
        ),
    ] = None,
    column: arguments.Column = None,
    base: arguments.Base = None,
    relation: arguments.RelationName = None,
    metadata: arguments.Metadata = None,
    own_history: Annotated[
        bool,
        typer.Option(
            "--own-history",
            help="Of an export: also take events of this registry, or of the one it copies, that are missing "
            "here. Only from a file that nobody else can have written.",
        ),
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going",
            help="Of identifiers issued elsewhere: take in the lines that are right, although others are"
            " wrong.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Insist on what is refused otherwise: a DROID signature file that is older than the last "
            "one or whose version is no number, or beside local PUIDs with names of the file, which stay as "
            "they are; PILIN suffixes from the future; in a table, IRIs with an unknown prefix or an "
            "invisible character, and cells in quotes. The log says so.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the changes without making them.")
    ] = False,
    yes: confirmation.Yes = False,
) -> int:
    """Import an export, PRONOM's publications, identifiers issued elsewhere, bindings, or a batch file.

    Imported identifiers are published for ever, as by fixate: nothing removes them again. Only those that a
    batch file creates, and lines whose stage is created, stay drafts. Try --dry-run first.

    With --namespace a table (sssom, tsv, csv) lists identifiers issued elsewhere with their metadata; without
    it, the table lists bindings. With --namespace an RDF file describes identifiers issued elsewhere (SKOS,
    OWL, reference data): names, versions and relations to other IRIs are taken in. Without it, the file is
    the export of a registry.

    A list has one identifier a line, with an optional name after a tab; without --namespace each is a whole
    identifier, as hdl:10.1045/a or 10.1045/a, of any namespace. For administrators; bindings (sssom,
    tsv, csv) are for all parties that may bind, and a batch file (handle-batch) needs the rights for each of
    its operations. All or nothing: if a file is malformed, nothing is imported. A repeated import changes
    nothing, except for batch files. A DROID signature file registers PUIDs, and renames those whose name
    changed in PRONOM; PRONOM's reports, in a ZIP archive, bind PUIDs to each other and deprecate PUIDs.
    PRONOM's JSON records, in a ZIP archive or a folder, do all of this. PUIDs that are missing in a newer
    release are reported, and stay. --dry-run lists every change. With --quiet the command prints nothing if
    nothing changed, and otherwise lists all that is new.

    Undone by: nothing: what it publishes stays; drafts among it can be released.
    """
    from idstore.exchange.importing import FORMATS, LARGEST, ImportChoices, ImportKind

    if format is not None and format not in FORMATS:
        raise UsageError(f"no format {format!r} to import; there are {', '.join(FORMATS)}")
    kinds = [_kind(file, format, namespace) for file in files]
    choices = ImportChoices(
        format,
        namespace,
        arguments.columns(column, base, relation),
        own_history=own_history,
        keep_going=keep_going,
        force=force,
        dry_run=dry_run,
    )
    for kind in kinds:
        _check_choices(kind, choices, metadata)
    if len(files) > 1 and {*kinds} != {ImportKind.EXPORT}:
        raise UsageError(
            f"import {next(str(kind) for kind in kinds if kind is not ImportKind.EXPORT)} alone, one file at"
            " a time"
        )
    if kinds[0] is ImportKind.DESCRIBED:
        _check_described(files[0], format)
    publishes = kinds[0] not in (ImportKind.BINDINGS, ImportKind.BATCH)
    with stdin.files(files, largest=LARGEST[kinds[0]]) as paths:  # once, for dry run and import
        if publishes and not dry_run and confirmation.asks(yes=yes):
            status = carry_out(call, files, paths, replace(choices, dry_run=True), metadata)
            if status != exits.DONE and not keep_going:
                return status
            confirmation.confirm(
                call, ["What is imported becomes visible to everybody, for ever, but for drafts"]
            )
        return carry_out(call, files, paths, choices, metadata)


def carry_out(
    call: Call, files: list[str], paths: list[Path], choices: "ImportChoices", metadata: str | None = None
) -> int:
    """Import files, print what was or would be done, and return the exit code.

    files  their names on the command line.
    paths  the files to read: see `stdin.files`.
    """
    from idstore.errors import BatchRefused
    from idstore.exchange.importing import TABLES, column_summary, import_file

    name = inputs.name(files[0])
    kind = _kind(files[0], choices.format, choices.namespace)
    with Progress(call.output) as progress:
        if kind in TABLES:
            summary = column_summary(paths[0], name, choices, metadata)
            call.output.info(f"idstore: reading {summary}")

        def act(registry: "Registry", party: "Party") -> "Imported":
            return import_file(
                registry,
                paths[0],
                party,
                name,
                choices,
                others=paths[1:],
                metadata=metadata,
                progress=progress.step,
            )

        try:
            imported = session.write(
                call, act, dry_run=choices.dry_run, changes=lambda one: _changes(one, choices)
            )
        except BatchRefused as error:
            return import_report.print_refusal(call.output, error, name)
    return import_report.print_import(
        call.output,
        imported,
        name,
        told=kind in TABLES,
        keep_going=choices.keep_going,
        dry_run=choices.dry_run,
    )


def _changes(imported: "Imported", choices: "ImportChoices") -> bool:
    """Return whether an import changes something: not if lines of its table are malformed, or none is new."""
    from idstore.registry.mappings import changed

    table = imported.table
    return table is None or (changed(table.outcomes) and (choices.keep_going or not table.malformed))


def _kind(file: str, format: str | None, namespace: str | None) -> "ImportKind":
    """Return what a file is. Raises UsageError."""
    from idstore.exchange.importing import kind_of

    try:
        return kind_of(file, format, namespace, folder=Path(file).is_dir())
    except InvalidData as error:
        raise UsageError(f"{error.message} (--namespace)") from None


def _check_choices(kind: "ImportKind", choices: "ImportChoices", metadata: str | None) -> None:
    """Raise UsageError for an option that changes nothing for a kind of file."""
    from idstore.exchange.importing import TABLES, misplaced

    wrong = misplaced(kind, choices)
    if metadata is not None and kind not in TABLES:
        wrong.append("columns")
    for choice in wrong:
        raise UsageError(_MISPLACED[choice])


def _check_described(file: str, format: str | None) -> None:
    """Raise UsageError unless the format of RDF is known."""
    from idstore.exchange import plain_rdf
    from idstore.exchange.sources import ending

    suffix = ending(file)
    if format is None and suffix not in plain_rdf.SUFFIXES:
        reason = f"its suffix {suffix} stands for no format" if suffix else "its name has no suffix"
        raise UsageError(f"the format of {file} is unknown, because {reason}; name it with --format")
