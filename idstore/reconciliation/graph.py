"""Findings as triples, to be stored beside registries; `shapes/findings.ttl` describes their form."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from pyoxigraph import Literal, NamedNode, Triple

from idstore.model.terms import share
from idstore.reconciliation.claims import SharedStatement
from idstore.reconciliation.kinds import ReconciliationFinding
from idstore.reconciliation.report import Reconciliation
from idstore.vocabulary import DCTERMS, IDS, PAV, RDF, SKOS, SPACE, SSSOM


def triples(result: Reconciliation, tally: Counter[str]) -> Iterator[Triple]:
    """Yield the listed findings as triples; ``tally`` counts all by kind.

    Each finding is a resource with an IRI that is derived from its content.
    """
    for finding in result.listed(tally):
        yield from _triples(result, finding)


def _triples(result: Reconciliation, finding: ReconciliationFinding) -> Iterator[Triple]:
    digest = hashlib.sha256(
        repr((finding.kind.slug, finding.about, [claim.key for claim in finding.claims])).encode()
    ).hexdigest()[:24]
    iri = NamedNode(f"{SPACE}finding/{digest}")
    yield Triple(iri, RDF.type, IDS.Finding)
    yield Triple(iri, DCTERMS.type, Literal(finding.kind.slug))
    yield Triple(iri, DCTERMS.subject, _term(finding.about))
    for note in filter(None, (finding.reason, *_values(result, finding))):
        yield Triple(iri, SKOS.note, Literal(note))
    for side in finding.missing:
        yield Triple(iri, IDS.missingFrom, Literal(result.sides[side].name))
    weakest = {link.claim.key: link.claim for link in finding.weakest}
    claims = {claim.key: claim for claim in finding.claims} | weakest
    for number, (key, claim) in enumerate(claims.items(), 1):
        node = NamedNode(f"{iri.value}-{number}")
        yield from _claim_triples(result, iri, node, claim)
        if key in weakest:
            yield Triple(iri, IDS.weakestLink, node)


def _claim_triples(
    result: Reconciliation, finding: NamedNode, node: NamedNode, claim: SharedStatement
) -> Iterator[Triple]:
    yield Triple(node, RDF.type, RDF.Statement)
    yield Triple(node, DCTERMS.isPartOf, finding)
    for predicate, text in (
        (RDF.subject, claim.subject),
        (RDF.predicate, claim.relation),
        (RDF.object, claim.target),
    ):
        yield Triple(node, predicate, _term(text))
    for side in claim.sides:
        yield Triple(node, DCTERMS.source, Literal(result.sides[side].name))
    for _, link in claim.occurrences:
        if link.confidence is not None:
            yield Triple(node, SSSOM.confidence, share(Decimal(str(link.confidence))))
        if link.author is not None:
            yield Triple(node, PAV.authoredBy, _term(link.author))


def _values(result: Reconciliation, finding: ReconciliationFinding) -> Iterator[str]:
    for name, by_side in finding.values.items():
        yield from (
            f"{result.sides[side].name} says {name}: {' · '.join(values)}" for side, values in by_side.items()
        )


def _term(text: str) -> NamedNode | Literal:
    if ":" not in text:
        return Literal(text)
    try:
        return NamedNode(text)
    except ValueError:
        return Literal(text)
