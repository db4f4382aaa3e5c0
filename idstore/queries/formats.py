"""Formats of the answer to a query."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from idstore.errors import QueryRefused


class Format(NamedTuple):  # not a dataclass: its import would add 7 ms to each query
    """A format.

    media_type  media type of the format.
    rows        whether it holds the rows of a SELECT and the result of an ASK.
    triples     whether it holds triples.
    """

    media_type: str
    rows: bool = False
    triples: bool = False


FORMATS: Final = {
    "table": Format("text/plain; charset=utf-8", rows=True),
    "csv": Format("text/csv; charset=utf-8", rows=True),
    "tsv": Format("text/tab-separated-values; charset=utf-8", rows=True),
    "json": Format("application/sparql-results+json", rows=True),
    "xml": Format("application/sparql-results+xml", rows=True),
    "turtle": Format("text/turtle; charset=utf-8", triples=True),
    "ntriples": Format("application/n-triples", triples=True),
    "jsonld": Format("application/ld+json", triples=True),
    "rdfxml": Format("application/rdf+xml", triples=True),
}


def check(names: Sequence[str]) -> None:
    """Raise QueryRefused for an unknown format."""
    for name in names:
        if name not in FORMATS:
            raise QueryRefused(f"there is no format {name!r}; there are {', '.join(FORMATS)}", format=name)


def chosen(names: Sequence[str], *, triples: bool) -> str:
    """Return the first format that can hold an answer; without a choice, the one for human readers.

    Raises QueryRefused if none can.
    """
    if not names:
        return "turtle" if triples else "table"
    suitable = [name for name, form in FORMATS.items() if (form.triples if triples else form.rows)]
    for name in names:
        if name in suitable:
            return name
    subject = "CONSTRUCT and DESCRIBE give triples" if triples else "SELECT and ASK give rows"
    named = f"the format {names[0]}" if len(names) == 1 else f"the formats {', '.join(names)}"
    raise QueryRefused(f"{subject}, which {named} cannot hold; use {', '.join(suitable)}", format=names[0])
