"""The findings as triples, to be kept beside registries; `shapes/findings.ttl` says what they look like."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from pyoxigraph import Literal, NamedNode, Triple

from idstore.model.terms import share
from idstore.reconciliation.claims import Claim
from idstore.reconciliation.kinds import Finding
from idstore.reconciliation.report import Reconciliation
from idstore.vocabulary import DCTERMS, IDS, PAV, RDF, SKOS, SPACE, SSSOM


def triples(found: Reconciliation, tally: Counter[str]) -> Iterator[Triple]:
    """The findings as triples: each a resource of its own, named after what it says; ``tally`` counts them by kind."""
    for finding in found.findings():
        tally[finding.kind.slug] += 1
        yield from _triples(found, finding)


def _triples(found: Reconciliation, finding: Finding) -> Iterator[Triple]:
    digest = hashlib.sha256(repr((finding.kind.slug, finding.about, [claim.key for claim in finding.claims])).encode()).hexdigest()[:24]
    iri = NamedNode(f"{SPACE}finding/{digest}")
    yield Triple(iri, RDF.type, IDS.Finding)
    yield Triple(iri, DCTERMS.type, Literal(finding.kind.slug))
    yield Triple(iri, DCTERMS.subject, _term(finding.about))
    for note in filter(None, (finding.reason, *_values(found, finding))):
        yield Triple(iri, SKOS.note, Literal(note))
    for side in finding.missing:
        yield Triple(iri, IDS.missingFrom, Literal(found.sides[side].name))
    weakest = {link.claim.key: link.claim for link in finding.weakest}
    told = {claim.key: claim for claim in finding.claims} | weakest
    for number, (key, claim) in enumerate(told.items(), 1):
        node = NamedNode(f"{iri.value}-{number}")
        yield from _claim_triples(found, iri, node, claim)
        if key in weakest:
            yield Triple(iri, IDS.weakestLink, node)


def _claim_triples(found: Reconciliation, finding: NamedNode, node: NamedNode, claim: Claim) -> Iterator[Triple]:
    yield Triple(node, RDF.type, RDF.Statement)
    yield Triple(node, DCTERMS.isPartOf, finding)
    for predicate, text in ((RDF.subject, claim.subject), (RDF.predicate, claim.relation), (RDF.object, claim.target)):
        yield Triple(node, predicate, _term(text))
    for side in claim.sides:
        yield Triple(node, DCTERMS.source, Literal(found.sides[side].name))
    for _, link in claim.said:
        if link.confidence is not None:
            yield Triple(node, SSSOM.confidence, share(Decimal(str(link.confidence))))
        if link.author is not None:
            yield Triple(node, PAV.authoredBy, _term(link.author))


def _values(found: Reconciliation, finding: Finding) -> Iterator[str]:
    for name, said in finding.values.items():
        yield from (f"{found.sides[side].name} says {name}: {' · '.join(values)}" for side, values in said.items())


def _term(text: str) -> NamedNode | Literal:
    if ":" not in text:
        return Literal(text)
    try:
        return NamedNode(text)
    except ValueError:
        return Literal(text)
