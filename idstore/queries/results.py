"""Serialization of the answer to a query."""

import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from sys import maxsize
from typing import BinaryIO, Final, TypeVar

import pyoxigraph
from pyoxigraph import (
    Literal,
    NamedNode,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    QueryTriples,
    RdfFormat,
    Triple,
)

from idstore import spreadsheets
from idstore.characters import printable_json
from idstore.errors import QueryRefused
from idstore.queries import formats, table
from idstore.vocabulary import XSD

_RESULTS: Final = {
    "csv": QueryResultsFormat.CSV,
    "tsv": QueryResultsFormat.TSV,
    "json": QueryResultsFormat.JSON,
    "xml": QueryResultsFormat.XML,
}
_GRAPHS: Final = {"ntriples": RdfFormat.N_TRIPLES, "jsonld": RdfFormat.JSON_LD}
T = TypeVar("T")


def write(
    answer: QuerySolutions | QueryBoolean | QueryTriples,
    names: Sequence[str],
    rows: int | None,
    prefixes: Mapping[str, str],
    out: BinaryIO,
    longest_cell: int | None = None,
) -> dict[str, object]:
    """Write an answer; return its ``kind``, its ``format``, its ``rows``, and whether it is ``truncated``.

    names   formats, the first that suits the answer; none for human readers.
    rows    maximum number of rows or triples; None for no limit. Memory: all rows written.
    longest_cell  characters of a cell of a table at most; None for no limit.

    Raises QueryRefused for a format that cannot hold the answer.
    """
    name = formats.chosen(names, triples=isinstance(answer, QueryTriples))
    result: dict[str, object] = {"format": name}
    if isinstance(answer, QueryBoolean):
        _write_truth(answer, name, out)
        result |= {"kind": "truth", "rows": 1, "truncated": False}
    elif isinstance(answer, QueryTriples):
        triples, cut = _first(answer, rows)
        _write_triples(triples, name, prefixes, out)
        result |= {"kind": "triples", "rows": len(triples), "truncated": cut}
    else:
        solutions, cut = _first((tuple(row) for row in answer), rows)
        variables = [variable.value for variable in answer.variables]
        if name == "table":
            table.write(variables, solutions, prefixes, out, longest_cell)
        else:
            _write_rows(variables, solutions, name, out)
        result |= {"kind": "rows", "rows": len(solutions), "truncated": cut}
    out.flush()
    return result


def _first(items: Iterable[T], most: int | None) -> tuple[list[T], bool]:
    """Return the first ``most`` items, and whether there are more."""
    if most is None:
        return list(items), False
    first = list(islice(items, min(most, maxsize - 1) + 1))
    return first[:most], len(first) > most


def _write_truth(answer: QueryBoolean, name: str, out: BinaryIO) -> None:
    if name == "table":
        out.write(b"true" if answer else b"false")
    else:
        answer.serialize(out, _RESULTS[name])
    out.write(b"\n")


def _write_triples(triples: list[Triple], name: str, prefixes: Mapping[str, str], out: BinaryIO) -> None:
    """Write each triple once, sorted, so that the output is canonical and grouped by subject."""
    ordered = sorted(
        set(triples), key=lambda triple: (str(triple.subject), triple.predicate.value, str(triple.object))
    )
    if name == "turtle":
        text = io.BytesIO()
        pyoxigraph.serialize(ordered, text, RdfFormat.TURTLE, prefixes=dict(prefixes))
        lines = text.getvalue().splitlines(keepends=True)
        declared = sum(line.startswith(b"@prefix ") for line in lines[: len(prefixes)])
        out.writelines(sorted(lines[:declared]) + lines[declared:])  # the engine's order of prefixes varies
    elif name == "rdfxml":
        written = pyoxigraph.serialize(ordered, format=RdfFormat.RDF_XML, prefixes=dict(prefixes))
        assert written is not None
        out.write(_well_formed(written, name))
    else:
        pyoxigraph.serialize(ordered, out, _GRAPHS[name])
    if name == "jsonld":
        out.write(b"\n")


def _well_formed(document: bytes, name: str) -> bytes:
    """Return a document of XML. Raises QueryRefused if it holds what XML cannot express."""
    from xml.parsers import expat

    try:
        expat.ParserCreate(namespace_separator=" ").Parse(document, True)  # noqa: FBT003 its last part
    except expat.ExpatError as error:
        raise QueryRefused(
            f"the answer holds what XML cannot express, such as a control character; use another format than"
            f" {name}",
            format=name,
        ) from error
    return document


def _write_rows(
    variables: list[str],
    rows: "list[tuple[table.Term | None, ...]]",
    name: str,
    out: BinaryIO,
) -> None:
    if name == "csv":
        _write_csv(variables, rows, out)
        return
    # pyoxigraph offers no constructor for solutions, but a parser
    text = io.StringIO()
    text.write("\t".join(f"?{variable}" for variable in variables) + "\n")
    text.writelines("\t".join("" if term is None else _tsv(term) for term in row) + "\n" for row in rows)
    solutions = pyoxigraph.parse_query_results(text.getvalue().encode(), QueryResultsFormat.TSV)
    assert isinstance(solutions, QuerySolutions)
    if name == "json":
        content = io.BytesIO()
        solutions.serialize(content, _RESULTS[name])
        out.write(printable_json(content.getvalue().decode()).encode() + b"\n")
        return
    if name == "xml":
        written = solutions.serialize(format=_RESULTS[name])
        assert written is not None
        out.write(_well_formed(written, name) + b"\n")
        return
    solutions.serialize(out, _RESULTS[name])


def _write_csv(variables: list[str], rows: "list[tuple[table.Term | None, ...]]", out: BinaryIO) -> None:
    """Write CSV as the engine does, but quote IRIs with a comma or a quotation mark, which it does not.

    Texts that a spreadsheet would run are guarded: see `idstore.spreadsheets`.
    """
    import csv

    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(variables)
    writer.writerows(["" if term is None else _cell(term) for term in row] for row in rows)
    out.write(text.getvalue().encode())


def _cell(term: "table.Term") -> str:
    text = _plain(term)
    is_text = isinstance(term, Literal) and (term.language or term.datatype == XSD.string)
    return spreadsheets.guarded(text) if is_text else text


def _plain(term: "table.Term") -> str:
    if isinstance(term, Triple):
        return " ".join((_plain(term.subject), _plain(term.predicate), _plain(term.object)))
    return term.value if isinstance(term, NamedNode | Literal) else str(term)


def _tsv(term: "table.Term") -> str:
    if isinstance(term, Triple):
        return f"<<( {_tsv(term.subject)} {term.predicate} {_tsv(term.object)} )>>"
    return str(term).replace("\t", "\\t")
