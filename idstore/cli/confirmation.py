"""What cannot be undone is shown on a terminal first, and carried out only after a yes."""

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.characters import printable
from idstore.cli import exits
from idstore.cli.call import Call

if TYPE_CHECKING:
    from idstore.model.event import Event
    from idstore.model.party import Party
    from idstore.registry import Registry

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what would become of it, without changing anything.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before what cannot be undone.")]

_SHOWN: Final = 10
"""Lines that a question shows."""


def asks(*, yes: bool) -> bool:
    """Whether a command asks: a person can read the question and answer it, and has not done so."""
    streams = (sys.stdin, sys.stderr)  # None if they are closed
    return not yes and all(stream is not None and stream.isatty() for stream in streams)


def confirm(call: Call, lines: Iterable[str]) -> None:
    """Show what would happen, and ask. Ends the command with exit code 1 unless the answer is yes."""
    remaining = iter(lines)
    for line in islice(remaining, _SHOWN):
        print(printable(line).replace("\\t", "  "), file=sys.stderr)
    if more := sum(1 for _ in remaining):
        print(f"and {more} more lines; --dry-run prints all", file=sys.stderr)
    print("This cannot be undone. Carry it out? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        call.output.info("idstore: nothing was changed")
        raise typer.Exit(exits.FAILED)


def publications(registry: "Registry", party: "Party", events: "Iterable[Event]") -> Iterator[str]:
    """Yield what becomes visible to everybody with identifiers that are published, one line for each text.

    events  the fixations.
    """
    from idstore.model.filter import Filter
    from idstore.vocabulary import IDS, RDF, SKOS

    texts = {IDS.name: "name", RDF.value: "comment", SKOS.note: "note", IDS.reason: "reason"}
    for event in events:
        iri = event.about
        yield f"{iri}\tbecomes visible to everybody, for ever"
        for entry in registry.log(party, Filter(id=iri)):
            if not (entry.event.internal or entry.event.confined):
                for predicate, kind in texts.items():
                    said = (one.value for one in entry.event.all(predicate) if one.value)
                    yield from (f"{iri}\t{kind}\t{text}" for text in said)
