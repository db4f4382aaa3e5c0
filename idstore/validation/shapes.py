"""Shapes as values: triples of shapes graphs, with the class hierarchy for their targets."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pyoxigraph import RdfFormat, Triple, parse

from idstore.errors import InvalidData
from idstore.resources import folder
from idstore.vocabulary import ONTOLOGY, RDFS


@dataclass(frozen=True, slots=True)
class Shapes:
    """Triples of SHACL shapes. ``rdfs:subClassOf`` triples among them also apply to the data.

    >>> len(read("@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:s> a sh:NodeShape .").triples)
    1
    """

    triples: tuple[Triple, ...] = ()

    def __add__(self, other: "Shapes") -> "Shapes":
        """Return the union."""
        return Shapes(self.triples + other.triples)


def names() -> list[str]:
    """Return the names of the shipped shape files: ``registry``, ``findings`` and one per scheme."""
    return sorted(
        entry.name.removesuffix(".ttl") for entry in folder("shapes").iterdir() if entry.name.endswith(".ttl")
    )


@cache
def load(*wanted: str) -> Shapes:
    """Return the shapes of shipped files, with the class hierarchy of the ontology.

    wanted  names as in ``names()``.
    Raises InvalidData if there is no such file.
    """
    shapes = Shapes(_hierarchy())
    for name in wanted:
        if name not in names():
            raise InvalidData(f"there are no shapes {name!r}; use {', '.join(names())}", shapes=name)
        shapes += read((folder("shapes") / f"{name}.ttl").read_text(encoding="utf-8"), f"{name}.ttl")
    return shapes


def read(turtle: str, source: str = "shapes") -> Shapes:
    """Read shapes from Turtle.

    source  name of the text in error messages.
    Raises InvalidData, with the line.
    """
    try:
        return Shapes(tuple(quad.triple for quad in parse(turtle, RdfFormat.TURTLE, rename_blank_nodes=True)))
    except SyntaxError as error:
        raise InvalidData(
            f"{source}, line {error.lineno}: {error.msg}", source=source, line=error.lineno
        ) from error


def from_triples(triples: Iterable[Triple]) -> Shapes:
    """Return shapes for triples, such as those of a namespace with its own settings."""
    return Shapes(tuple(triples))


@cache
def _hierarchy() -> tuple[Triple, ...]:
    modules = (entry for entry in folder("ontology").iterdir() if entry.name.endswith(".ttl"))
    return tuple(
        triple
        for module in sorted(modules, key=lambda entry: entry.name)
        for triple in read(module.read_text(encoding="utf-8"), module.name).triples
        if triple.predicate == RDFS.subClassOf and str(triple.object).startswith(f"<{ONTOLOGY}")
    )
