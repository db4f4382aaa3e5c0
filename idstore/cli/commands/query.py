"""``idstore query``: SPARQL over what the acting party may see."""

from contextlib import ExitStack
from typing import Annotated

import typer

from idstore.cli import inputs, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.cli.output import deliver
from idstore.errors import InvalidData
from idstore.queries.formats import FORMATS
from idstore.queries.limits import LONGEST, MEMORY, ROWS, SECONDS


def _seconds(value: float) -> float:
    """The limit. Raises a usage error, as the registry would refuse it."""
    if not 0 < value < LONGEST:
        raise typer.BadParameter(f"{value:g} is no time limit; give seconds, more than 0 and less than {LONGEST:g}")
    return value


def query(
    call: Call,
    sparql: Annotated[str | None, typer.Argument(metavar="SPARQL", help="The query; - reads it from standard input.")] = None,
    file: Annotated[str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the query from this file.")] = None,
    format: Annotated[str | None, typer.Option(metavar="F", help=f"{', '.join(FORMATS)}. [default: table, or turtle for triples]")] = None,
    timeout: Annotated[float, typer.Option(metavar="S", callback=_seconds, help="End the query after so many seconds.")] = SECONDS,
    limit: Annotated[int, typer.Option(metavar="N", min=0, max=10**12, help="At most so many rows or triples; 0: all.")] = ROWS,
) -> None:
    """Answer a SPARQL query from all that you may see.

    SELECT, ASK, CONSTRUCT and DESCRIBE. The usual prefixes need no declaration: ids, skos, rdfs, rdf, owl, dcterms, prov, adms, xsd.
    A query cannot change anything nor reach out of the store, and uses at most 2 GB.
    """
    with ExitStack() as held:
        with session.reading(call) as (registry, party):
            wanted = format or ("json" if call.output.json else None)
            run = held.enter_context(
                registry.query_prepared(_text(sparql, file), party, wanted, timeout=timeout, rows=limit or None, memory=MEMORY)
            )
        with run() as answer:  # the store is given up by now
            deliver(answer.stream)
            if answer.truncated:
                call.output.warn(f"only the first {answer.rows} are given; --limit N gives more, --limit 0 all")


def _text(sparql: str | None, file: str | None) -> str:
    """The query. Raises a usage error unless there is exactly one; InvalidData when it cannot be read."""
    if (sparql is None) == (file is None):
        raise Misuse("give either a query or --file FILE")
    if sparql is not None and sparql != inputs.STDIN:
        return sparql
    place = file or inputs.STDIN
    try:
        return inputs.content(place).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidData(f"{inputs.name(place)}: not UTF-8 (byte {error.start + 1})", file=inputs.name(place)) from error
