"""Input of RDF files for validation."""

from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

from pyoxigraph import Quad, RdfFormat

from idstore.errors import ExchangeError
from idstore.exchange import rdf_input, rdfxml
from idstore.exchange.sources import opened, skip_mark

OUTCOME = "nothing was checked"


def quads(path: str | PathLike[str]) -> Iterator[Quad]:
    """Yield the quads of a Turtle, TriG, N-Triples, N-Quads, RDF/XML, N3 or JSON-LD file, by its extension.

    Raises ExchangeError, also during iteration: unknown format, unreadable file, more than the limits allow,
    or a syntax error with its line.
    """
    name = fspath(path)
    form = RdfFormat.from_extension(Path(name).suffix.removeprefix("."))
    if form is None and not Path(name).exists():
        raise ExchangeError(name, None, "there is no such file; check its name", OUTCOME)
    if form is None:
        raise ExchangeError(
            name,
            None,
            "the extension is not one of an RDF format; use .ttl, .trig, .nt, .nq, .rdf, .n3 or .jsonld",
            OUTCOME,
        )

    def failure(line: int | None, reason: str) -> ExchangeError:
        return ExchangeError(name, line, reason, OUTCOME)

    def refuse(line: int, reason: str) -> None:
        raise failure(line, reason)

    try:
        if form == RdfFormat.RDF_XML:
            with opened(name, lambda _, line, reason: failure(line, reason)) as source:
                source.skip_mark()
                yield from (quad for _, quad in rdfxml.quads(source, failure, refuse))
            return
        with Path(name).open("rb") as stream:
            skip_mark(stream)
            yield from rdf_input.quads(stream, form, failure)
    except ExchangeError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ExchangeError(name, None, reason or str(error), OUTCOME) from error
