"""Shapes as a value: the triples of one or more shapes graphs, and the class hierarchy that their targets rely on."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pyoxigraph import RdfFormat, Triple, parse

from idstore.errors import InvalidData
from idstore.resources import folder
from idstore.vocabulary import ONTOLOGY, RDFS


@dataclass(frozen=True, slots=True)
class Shapes:
    """Triples of SHACL shapes; ``rdfs:subClassOf`` triples among them hold for the data as well.

    >>> len(read("@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:s> a sh:NodeShape .").triples)
    1
    """

    triples: tuple[Triple, ...] = ()

    def __add__(self, other: "Shapes") -> "Shapes":
        """Both together."""
        return Shapes(self.triples + other.triples)


def names() -> list[str]:
    """The shape files that come with idstore: ``registry``, ``findings`` and one per scheme."""
    return sorted(entry.name.removesuffix(".ttl") for entry in folder("shapes").iterdir() if entry.name.endswith(".ttl"))


@cache
def load(*wanted: str) -> Shapes:
    """The shapes of these shipped files together, with the class hierarchy of the ontology.

    wanted  names as in ``names()``.
    Raises InvalidData if there is no such file.
    """
    found = Shapes(_hierarchy())
    for name in wanted:
        if name not in names():
            raise InvalidData(f"no shapes {name!r}; there are {', '.join(names())}", shapes=name)
        found += read((folder("shapes") / f"{name}.ttl").read_text(encoding="utf-8"), f"{name}.ttl")
    return found


def read(turtle: str, source: str = "shapes") -> Shapes:
    """Shapes written in Turtle.

    source  what to call the text in an error.
    Raises InvalidData, with the line.
    """
    try:
        return Shapes(tuple(quad.triple for quad in parse(turtle, RdfFormat.TURTLE, rename_blank_nodes=True)))
    except SyntaxError as error:
        raise InvalidData(f"{source}, line {error.lineno}: {error.msg}", source=source, line=error.lineno) from error


def of(triples: Iterable[Triple]) -> Shapes:
    """Shapes made as triples, such as those of a namespace with settings of its own."""
    return Shapes(tuple(triples))


@cache
def _hierarchy() -> tuple[Triple, ...]:
    text = (folder("ontology") / "idstore.ttl").read_text(encoding="utf-8")
    return tuple(
        triple
        for triple in read(text, "idstore.ttl").triples
        if triple.predicate == RDFS.subClassOf and str(triple.object).startswith(f"<{ONTOLOGY}")
    )
