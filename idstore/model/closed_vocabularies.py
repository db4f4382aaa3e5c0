"""Vocabularies that define every one of their terms: SKOS, OWL and RDF Schema. Another term is a misspelling.

Another written form of the address of such a vocabulary, or of idstore's own ontology, is a misspelling too.
A misspelt relation would be bound as an unknown one, and contradictions would not be found.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from idstore.characters import EXAMINED
from idstore.vocabulary import ONTOLOGY, PREFIXES

_VOCABULARIES: Final = ("skos", "owl", "rdfs")
_FAMILIAR: Final = frozenset(
    f"{PREFIXES[prefix]}{term}"
    for prefix, terms in {
        "skos": "exactMatch closeMatch broadMatch narrowMatch relatedMatch broader narrower related",
        "owl": "sameAs equivalentClass equivalentProperty",
        "rdfs": "seeAlso isDefinedBy subClassOf",
    }.items()
    for term in terms.split()
)
"""Terms that need no look at the whole vocabulary."""
_OF_TEXTS: Final = frozenset(
    ["altLabel", "comment", "hiddenLabel", "label", "notation", "prefLabel", "versionInfo"]
)
"""Properties whose values are texts."""
_ADDRESS: Final = re.compile(r"https?://(?:www\.)?(w3\.org/.*?)[#/]*([^#/]*)", re.IGNORECASE)
_FORMER: Final = {"w3.org/2008/05/skos": "skos"}
"""Addresses of earlier drafts."""
_IN_ADDRESSES: Final = {"skos": "skos", "owl": r"\bowl2?\b", "rdfs": r"\brdfs\b|rdf-schema"}
"""Vocabulary → a word of addresses of its documents, drafts and parts."""
_OF_LABELS: Final = frozenset(["altLabel", "hiddenLabel", "prefLabel"])
"""Terms that SKOS-XL defines, too."""
_OWN_ADDRESS: Final = re.compile(
    r"https?://(?:www\.)?w3id\.org/idstore(?:/ontology[#/]+|/?#)([^#/]*)", re.IGNORECASE
)
_ALIKE: Final = 0.87
"""Likeness of two addresses, from 0 to 1, from which one is a misspelling of the other."""


@lru_cache
def correction(iri: str) -> str | None:
    """Return the term that a misspelt term of a closed vocabulary probably means.

    None: the IRI is a term, belongs to another vocabulary, or is longer than `EXAMINED`. Cost: the import of
    rdflib, once, for a rare term.

    >>> correction("http://www.w3.org/2004/02/skos/core#exactmatch")
    'http://www.w3.org/2004/02/skos/core#exactMatch'
    >>> correction("https://www.w3.org/2004/02/skos/core#exactMatch")
    'http://www.w3.org/2004/02/skos/core#exactMatch'
    >>> correction("http://purl.org/dc/terms/relation")
    """
    own = _OWN_ADDRESS.fullmatch(iri)
    if own is not None:
        return None if iri.startswith(ONTOLOGY) else ONTOLOGY + own[1]
    address = _ADDRESS.fullmatch(iri) if len(iri) <= EXAMINED else None
    if address is None or iri in _FAMILIAR:
        return None
    place, term = address[1].lower(), address[2]
    for prefix in _VOCABULARIES:
        space = PREFIXES[prefix]
        if iri.startswith(space):
            terms = _terms(prefix)
            return (
                None
                if iri.removeprefix(space) in terms
                else _elsewhere(term) or space + _nearest(term, terms)
            )
    if place in _FORMER:
        prefix = _FORMER[place]
        return PREFIXES[prefix] + _nearest(term, _terms(prefix))
    for prefix, word in _IN_ADDRESSES.items():
        if re.search(word, place) and term not in _OF_LABELS and (same := _same(term, prefix)) is not None:
            return PREFIXES[prefix] + same
    alike = {prefix: _likeness(place, PREFIXES[prefix]) for prefix in _VOCABULARIES}
    prefix = max(alike, key=alike.__getitem__)
    return PREFIXES[prefix] + _nearest(term, _terms(prefix)) if alike[prefix] >= _ALIKE else None


def is_no_relation(iri: str) -> bool:
    """Return whether a term of a closed vocabulary is a class, or a property of texts.

    >>> skos = "http://www.w3.org/2004/02/skos/core#"
    >>> [is_no_relation(skos + term) for term in ("Concept", "prefLabel", "broadMatch")]
    [True, True, False]
    """
    space = next((PREFIXES[one] for one in _VOCABULARIES if iri.startswith(PREFIXES[one])), None)
    if space is None:
        return False
    term = iri.removeprefix(space)
    return term[:1].isupper() or term in _OF_TEXTS


def _terms(prefix: str) -> frozenset[str]:
    from rdflib import namespace  # slow import

    return frozenset(getattr(namespace, prefix.upper()).__annotations__)


def _same(term: str, prefix: str) -> str | None:
    """Return the term of a vocabulary that differs in case alone."""
    return next((one for one in sorted(_terms(prefix)) if one.lower() == term.lower()), None)


def _elsewhere(term: str) -> str | None:
    """Return the term of another closed vocabulary that has this name."""
    found = ((prefix, _same(term, prefix)) for prefix in _VOCABULARIES)
    return next((PREFIXES[prefix] + same for prefix, same in found if same is not None), None)


def _nearest(term: str, terms: Iterable[str]) -> str:
    from difflib import SequenceMatcher

    return max(sorted(terms), key=lambda one: SequenceMatcher(None, one.lower(), term.lower()).ratio())


def _likeness(place: str, space: str) -> float:
    from difflib import SequenceMatcher

    known = space.removeprefix("http://www.").rstrip("#")
    return SequenceMatcher(None, place, known).ratio()
