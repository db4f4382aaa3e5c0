"""Reading RDF files that are to be checked."""

from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

from pyoxigraph import Quad, RdfFormat, parse

from idstore.errors import ExchangeError
from idstore.exchange.sources import skip_mark

_OUTCOME = "nothing was checked"


def quads(path: str | PathLike[str]) -> Iterator[Quad]:
    """The quads of a file in Turtle, TriG, N-Triples, N-Quads, RDF/XML, N3 or JSON-LD, as its extension says.

    Raises ExchangeError, also while it is read: unknown format, file that cannot be read, or what is malformed in which line.
    """
    name = fspath(path)
    form = RdfFormat.from_extension(Path(name).suffix.removeprefix("."))
    if form is None and not Path(name).exists():
        raise ExchangeError(name, None, "there is no such file; look for a misspelling", _OUTCOME)
    if form is None:
        raise ExchangeError(name, None, "its extension names no RDF format; use .ttl, .trig, .nt, .nq, .rdf, .n3 or .jsonld", _OUTCOME)
    try:
        with Path(name).open("rb") as opened:
            skip_mark(opened)
            yield from parse(opened, format=form)
    except SyntaxError as error:
        raise ExchangeError(name, error.lineno, error.msg, _OUTCOME) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ExchangeError(name, None, reason or str(error), _OUTCOME) from error
