"""Exports of a registry in every format: the one place that knows which writer a format has."""

from collections.abc import Mapping
from datetime import datetime
from typing import IO, Final

from idstore import arguments
from idstore.errors import InvalidData
from idstore.exchange import (
    handle_batch,
    handle_batch_export,
    patch,
    rdf,
    redirect_maps,
    table_export,
    wide_table,
    workbooks,
)
from idstore.model.filter import Filter
from idstore.model.party import NOBODY, Party
from idstore.progress import Progress, unwatched
from idstore.registry import Registry

MEDIA_TYPES: Final[Mapping[str, str]] = {
    "turtle": "text/turtle",
    "trig": "application/trig",
    "ntriples": "application/n-triples",
    "nquads": "application/n-quads",
    "jsonld": "application/ld+json",
    "sssom": "text/tab-separated-values; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    workbooks.FORMAT: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    handle_batch.FORMAT: "text/plain; charset=utf-8",
    **dict.fromkeys(redirect_maps.FORMATS, "text/plain"),
    patch.FORMAT: "text/plain; charset=utf-8",
}
"""Format → media type."""
FORMATS: Final = (
    *rdf.FORMATS,
    *table_export.FORMATS,
    workbooks.FORMAT,
    handle_batch.FORMAT,
    *redirect_maps.FORMATS,
)
"""Formats of a state; changes have the format `patch.FORMAT`."""
SELECTIVE: Final = (handle_batch.FORMAT, *redirect_maps.FORMATS)
"""Formats that cannot hold everything: see `omissions`."""


@arguments.checks
def export(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    filter: Filter = Filter(),
    format: str = "turtle",
    *,
    after: int = 0,
    title: str | None = None,
    licence: str | None = None,
    wide: bool = False,
    for_publication: bool = False,
    changed_since: datetime | None = None,
    progress: Progress = unwatched,
) -> None:
    """Write the data that the party may see; equal states give equal bytes, in all formats but xlsx.

    format          the format of the file.
    after           with rdf-patch: only changes after this number; without it all.
    title, licence  with sssom: of the mapping set.
    wide            with csv: one row for each identifier; a workbook (xlsx) has it always.
    for_publication  only what an anonymous caller sees, for every party the same; without events, comments
                    and values that are not public. A redirect map (nginx-map, apache-map) has nothing else.
    changed_since   with handle-batch: only what changed since the moment of an earlier file.
    Raises InvalidData (format, or a choice that the format does not have), UnknownNamespace, OSError.
    Memory: flat, but for the IRIs of what changed since a moment.
    """
    _check_format(format)
    if wide and format not in wide_table.FORMATS:
        raise InvalidData(f"{format} has no wide form; choose csv or xlsx", field="wide", value=wide)
    _check_choices(
        format, filter, after, {"title": title, "licence": licence}, for_publication=for_publication
    )
    if changed_since is not None and format != handle_batch.FORMAT:
        raise InvalidData(
            f"only {handle_batch.FORMAT} gives the changes since a moment; choose that format",
            field="changed_since",
            value=str(changed_since),
        )
    party = NOBODY if for_publication else party
    match format:
        case patch.FORMAT:
            patch.export(registry, target, party, after, progress=progress)
        case workbooks.FORMAT | "csv" if wide or format == workbooks.FORMAT:
            wide_table.export(registry, target, party, filter, format, progress=progress)
        case "csv":
            table_export.export_csv(registry, target, party, filter, progress=progress)
        case "sssom":
            table_export.export_sssom(
                registry, target, party, filter, title=title, licence=licence, progress=progress
            )
        case handle_batch.FORMAT:
            handle_batch_export.export(registry, target, party, filter, changed_since, progress=progress)
        case redirect_maps.NGINX | redirect_maps.APACHE:
            redirect_maps.export(registry, target, format, filter, progress=progress)
        case _:
            rdf.export(
                registry, target, party, format, filter, for_publication=for_publication, progress=progress
            )


@arguments.checks
def omissions(
    registry: Registry,
    party: Party,
    filter: Filter = Filter(),
    format: str = handle_batch.FORMAT,
    *,
    for_publication: bool = False,
    changed_since: datetime | None = None,
) -> list[str]:
    """Return what a batch file of handles or a redirect map leaves out, and why, a sentence each.

    format           handle-batch, nginx-map or apache-map; other formats leave out nothing.
    for_publication, changed_since  as in `export`.
    Raises as `export`.
    """
    _check_format(format)
    if format in redirect_maps.FORMATS:
        return redirect_maps.omissions(registry, format, filter)
    if format != handle_batch.FORMAT:
        return []
    return handle_batch_export.omissions(
        registry, NOBODY if for_publication else party, filter, changed_since
    )


def _check_format(format: str) -> None:
    """Raise InvalidData: there is no such format."""
    if format not in MEDIA_TYPES:
        known = ", ".join(MEDIA_TYPES)
        raise InvalidData(
            f"no format {format!r} to export to; there are {known}", field="format", value=format
        )


def _check_choices(
    format: str, filter: Filter, after: int, header: Mapping[str, str | None], *, for_publication: bool
) -> None:
    """Raise InvalidData for a choice that the format does not have."""
    if for_publication:
        filter.check_publication()
    else:
        filter.check_export()
    if for_publication and format == patch.FORMAT:
        raise InvalidData(
            f"{format} gives the changes of the log, and a publication has no events; choose another format",
            field="for_publication",
            value=for_publication,
        )
    if format == patch.FORMAT and filter != Filter():
        raise InvalidData(
            f"{format} gives changes of all data; choose no namespace, stage or time", field="format"
        )
    if format != patch.FORMAT and after:
        raise InvalidData(
            f"only {patch.FORMAT} gives the changes after a number; choose that format", field="after"
        )
    said = {name: text for name, text in header.items() if text is not None}
    for name, text in said.items() if format != "sssom" else ():
        raise InvalidData(
            f"{format} has no title and no licence; choose sssom, or leave them out", field=name, value=text
        )
