"""``idstore project``."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, exits, session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from pyoxigraph import Quad

    from idstore.exchange.changes import ChangePage
    from idstore.exchange.endpoint_projection import EndpointProjection, GraphDifference

PAUSE: Final = 1.0
"""Seconds between two looks for new changes."""


def project(
    call: Call,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="The address of the endpoint, for queries.")],
    updates: Annotated[
        str | None,
        typer.Option("--updates", metavar="URL", help="Its address for updates, if that is another."),
    ] = None,
    namespaces: Annotated[
        list[str] | None,
        typer.Option(
            "--namespace",
            metavar="N",
            help="Only the records of this namespace, without the log. Repeatable.",
        ),
    ] = None,
    credentials: Annotated[
        Path | None,
        typer.Option(
            "--credentials", metavar="FILE", help="A file with one line: NAME:PASSWORD, or a bearer token."
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Send later changes too, until interrupted or a redaction.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare all triples afterwards; exit 5 if they differ.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Compare, and send the graphs that differ again.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="S",
            min=0.1,
            callback=arguments.finite,
            help="Seconds that the endpoint may take to answer.",
        ),
    ] = 60.0,
) -> int:
    """Keep a SPARQL 1.1 endpoint in step with what is public.

    The endpoint stores its position: an interrupted run is continued by the next one. Drafts are never sent.
    After a redaction the command compares, as with --compare.
    """
    from idstore.exchange.endpoint_projection import EndpointProjection
    from idstore.exchange.sparql_endpoint import RemoteEndpoint

    if follow and (compare or repair):
        raise UsageError("--follow does not end; give --compare or --repair in another run")
    call = replace(call, signs_in=False)
    endpoint = RemoteEndpoint(to, updates or to, _credentials(credentials), timeout)
    bases = session.read(
        call, lambda registry, _: [registry.namespace(name).base for name in namespaces or []]
    )
    projection = EndpointProjection(
        endpoint, lambda after: _changes(call, after), lambda number: _event_at(call, number), bases
    )
    if repair:
        _repair(call, projection)
        return exits.DONE
    _bring_up(call, projection, follow=follow)
    if not (compare or projection.is_redacted):
        return exits.DONE
    with _compared(call, projection) as (differences, _, _):
        _print(call, differences)
        return exits.BROKEN if differences else exits.DONE


def _bring_up(call: Call, projection: "EndpointProjection", *, follow: bool) -> None:
    """Send what the endpoint lacks; with ``follow`` until a text is redacted."""
    reached = projection.bring_up()
    call.output.info(f"idstore: the endpoint has the changes up to {reached}")
    while follow and not projection.is_redacted:
        time.sleep(PAUSE)
        latest = projection.bring_up()
        if latest != reached:
            call.output.info(f"idstore: the endpoint has the changes up to {latest}")
        reached = latest
    if projection.is_redacted:
        call.output.warn("a text was redacted: if the endpoint still has it, --repair removes it")


def _repair(call: Call, projection: "EndpointProjection") -> None:
    with _compared(call, projection) as (differences, page, file):
        _print(call, differences)
        projection.repair(differences, _quads(file), page)
    call.output.info(f"idstore: the endpoint has the changes up to {projection.bring_up()}")


@contextmanager
def _compared(
    call: Call, projection: "EndpointProjection"
) -> "Iterator[tuple[list[GraphDifference], ChangePage, IO[bytes]]]":
    """Yield the graphs that differ, a page of changes after the state that was compared, and that state."""
    from idstore.exchange.exporting import export
    from idstore.model.filter import Filter
    from idstore.model.party import NOBODY

    with tempfile.TemporaryFile(prefix="idstore-") as file:
        while True:  # until nothing is published meanwhile
            before = _changes(call, 0, 1).newest
            session.read(
                call,
                lambda registry, _: export(registry, file, NOBODY, Filter(), "nquads"),
                detached=True,
            )
            page = _changes(call, before, 1)
            if not page.changes:
                break
            file.seek(0)
            file.truncate()
        yield projection.compare(_quads(file)), page, file


def _changes(call: Call, after: int, limit: int = 1000) -> "ChangePage":
    from idstore.exchange.changes import public_changes

    return session.read(call, lambda registry, _: public_changes(registry, after, limit))


def _event_at(call: Call, number: int) -> str | None:
    """Return the IRI of the public event of a number; None: there is none."""
    entries = session.read(call, lambda registry, _: registry.published(number - 1, 1)) if number else []
    return entries[0].event.iri if entries else None


def _quads(file: IO[bytes]) -> "Iterator[Quad]":
    from pyoxigraph import RdfFormat, parse

    file.seek(0)
    return parse(file, format=RdfFormat.N_QUADS)


def _print(call: Call, differences: "list[GraphDifference]") -> None:
    for one in differences:
        call.output.data(
            f"{one.graph}\t{one.here} here\t{one.there} there",
            {"graph": one.graph, "here": one.here, "there": one.there},
        )


def _credentials(path: Path | None) -> str | None:
    """Return the only line of a file. Raises UsageError."""
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--credentials {path}: {error}") from None
    if not text or len(text.split()) != 1:
        raise UsageError(f"--credentials {path}: write one line without spaces: NAME:PASSWORD, or a token")
    return text
