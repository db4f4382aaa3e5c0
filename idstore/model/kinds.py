"""The kind of a resource, derived from its IRI.

IRIs of one kind have the same beginning, up to the last ``/``, ``#`` or ``=``. In some well-known namespaces
the IRIs of several kinds share that beginning, and the local name tells the kind:

- Wikibase, for example Wikidata: items (Q42), properties (P31), lexemes (L7) with their forms (L7-F4) and
  senses (L7-S1), entity schemas (E10), media (M5); ``…/entity/`` with the number, or the page
  ``…/wiki/Property:P31``.
  Source: https://www.mediawiki.org/wiki/Wikibase/DataModel,
  https://www.mediawiki.org/wiki/Extension:WikibaseLexeme/Data_Model
- OBO ontologies, which share one base: ``http://purl.obolibrary.org/obo/``, the ontology's prefix, ``_`` and
  a local number.
  Source: https://obofoundry.org/principles/fp-003-uris.html
- Resolvers of compact identifiers: Identifiers.org and Bioregistry, ``https://identifiers.org/chebi:24867``.
  Source: https://docs.identifiers.org (identification scheme), https://bioregistry.io
"""

import re
from collections.abc import Mapping
from typing import Final

from idstore.model.terms import stem

_WIKIBASE: Final = re.compile(
    r"(?:Item:|Property:|Lexeme:|EntitySchema:)?(?:([QPEM])\d+|(L)\d+(?:(-[FS])\d+)?)"
)
_OBO: Final = re.compile(r"([A-Za-z]+(?:_[A-Za-z]+)*_)\d+")
_COMPACT: Final = re.compile(r"([A-Za-z0-9._]+:).+")
_ENDINGS: Final = ("/entity/", "/wiki/")
"""Endings of the base IRIs of every Wikibase."""
_MIXED: Final[Mapping[str, re.Pattern[str]]] = {
    f"{scheme}://{base}": pattern
    for base, pattern in (
        ("purl.obolibrary.org/obo/", _OBO),
        ("identifiers.org/", _COMPACT),
        ("bioregistry.io/", _COMPACT),
    )
    for scheme in ("http", "https")
}
"""Bases with IRIs of several kinds, each with a pattern: the groups of a local name distinguish the kinds."""


def kind_of(iri: str) -> str:
    """Return the beginning that an IRI shares with others of its kind; empty for a text that is not an IRI.

    >>> kind_of("http://www.wikidata.org/entity/Q42"), kind_of("http://www.wikidata.org/entity/P31")
    ('http://www.wikidata.org/entity/Q', 'http://www.wikidata.org/entity/P')
    >>> kind_of("http://purl.obolibrary.org/obo/GO_0008150"), kind_of("info:pronom/x-fmt/3"), kind_of("Q42")
    ('http://purl.obolibrary.org/obo/GO_', 'info:pronom/', '')
    """
    base = stem(iri)
    pattern = _WIKIBASE if base.endswith(_ENDINGS) else _MIXED.get(base)
    match = None if pattern is None else pattern.fullmatch(iri, len(base))
    return base if match is None else base + "".join(match.groups(""))
