"""``idstore query``: SPARQL over the data that the acting party may see."""

from difflib import get_close_matches
from typing import Annotated, Final

import typer

from idstore.cli import inputs, session
from idstore.cli.call import Call
from idstore.cli.output import copy_to_stdout
from idstore.cli.termination import UsageError
from idstore.errors import InvalidData
from idstore.queries.formats import FORMATS
from idstore.queries.limits import LONGEST, ROWS, SECONDS

_LIST: Final = "list"
"""The value of ``--example`` that lists the examples."""


def _seconds(value: float) -> float:
    """Return the time limit. Raises BadParameter: the registry would refuse it."""
    if not 0 < value < LONGEST:
        raise typer.BadParameter(
            f"{value:g} is not a time limit; give seconds, more than 0 and less than {LONGEST:g}"
        )
    return value


def query(
    call: Call,
    sparql: Annotated[
        str | None, typer.Argument(metavar="SPARQL", help="The query; - reads it from standard input.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the query from this file.")
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"Run an example query; {_LIST}: print names and questions of all."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"{', '.join(FORMATS)}. [default: table, or turtle for triples]"),
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="S", callback=_seconds, help="The time limit in seconds.")
    ] = SECONDS,
    limit: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=10**12, help="The maximum number of rows or triples; 0: all."),
    ] = ROWS,
) -> None:
    """Answer a SPARQL query over the data that you may see.

    SELECT, ASK, CONSTRUCT and DESCRIBE.
    These prefixes are known: ids, setting, with-setting, skos, rdfs, rdf, owl, dcterms, dcat, prov, pav,
    adms, sssom, semapv, linkml, foaf, orcid, xsd.
    A query cannot change data or read outside the store, and uses at most 2 GB of memory.
    Give a query, --file or --example. The page docs/queries.md explains the data and shows the examples.
    """
    if sum(source is not None for source in (sparql, file, example)) != 1:
        raise UsageError("give either a query, --file FILE or --example NAME")
    if example == _LIST:
        _list_examples(call)
        return
    text = _text(sparql, file) if example is None else _example(example)
    result_format = format or ("json" if call.output.json else None)
    with session.read(
        call,
        lambda registry, party: registry.query(
            text, party, result_format, timeout=timeout, rows=limit or None
        ),
        detached=True,
    ) as answer:
        copy_to_stdout(answer.stream)
        if answer.truncated:
            call.output.warn(
                f"only the first {answer.rows} are printed; --limit N prints more, --limit 0 all"
            )


def _text(sparql: str | None, file: str | None) -> str:
    """Return the query of the argument or the file. Raises InvalidData: it cannot be read."""
    if sparql is not None and sparql != inputs.STDIN:
        return sparql
    source = file or inputs.STDIN
    try:
        return inputs.content(source).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidData(
            f"{inputs.name(source)}: not UTF-8 (byte {error.start + 1})", file=inputs.name(source)
        ) from error


def _example(name: str) -> str:
    """Return the query of an example. Raises UsageError: there is none of this name."""
    from idstore.queries.example_queries import example_queries

    examples = example_queries()
    if name not in examples:
        close = get_close_matches(name, examples, n=1)
        raise UsageError(
            f"there is no example {name!r}{f' (perhaps {close[0]}?)' if close else ''}; there are"
            f" {', '.join(examples)}; --example {_LIST} prints their questions"
        )
    return examples[name].text


def _list_examples(call: Call) -> None:
    from idstore.queries.example_queries import example_queries

    for example in example_queries().values():
        record = {"name": example.name, "question": example.title}
        call.output.data(f"{example.name}\t{example.title}", record)
