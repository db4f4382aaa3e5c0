"""The forms in which an answer can be written."""

from typing import Final, NamedTuple

from idstore.errors import QueryRefused


class Format(NamedTuple):  # not a dataclass: importing those takes 7 ms of each query
    """A form: its media type, and whether it holds the rows of a SELECT, the truth of an ASK, or triples."""

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
}


def check(name: str | None) -> None:
    """Raises QueryRefused for a form that there is not."""
    if name is not None and name not in FORMATS:
        raise QueryRefused(f"there is no format {name!r}; there are {', '.join(FORMATS)}", format=name)


def chosen(name: str | None, *, triples: bool) -> str:
    """The form to write an answer in: as asked for, else the one for people. Raises QueryRefused if it cannot hold such an answer."""
    if name is None:
        return "turtle" if triples else "table"
    if not (FORMATS[name].triples if triples else FORMATS[name].rows):
        fitting = ", ".join(key for key, form in FORMATS.items() if (form.triples if triples else form.rows))
        gives = "CONSTRUCT and DESCRIBE give triples" if triples else "SELECT and ASK give rows"
        raise QueryRefused(f"{gives}, which the format {name} cannot hold; use {fitting}", format=name)
    return name
