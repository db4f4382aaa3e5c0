"""Sorts of relations, and how a query asks for them."""

from collections.abc import Iterable
from typing import Final

from idstore.exchange.mappings import RELATIONS
from idstore.model.terms import hashed
from idstore.registry import stating

IDENTITY: Final = tuple(sorted(stating.IDENTITY))
"""Relations by which two names are said to be names of one thing."""
EQUIVALENCE: Final = (RELATIONS["exactMatch"], RELATIONS["sameAs"])
"""Relations that hold both ways and along chains."""
LINKS: Final = frozenset(RELATIONS.values())
"""Relations whose plain triples are read as bindings in any RDF."""
REPLACES: Final = hashed(RELATIONS["replaces"])
"""By which a successor names what it took the place of: that is superseded by nature."""


def among(relations: Iterable[str]) -> str:
    """SQL that says that a link's relation is one of these."""
    return f"relation IN ({', '.join(str(hashed(relation)) for relation in relations)})"
