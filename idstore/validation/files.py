"""Input of RDF files for validation."""

from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

from pyoxigraph import Quad, RdfFormat

from idstore.errors import ExchangeError
from idstore.exchange import rdf_input
from idstore.exchange.sources import skip_mark

OUTCOME = "nothing was checked"


def quads(path: str | PathLike[str]) -> Iterator[Quad]:
    """Yield the quads of a Turtle, TriG, N-Triples, N-Quads, RDF/XML, N3 or JSON-LD file, by its extension.

    Raises ExchangeError, also during iteration: unknown format, unreadable file, or a syntax error with its
    line.
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
    try:
        with Path(name).open("rb") as stream:
            skip_mark(stream)
            yield from rdf_input.quads(
                stream, form, lambda line, reason: ExchangeError(name, line, reason, OUTCOME)
            )
    except ExchangeError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ExchangeError(name, None, reason or str(error), OUTCOME) from error
