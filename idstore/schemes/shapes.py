"""From a scheme's syntax rules to the SHACL shape of a namespace.

The files in ``shapes/`` hold what this renders at default settings; a namespace with settings of its own has its own shape, whose target
class is the namespace's base.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from pyoxigraph import Literal, NamedNode, Triple

from idstore.schemes import Context, Rule, Scheme
from idstore.vocabulary import RDF, SKOS, XSD

SHAPES: Final = "https://w3id.org/idstore/shapes#"
"""What every shape is named under."""


def _sh(name: str) -> NamedNode:
    return NamedNode("http://www.w3.org/ns/shacl#" + name)


def shape(scheme: Scheme, context: Context) -> list[Triple]:
    """The shape graph for the labels of a namespace: one node shape and a property shape for each rule, without blank nodes."""
    standard = dict(context.settings) == dict(scheme.defaults)
    stem = SHAPES + scheme.name + ("" if standard else "@" + quote(context.base, safe=""))
    target = NamedNode(scheme.identifier_class if standard else context.base)
    node, notation = NamedNode(stem), NamedNode(stem + "-notation")
    rules = [(NamedNode(f"{stem}-{rule.slug}"), rule) for rule in scheme.rules(context.settings)]
    triples = [
        *_described(node, "NodeShape", scheme.title, f"This is no identifier of the scheme {scheme.name}."),
        Triple(node, _sh("targetClass"), target),
        *(Triple(node, _sh("property"), property_shape) for property_shape in (notation, *(iri for iri, _ in rules))),
        *_described(notation, "PropertyShape", "Label", "An identifier has one label, a text that is not empty."),
        Triple(notation, _sh("path"), SKOS.notation),
        Triple(notation, _sh("minCount"), Literal(1)),
        Triple(notation, _sh("maxCount"), Literal(1)),
        Triple(notation, _sh("minLength"), Literal(1)),
        Triple(notation, _sh("datatype"), XSD.string),
    ]
    for iri, rule in rules:
        triples += _rule(iri, rule)
    return triples


def _rule(iri: NamedNode, rule: Rule) -> Iterator[Triple]:
    yield from _described(iri, "PropertyShape", rule.title, rule.message)
    yield Triple(iri, _sh("path"), SKOS.notation)
    holder = iri
    if rule.forbidden:
        holder = NamedNode(iri.value + "-pattern")
        yield Triple(iri, _sh("not"), holder)
        yield from _described(holder, "NodeShape", f"{rule.title}: what is refused", rule.message)
    for pattern in rule.patterns:
        yield Triple(holder, _sh("pattern"), Literal(pattern))


def _described(iri: NamedNode, kind: str, title: str, message: str) -> Iterator[Triple]:
    yield Triple(iri, RDF.type, _sh(kind))
    yield Triple(iri, _sh("name"), Literal(title, language="en"))
    yield Triple(iri, _sh("message"), Literal(message, language="en"))
    yield Triple(iri, _sh("severity"), _sh("Violation"))
