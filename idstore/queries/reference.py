"""The page on queries: ``python -m idstore.queries.reference > docs/queries.md``.

Meanings and examples of the terms of idstore come from ``ontology/``, the queries from the example files.
"""

import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Final, NamedTuple

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

from idstore.queries.example_queries import example_queries
from idstore.resources import folder
from idstore.vocabulary import (
    ARGUMENTS,
    DCAT,
    DCTERMS,
    IDS,
    MAPPING_PREFIXES,
    ONTOLOGY,
    OWL,
    PAV,
    PREFIXES,
    PROV,
    RDF,
    RDFS,
    SKOS,
    SSSOM,
)

_MODULES: Final = ("idstore", "administration", "articles", "handles", "pronom", "storage")
"""The modules of the ontology that describe properties of records and events."""
_DEFINITION: Final = NamedNode(PREFIXES["skos"] + "definition")
_EXAMPLE: Final = NamedNode(PREFIXES["skos"] + "example")
_DOMAIN: Final = NamedNode(PREFIXES["rdfs"] + "domain")
_UNION: Final = NamedNode(PREFIXES["owl"] + "unionOf")
_ORDER: Final = ("identifier", "binding", "value of a handle", "namespace", "label type", "party", "storage")
_TIME: Final = '"2026-11-20T12:42:52.017Z"^^xsd:dateTime'
_IDENTIFIER: Final = "<http://rdl.example.org/data#R3732211754>"
_ANN: Final = "<https://w3id.org/idstore/party/ann>"


class PropertyRow(NamedTuple):
    """A row of a table: a property, what has it, its meaning, and an example of a value in Turtle."""

    term: NamedNode
    subject: str
    meaning: str
    example: str


_STANDARD: Final = (
    PropertyRow(RDF.type, "identifier", "The class of the scheme, a subclass of ids:Identifier.", "ids:Puid"),
    PropertyRow(SKOS.notation, "identifier", "The label, unique in the namespace.", '"R3732211754"'),
    PropertyRow(
        RDFS.label, "identifier", "A name of the identified thing, one a language.", '"ball valve"@en'
    ),
    PropertyRow(DCTERMS.created, "identifier", "The time of the allocation.", _TIME),
    PropertyRow(DCTERMS.isReplacedBy, "identifier", "An identifier that replaces this one.", _IDENTIFIER),
    PropertyRow(
        DCTERMS.isVersionOf,
        "identifier",
        "The identifier of the work that this is a version of.",
        "<https://hdl.handle.net/12345/report>",
    ),
    PropertyRow(OWL.versionInfo, "identifier", "The version of the identified thing.", '"V1.0"'),
    PropertyRow(OWL.deprecated, "identifier", "true: the identifier should no longer be used.", "true"),
    PropertyRow(RDF.type, "binding", "ids:Binding.", "ids:Binding"),
    PropertyRow(RDF.subject, "binding", "The identifier that is bound.", _IDENTIFIER),
    PropertyRow(RDF.predicate, "binding", "The relation of the binding.", "skos:exactMatch"),
    PropertyRow(RDF.object, "binding", "The URI that it is bound to.", "<http://www.wikidata.org/entity/Q1>"),
    PropertyRow(PROV.wasAttributedTo, "binding", "The party that made the binding.", _ANN),
    PropertyRow(PROV.generatedAtTime, "binding", "The time of the binding.", _TIME),
    PropertyRow(SKOS.note, "binding", "A note on the binding.", '"compared by hand"'),
    PropertyRow(SSSOM.confidence, "binding", "The confidence, from 0 to 1.", "0.5"),
    PropertyRow(
        SSSOM.mapping_justification,
        "binding",
        "The method that found the relation.",
        "semapv:ManualMappingCuration",
    ),
    PropertyRow(PAV.authoredBy, "binding", "The author of the statement, an IRI or a name.", '"Ada"'),
    PropertyRow(RDF.type, "value of a handle", "ids:HandleValue.", "ids:HandleValue"),
    PropertyRow(DCTERMS.modified, "value of a handle", "The time of the last change.", _TIME),
    PropertyRow(RDF.type, "namespace", "ids:Namespace.", "ids:Namespace"),
    PropertyRow(DCTERMS.created, "namespace", "The time at which it was added.", _TIME),
    PropertyRow(
        DCTERMS.conformsTo,
        "namespace",
        "The shape for its settings, where they differ from those of the scheme's shape.",
        "<https://w3id.org/idstore/shapes#handle@h>",
    ),
    PropertyRow(DCTERMS.description, "namespace", "A description.", '"Parts of valves"'),
    PropertyRow(DCAT.contactPoint, "namespace", "An address for questions.", "<mailto:curator@example.org>"),
    PropertyRow(
        DCTERMS.license,
        "namespace",
        "The licence of its data.",
        "<https://creativecommons.org/publicdomain/zero/1.0/>",
    ),
    PropertyRow(DCTERMS.publisher, "namespace", "The publisher of its data.", '"The Example Library"'),
    PropertyRow(RDF.type, "label type", "ids:LabelType.", "ids:LabelType"),
    PropertyRow(SKOS.notation, "label type", "The code of the type in labels.", '"fmt"'),
    PropertyRow(SKOS.prefLabel, "label type", "The meaning of the type.", '"file format"'),
    PropertyRow(RDF.type, "party", "ids:Party, and the kind of the party.", "ids:User"),
    PropertyRow(RDF.type, "storage", "ids:Storage, ids:FileSystem or ids:Directory.", "ids:Storage"),
    PropertyRow(RDF.type, "event", "The kind of the act, a subclass of ids:Event.", "ids:Mint"),
    PropertyRow(PROV.wasAssociatedWith, "event", "The party that acted.", _ANN),
    PropertyRow(PROV.endedAtTime, "event", "The time of the act.", _TIME),
    PropertyRow(
        DCTERMS.isPartOf, "event", "The event of the batch that this one belongs to.", "<urn:uuid:…>"
    ),
)
"""Properties of other vocabularies, which the ontology does not define."""
_SUBJECTS: Final = {
    IDS.quality: "identifier, label type",
    IDS.name: "namespace, party, storage",
    IDS.type: "event",
}
"""Subjects of properties without a domain in the ontology."""
_CLASSES: Final = {
    "Identifier": "identifier",
    "HandleValue": "value of a handle",
    "Namespace": "namespace",
    "Party": "party",
    "Storage": "storage",
    "FileSystem": "file system",
    "Directory": "directory",
    "Event": "event",
    "Grant": "event",
    "Placement": "event",
}
"""Names of the classes that are domains of properties."""


def reference() -> str:
    """Return the page in Markdown."""
    head = files("idstore.queries").joinpath("introduction.md").read_text(encoding="utf-8")
    return "\n".join(
        (
            head,
            "## Properties of records\n",
            _record_table(),
            "A setting of a namespace is a property `setting:KEY`, such as `setting:digits 10`.\n",
            "## Properties of events\n",
            _event_table(),
            "The event that adds or changes a namespace states a setting as `with-setting:KEY`.\n",
            "## Prefixes\n",
            "Queries need no declaration of these prefixes. Other SPARQL engines need one (`PREFIX`).\n",
            _prefixes(),
            "## Questions\n",
            *_questions(),
        )
    )


def record_properties() -> list[PropertyRow]:
    """Return the properties of identifiers, bindings, values, namespaces, parties and storages."""
    rows = [row for row in (*_STANDARD, *_own_rows()) if row.subject != "event"]
    return sorted(rows, key=lambda row: (_place(row.subject), row.term != RDF.type, _short(row.term)))


def event_properties() -> list[PropertyRow]:
    """Return the properties of events. The example of an argument is that of the property that it sets."""
    rows = [row for row in (*_STANDARD, *_own_rows()) if row.subject == "event"]
    return sorted(rows, key=lambda row: (_is_argument(row.term), row.term != RDF.type, _short(row.term)))


def _own_rows() -> Iterator[PropertyRow]:
    """Yield a row for each property of the ontology that data use."""
    terms: dict[NamedNode, dict[NamedNode, object]] = {}
    lists: dict[object, dict[NamedNode, object]] = {}
    for module in _MODULES:
        content = (folder("ontology") / f"{module}.ttl").read_bytes()
        for triple in parse(content, RdfFormat.TURTLE):
            into = lists if isinstance(triple.subject, BlankNode) else terms
            into.setdefault(triple.subject, {})[triple.predicate] = triple.object
    examples = {row.term: row.example for row in _STANDARD} | {
        term: _text(facts[_EXAMPLE]) for term, facts in terms.items() if _EXAMPLE in facts
    }
    examples[RDF.value] = '"Is this right?"'
    set_by = {argument: term for term, argument in ARGUMENTS.items()}
    for term, facts in terms.items():
        if term.value.startswith(ONTOLOGY) and (_EXAMPLE in facts or term in set_by):
            example = examples[term] if term in examples else examples[set_by[term]]
            yield PropertyRow(term, _subject(term, facts, lists), _text(facts[_DEFINITION]), example)


def _subject(
    term: NamedNode, facts: Mapping[NamedNode, object], lists: Mapping[object, Mapping[NamedNode, object]]
) -> str:
    """Return what has the property, by its domain."""
    if _is_argument(term):
        return "event"
    if term in _SUBJECTS:
        return _SUBJECTS[term]
    domain = facts.get(_DOMAIN)
    if isinstance(domain, NamedNode):
        return _CLASSES[domain.value.removeprefix(ONTOLOGY)]
    members = []
    rest = lists[domain][_UNION] if domain is not None else RDF.nil
    while rest != RDF.nil:
        member = lists[rest][RDF.first]
        assert isinstance(member, NamedNode)
        members.append(_CLASSES[member.value.removeprefix(ONTOLOGY)])
        rest = lists[rest][RDF.rest]
    return ", ".join(members)


def _is_argument(term: NamedNode) -> bool:
    return term in ARGUMENTS.values()


def _text(value: object) -> str:
    assert isinstance(value, Literal)
    return value.value


def _place(subject: str) -> int:
    """Return the place of a subject in the table."""
    first = subject.partition(",")[0]
    return _ORDER.index(first) if first in _ORDER else len(_ORDER)


def _short(term: NamedNode) -> str:
    """Return a term with its prefix."""
    return next(
        f"{prefix}:{term.value.removeprefix(space)}"
        for prefix, space in PREFIXES.items()
        if term.value.startswith(space)
    )


def _record_table() -> str:
    head = "| property | of | meaning | example |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{_short(row.term)}` | {row.subject} | {row.meaning} | `{row.example}` |\n"
        for row in record_properties()
    )


def _event_table() -> str:
    head = "| property | meaning | example |\n|---|---|---|\n"
    return head + "".join(
        f"| `{_short(row.term)}` | {row.meaning} | `{row.example}` |\n" for row in event_properties()
    )


def _prefixes() -> str:
    head = "| prefix | namespace |\n|---|---|\n"
    return head + "".join(
        f"| `{prefix}:` | `{space}` |\n" for prefix, space in sorted(MAPPING_PREFIXES.items())
    )


def _questions() -> Iterator[str]:
    for example in example_queries().values():
        query = example.text.partition("\n")[2]
        yield f"### {example.title}\n\n`idstore query --example {example.name}`\n\n```sparql\n{query}```\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
