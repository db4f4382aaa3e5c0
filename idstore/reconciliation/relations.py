"""Groups of relations, and SQL conditions for them."""

from collections.abc import Iterable
from typing import Final

from idstore.exchange.mappings import RELATIONS
from idstore.model.terms import hashed
from idstore.registry import mappings
from idstore.vocabulary import IDS

IDENTITY: Final = tuple(sorted(mappings.IDENTITY))
"""Relations that state that two identifiers denote one thing."""
EQUIVALENCE: Final = (RELATIONS["exactMatch"], RELATIONS["sameAs"])
"""Relations that are symmetric and transitive."""
LINKS: Final = frozenset(RELATIONS.values())
"""Relations whose plain triples are bindings in any RDF."""
TARGET: Final = IDS.target.value
"""The relation of an identifier to the thing that it identifies."""
REPLACES: Final = hashed(RELATIONS["replaces"])
"""The number of the relation from a successor to the identifier that it supersedes."""


def among(relations: Iterable[str]) -> str:
    """Return an SQL condition: the relation of a link is one of these."""
    return f"relation IN ({', '.join(str(hashed(relation)) for relation in relations)})"
