"""``idstore import``: files coming in."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, exits, inputs, session
from idstore.cli.commands import stating
from idstore.cli.options import Call

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.adopting import Adoption

DROID: Final = "droid"
_SHOWN: Final = 10
"""Identifiers that a report lists of each sort, without --json."""


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
        str | None,
        typer.Option(
            metavar="N",
            help="Where to, for droid [default: the namespace of info:pronom/], or for a table of identifiers that exist already.",
        ),
    ] = None,
    column: arguments.Column = None,
    base: arguments.Base = None,
    relation: arguments.RelationName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> int:
    """Take in what export wrote, a DROID signature file, bindings from a table, or, with --namespace, existing identifiers from a table.

    Administrators may; bindings (sssom, tsv, csv) everybody who may bind. All or nothing: where a file is malformed, nothing is imported.
    Reading the same again changes nothing.
    """
    table = _table(files, format)
    if table is not None:
        columns = arguments.columns(column, base, relation)
        if namespace is not None:
            return stating.enrol(call, files[0], table, namespace, columns, dry_run=dry_run)
        return stating.state(call, files[0], table, columns, dry_run=dry_run)
    if column or base or relation:
        raise arguments.Misuse("--column, --base and --relation are for tables")
    kinds = {format or (DROID if _is_droid(file) else "rdf") for file in files}
    if len(kinds) > 1 or (kinds == {DROID} and len(files) > 1):
        raise arguments.Misuse("import one signature file at a time, and not together with others")
    if kinds != {DROID}:
        if namespace is not None:
            raise arguments.Misuse("--namespace is for tables and signature files; an export names its namespaces itself")
        _import_registry(call, files, format, dry_run)
    else:
        _import_droid(call, files[0], namespace, dry_run)
    return exits.DONE


def _table(files: list[str], format: str | None) -> str | None:
    """The format of a table, if that is to be read."""
    from idstore.exchange import tables

    found = {format or tables.format_of(file) for file in files} & {*tables.FORMATS}
    if found and len(files) > 1:
        raise arguments.Misuse("import one table at a time, and not together with others")
    return found.pop() if found else None


def _is_droid(file: str) -> bool:
    return file.removesuffix(".gz").lower().endswith(".xml")


def _import_registry(call: Call, files: list[str], format: str | None, dry_run: bool) -> None:
    from idstore.exchange import patch, rdf

    if format is not None and format not in (*rdf.FORMATS, patch.FORMAT):
        raise arguments.Misuse(f"no format {format!r} to import; there are {', '.join(rdf.FORMATS)}, {patch.FORMAT}, {DROID}")
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
    lines = [f"{_tense(dry_run)} {len(found.new)} identifiers, renamed {len(found.renamed)}; {len(found.unchanged)} are as they were"]
    for sort in ("renamed", "vanished", "kept"):
        shown = sorts[sort]
        lines += [f"{sort}\t{one}" for one in shown[:_SHOWN]]
        if len(shown) > _SHOWN:
            lines.append(f"{sort}\tand {len(shown) - _SHOWN} more; --json lists all")
    call.output.data("\n".join(lines), {"dryRun": dry_run, **sorts, "unchanged": len(found.unchanged)})


def _called(name: str, version: str | None) -> str:
    return name if version is None else f"{name} {version}"


def _tense(dry_run: bool) -> str:
    return "would register" if dry_run else "registered"
