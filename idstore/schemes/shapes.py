"""Rendering of a scheme's syntax rules as SHACL shapes.

The files in ``shapes/`` hold the shapes of the schemes at default settings; they target the scheme's class. A
rule that depends on settings does not apply to a namespace where it says something else: that namespace
conforms (``dcterms:conformsTo``) to a shape of its own, which holds these rules.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from idstore.schemes import Context, Rule, Scheme
from idstore.vocabulary import DCTERMS, IDS, RDF, SKOS, XSD

SHAPES: Final = "https://w3id.org/idstore/shapes#"
"""Base of the IRIs of all shapes."""

Node = NamedNode | BlankNode


def _sh(name: str) -> NamedNode:
    return NamedNode("http://www.w3.org/ns/shacl#" + name)


def own_shape(scheme: Scheme, context: Context) -> NamedNode | None:
    """Return the IRI of the namespace's own shape; None if the rules are those of the default settings."""
    if _variable(scheme, context.settings) == _variable(scheme, scheme.defaults):
        return None
    return NamedNode(f"{SHAPES}{scheme.name}@{quote(context.base, safe='')}")


def scheme_shape(scheme: Scheme) -> list[Triple]:
    """Return the shapes for the identifiers of a scheme, with the rules at default settings.

    A rule that depends on settings passes over the identifiers of namespaces with a shape of their own.
    """
    stem, target = SHAPES + scheme.name, NamedNode(scheme.identifier_class)
    node, notation = NamedNode(stem), NamedNode(f"{stem}-notation")
    rules = [(NamedNode(f"{stem}-{rule.slug}"), rule) for rule in scheme.rules(scheme.defaults)]
    triples = [
        *_described(node, "NodeShape", scheme.title, f"This is no identifier of the scheme {scheme.name}."),
        Triple(node, _sh("targetClass"), target),
        Triple(node, _sh("property"), notation),
        *(Triple(node, _sh("property"), iri) for iri, rule in rules if rule.fixed),
        *_described(
            notation, "PropertyShape", "Label", "An identifier has one label, a text that is not empty."
        ),
        Triple(notation, _sh("path"), SKOS.notation),
        Triple(notation, _sh("minCount"), Literal(1)),
        Triple(notation, _sh("maxCount"), Literal(1)),
        Triple(notation, _sh("minLength"), Literal(1)),
        Triple(notation, _sh("datatype"), XSD.string),
    ]
    elsewhere = NamedNode(f"{stem}-elsewhere")
    if not all(rule.fixed for _, rule in rules):
        triples += _elsewhere(elsewhere)
    for iri, rule in rules:
        triples += _rule(iri, rule) if rule.fixed else _rule_here(iri, rule, target, elsewhere)
    return triples


def namespace_shape(scheme: Scheme, context: Context) -> list[Triple]:
    """Return the namespace's own shape, with the rules that depend on its settings; empty if it has none."""
    node = own_shape(scheme, context)
    if node is None:
        return []
    inside, inverse = NamedNode(f"{node.value}-identifiers"), BlankNode()
    rules = [(NamedNode(f"{node.value}-{rule.slug}"), rule) for rule in _variable(scheme, context.settings)]
    message = f"This is no identifier of the scheme {scheme.name} in {context.base}."
    return [
        *_described(node, "NodeShape", f"{scheme.title} in {context.base}", message),
        Triple(node, _sh("targetNode"), NamedNode(context.base)),
        Triple(node, _sh("property"), inside),
        *_described(inside, "PropertyShape", "Identifiers of the namespace", message),
        Triple(inside, _sh("path"), inverse),
        Triple(inverse, _sh("inversePath"), IDS.inNamespace),
        *(Triple(inside, _sh("property"), iri) for iri, _ in rules),
        *(triple for iri, rule in rules for triple in _rule(iri, rule)),
    ]


def _variable(scheme: Scheme, settings: Mapping[str, str]) -> list[Rule]:
    full = {**scheme.defaults, **settings}  # an older namespace may lack settings that came later
    return [rule for rule in scheme.rules(full) if not rule.fixed]


def _elsewhere(node: NamedNode) -> Iterator[Triple]:
    """Yield the shape to which the identifiers of namespaces with a shape of their own conform."""
    yield from _described(
        node, "PropertyShape", "Namespace with rules of its own", "The namespace has no rules of its own."
    )
    path, steps = _list([IDS.inNamespace, DCTERMS.conformsTo])
    yield from steps
    yield Triple(node, _sh("path"), path)
    yield Triple(node, _sh("minCount"), Literal(1))


def _rule_here(iri: NamedNode, rule: Rule, target: NamedNode, elsewhere: NamedNode) -> Iterator[Triple]:
    """Yield the shapes of a rule that does not apply to the identifiers that conform to ``elsewhere``."""
    label = NamedNode(f"{iri.value}-label")
    yield from _described(iri, "NodeShape", rule.title, rule.message)
    yield Triple(iri, _sh("targetClass"), target)
    either, parts = _list([elsewhere, label])
    yield Triple(iri, _sh("or"), either)
    yield from parts
    yield from _rule(label, rule)


def _rule(iri: NamedNode, rule: Rule) -> Iterator[Triple]:
    severity = "Warning" if rule.advisory else "Violation"
    yield from _described(iri, "PropertyShape", rule.title, rule.message, severity)
    yield Triple(iri, _sh("path"), SKOS.notation)
    holder = iri
    if rule.forbidden:
        holder = NamedNode(iri.value + "-pattern")
        yield Triple(iri, _sh("not"), holder)
        yield from _described(holder, "NodeShape", f"{rule.title}: what is refused", rule.message, severity)
    for pattern in rule.patterns:
        yield Triple(holder, _sh("pattern"), Literal(pattern))


def _described(
    iri: NamedNode, kind: str, title: str, message: str, severity: str = "Violation"
) -> Iterator[Triple]:
    yield Triple(iri, RDF.type, _sh(kind))
    yield Triple(iri, _sh("name"), Literal(title, language="en"))
    yield Triple(iri, _sh("message"), Literal(message, language="en"))
    yield Triple(iri, _sh("severity"), _sh(severity))


def _list(members: Iterable[NamedNode]) -> tuple[Node, list[Triple]]:
    """Return the first node of an RDF list, and the triples of the list."""
    head: Node = RDF.nil
    triples: list[Triple] = []
    for member in reversed(list(members)):
        node = BlankNode()
        triples += [Triple(node, RDF.first, member), Triple(node, RDF.rest, head)]
        head = node
    return head, triples
