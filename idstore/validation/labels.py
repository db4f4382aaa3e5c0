"""Check that labels fit the IRIs of their identifiers, and that no two identifiers have the same label.

Shapes cannot check this: the scheme of a namespace tells which IRI a label makes, and when two are the same.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import InvalidIdentifier
from idstore.model import namespace as namespaces
from idstore.model.namespace import Namespace
from idstore.progress import Meter, Progress, unwatched
from idstore.schemes import scheme
from idstore.validation.checks import values_clause
from idstore.validation.graph import Term
from idstore.validation.report import ValidationResult
from idstore.validation.source import QuadSource
from idstore.vocabulary import IDS, RDF, REGISTRY_GRAPH, SKOS

_FIT = "https://w3id.org/idstore/shapes#LabelOfIri"
_UNIQUE = "https://w3id.org/idstore/shapes#UniqueLabel"


def described(source: QuadSource) -> dict[str, Namespace]:
    """Return the namespaces that the data describe completely, by base, without those of unknown schemes."""
    rows = source.rows(f"SELECT ?this ?p ?o {{ ?this {RDF.type} {IDS.Namespace} ; ?p ?o }} ORDER BY ?this")
    found = {}
    for base, facts in groupby(rows, key=itemgetter(0)):
        with suppress(AssertionError, ValueError, LookupError):
            assert isinstance(base, NamedNode)
            quads = [Quad(base, predicate, value, REGISTRY_GRAPH) for _, predicate, value in facts]  # type: ignore[arg-type]
            namespace = namespaces.parse(base, quads)
            defaults = scheme(namespace.scheme_name).defaults  # raises where its package is not installed
            settings = namespaces.settings_of({**defaults, **dict(namespace.settings)})
            found[base.value] = replace(namespace, settings=settings)
    return found


def mislabelled(
    source: QuadSource,
    known: Mapping[str, Namespace],
    among: Collection[Term] | None = None,
    progress: Progress = unwatched,
) -> Iterator[ValidationResult]:
    """Yield findings on labels that make another IRI, and on labels that an earlier identifier has.

    known  namespaces by base; the labels of others are not checked.
    among  check only whether the labels of these nodes fit; None for all nodes, and for equal labels too.

    Memory: 0.1 kB for each label of the largest namespace.
    """
    meter = Meter(progress, "looking at labels")
    for base in sorted(known):
        yield from _misfits(source, known[base], among)
        if among is None:
            yield from _repeated(source, known[base], meter)


def _misfits(
    source: QuadSource, namespace: Namespace, among: Collection[Term] | None
) -> Iterator[ValidationResult]:
    code, context = namespace.scheme, namespace.context
    start = "" if among is None else values_clause(among)
    records = f"{_labels(namespace)} BIND(?this AS ?iri)"
    events = f"?this {IDS.withNamespace} {namespace.iri} ; {IDS.withLabel} ?label ; {IDS.about} ?iri ."
    unlike = (
        f"FILTER(STR(?iri) != CONCAT({Literal(namespace.base)}, ?label))"  # an escaped label may still fit
    )
    for node, label, holder in source.rows(
        f"SELECT ?this ?label ?iri {{ {start} {{ {records} }} UNION {{ {events} }} {unlike} }}"
    ):
        assert node is not None
        if isinstance(label, Literal):
            with suppress(InvalidIdentifier):
                iri = code.iri(label.value, context)
                if NamedNode(iri) != holder:
                    message = f"The label makes the IRI {iri}."
                    yield _finding(node, label, _FIT, "label of the IRI", message)


def _repeated(source: QuadSource, namespace: Namespace, meter: Meter) -> Iterator[ValidationResult]:
    seen: set[int] = set()
    twice: set[int] = set()
    for _, _, key in meter.over(_keys(source, namespace)):
        number = hash(key)
        (twice if number in seen else seen).add(number)
    holders: dict[str, list[tuple[str, Term, Literal]]] = {}
    for node, label, key in _keys(source, namespace) if twice else ():
        if hash(key) in twice:
            holders.setdefault(key, []).append((str(node), node, label))
    for some in holders.values():
        (first, *_), *others = sorted(some, key=itemgetter(0))
        for _, node, label in others:
            yield _finding(node, label, _UNIQUE, "unique label", f"{first} has the same label.")


def _keys(source: QuadSource, namespace: Namespace) -> Iterator[tuple[Term, Literal, str]]:
    """Yield the identifiers of a namespace with their labels and comparison keys."""
    code, context = namespace.scheme, namespace.context
    for node, label in source.rows(f"SELECT DISTINCT ?this ?label {{ {_labels(namespace)} }}"):
        if node is not None and isinstance(label, Literal):
            with suppress(InvalidIdentifier):
                yield node, label, code.key(label.value, context)


def _labels(namespace: Namespace) -> str:
    return f"?this {IDS.inNamespace} {namespace.iri} ; {SKOS.notation} ?label ."


def _finding(node: Term, label: Literal, shape: str, name: str, message: str) -> ValidationResult:
    return ValidationResult(node, str(SKOS.notation), label, shape, name, "label", message)
