"""The JSON of records, namespaces, events and so on: what ``--json`` prints, and what a server answers.

A few texts in which they are shown stand here too. Each ``*_json`` function writes a document; the ``*_from``
functions read the documents that a client gets.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict, cast

from pyoxigraph import Literal, NamedNode

from idstore.errors import UnknownScheme
from idstore.model import event as events
from idstore.model import particulars, times
from idstore.model.binding import Binding, BindingDocument
from idstore.model.namespace import Namespace, settings_of
from idstore.model.record import Record, RecordDocument, RemarkDocument, Stage
from idstore.model.terms import UNDETERMINED, Term
from idstore.model.value import Value, ValueDocument
from idstore.vocabulary import (
    DCTERMS,
    IDS,
    ONTOLOGY,
    OWL,
    PAV,
    PREFIXES,
    RDF,
    SKOS,
    SSSOM,
    party_name,
    setting_key,
)

if TYPE_CHECKING:
    from idstore.model.event import Event
    from idstore.registry.log import Remark
    from idstore.schemes import LabelType

Json = dict[str, object]

_KEYS: Final[Mapping[NamedNode, str]] = {
    DCTERMS.isPartOf: "partOf",
    DCTERMS.isReplacedBy: "supersededBy",
    DCTERMS.isVersionOf: "versionOf",
    IDS.inNamespace: "namespace",
    IDS.within: "directory",
    OWL.versionInfo: "version",
    PAV.authoredBy: "author",
    RDF.object: "target",
    RDF.predicate: "relation",
    RDF.value: "comment",
    SKOS.notation: "label",
    SKOS.note: "note",
    SSSOM.confidence: "confidence",
    SSSOM.mapping_justification: "justification",
}
"""JSON keys of arguments whose local names would mislead; other arguments use their local names."""
_REPEATABLE: Final = {DCTERMS.isReplacedBy}
_FLAGS: Final = {IDS.internal, IDS.forced, IDS.frozen}
_NOT_PRINTED: Final = {IDS.requestDigest}


class NamespaceDocument(TypedDict):
    """A namespace: a base IRI with a scheme, and an owner.

    base         what its IRIs begin with.
    settings     the settings of the scheme, by name.
    description, contact, policy, licence, publisher  what the owner says of the namespace.
    types        the types that a mint may name, each with its title.
    offeredTo    the party that becomes the owner by accepting a transfer.
    allocators   parties and groups that may allocate identifiers; empty: every party.
    perMinute    how many identifiers a party may allocate in a minute; None: no limit.
    frozen       whether it allocates no more identifiers.
    comments     comments on the namespace.
    """

    name: str
    base: str
    scheme: str
    settings: dict[str, str]
    description: NotRequired[str]
    contact: NotRequired[str]
    policy: NotRequired[str]
    licence: NotRequired[str]
    publisher: NotRequired[str]
    types: dict[str, str]
    owner: str
    offeredTo: str | None
    created: str
    allocators: list[str]
    perMinute: int | None
    frozen: bool
    comments: NotRequired[list[RemarkDocument]]


class EventDocument(TypedDict):
    """An event: one act of a party. Further keys are its arguments, such as ``target``.

    event  IRI of the event.
    kind   the class of the act, such as ``Mint`` or ``Bind``.
    about  the identifier, namespace, party or registry.
    by     name of the party that acted.
    at     the moment of the act.
    terms  all arguments, as pairs of predicate and value in N-Triples; in answers of a server only.
    """

    event: str
    kind: str
    about: str
    by: str
    at: str
    terms: NotRequired[list[tuple[str, str]]]


def record_json(
    record: Record, namespace: Namespace, remarks: "Sequence[Remark] | None" = ()
) -> RecordDocument:
    """Return the whole record with the keys of the JSON contract, without ``comments`` for None."""
    document = record.as_dict()
    document["namespace"], document["scheme"] = namespace.name, namespace.scheme_name
    if remarks is not None:
        document["comments"] = [remark_json(remark) for remark in remarks]
    return document


def wire_record(record: Record, namespace: Namespace) -> RecordDocument:
    """Return a record as a server sends it: without comments, with what `record_from` needs."""
    document = record_json(record, namespace, None)
    document["type"], document["base"] = record.type, record.namespace
    document["bindings"] = [wire_binding(binding) for binding in record.bindings]
    return document


def record_from(document: RecordDocument) -> Record:
    """Return the record of a document of `wire_record`."""
    owner, binders = document["owner"], {*document["mayBind"]}
    return Record(
        iri=document["id"],
        type=document["type"],
        namespace=document["base"],
        label=document["label"],
        stage=Stage(document["stage"]),
        owner=owner,
        created=times.parse(document["created"]),
        fixated=None if document["fixated"] is None else times.parse(document["fixated"]),
        provisional=document["provisional"],
        grants=tuple((name, name in binders) for name in document["grants"] if name != owner),
        names=tuple(document["names"].items()),
        version=document["version"],
        work=document["versionOf"],
        target=document["target"],
        deprecated=document["deprecated"],
        reason=document["reason"],
        successors=tuple(document["supersededBy"]),
        offered=document["offeredTo"],
        bindings=tuple(map(binding_from, document["bindings"])),
        values=tuple(map(value_from, document.get("values", ()))),
        below=document["below"],
        kind=document["kind"],
    )


def wire_binding(binding: Binding) -> BindingDocument:
    """Return a binding as a server sends it: with what `binding_from` needs."""
    document = binding.as_dict()
    document["node"] = binding.node.value
    document["notes"] = [(name.value, str(value)) for name, value in binding.notes]
    return document


def binding_from(document: BindingDocument) -> Binding:
    """Return the binding of a document of `wire_binding`."""
    return Binding(
        NamedNode(document["node"]),
        document["relation"],
        document["target"],
        document["by"],
        times.parse(document["at"]),
        tuple(events.read_arguments(document["notes"])),
    )


def value_from(document: ValueDocument) -> Value:
    """Return the value of a document of `value_json`."""
    data, ttl = document["data"], document["ttl"]
    value = Value(
        document["index"],
        document["type"],
        data["value"] if data["format"] == "string" else bytes.fromhex(data["value"]),
        times.parse(document["timestamp"]),
        permissions=document["permissions"],
    )
    from dataclasses import replace

    return replace(value, until=times.parse(ttl)) if isinstance(ttl, str) else replace(value, ttl=ttl)


def namespace_json(namespace: Namespace, remarks: "Sequence[Remark] | None" = None) -> NamespaceDocument:
    """Return all fields of a namespace, without ``comments`` if ``remarks`` is None."""
    document: NamespaceDocument = {
        "name": namespace.name,
        "base": namespace.base,
        "scheme": namespace.scheme_name,
        "settings": dict(namespace.settings),
        "types": {type.code: type.title for type in namespace_types(namespace)},
        "owner": namespace.owner,
        "offeredTo": namespace.offered,
        "created": times.iso(namespace.created),
        "allocators": sorted(namespace.allocators),
        "perMinute": namespace.per_minute,
        "frozen": namespace.frozen,
    }
    document |= cast("NamespaceDocument", dict(namespace.particulars))
    if remarks is not None:
        document["comments"] = [remark_json(remark) for remark in remarks]
    return document


def namespace_from(document: NamespaceDocument) -> Namespace:
    """Return the namespace of a document of `namespace_json`."""
    return Namespace(
        document["base"],
        document["name"],
        document["scheme"],
        tuple(document["settings"].items()),
        document["owner"],
        times.parse(document["created"]),
        frozenset(document["allocators"]),
        document["perMinute"],
        document["frozen"],
        document["offeredTo"],
        settings_of({key: str(text) for key, text in document.items() if key in particulars.PREDICATES}),
    )


def namespace_types(namespace: Namespace) -> "Sequence[LabelType]":
    """Return the label types of a namespace, none if the package of its scheme is not installed."""
    try:
        return namespace.types
    except UnknownScheme:
        return ()


def remark_json(remark: "Remark") -> RemarkDocument:
    """Return a comment."""
    return {"text": remark.text, "by": remark.by, "at": times.iso(remark.at), "internal": remark.internal}


def event_json(event: "Event") -> Json:
    """Return an event with its arguments."""
    record: Json = {
        "event": event.iri,
        "kind": event.act,
        "about": event.about,
        "by": event.by,
        "at": times.iso(event.at),
    }
    for predicate, value in event.arguments:
        if predicate in _NOT_PRINTED:
            continue
        setting = setting_key(predicate)
        if setting is not None:
            record["settings"] = [*_as_list(record.get("settings")), f"{setting}={value.value}"]
            continue
        key = _key(predicate)
        if predicate in _REPEATABLE or (
            predicate == IDS.party and event.kind in (IDS.NamespaceAllowance, IDS.StorageAllowance)
        ):
            record[key] = [*_as_list(record.get(key)), _value(predicate, value)]
        else:
            record[key] = _value(predicate, value)
            if isinstance(value, Literal) and value.language:
                record["lang"] = value.language
    return record


def wire_event(event: "Event") -> Json:
    """Return an event as a server sends it: `event_json`, and under ``terms`` all arguments in N-Triples."""
    pairs = [(name.value, str(value)) for name, value in event.arguments if name not in _NOT_PRINTED]
    return event_json(event) | {"terms": pairs}


def event_from(document: Mapping[str, Any]) -> "Event":
    """Return the event of a document of `wire_event`."""
    return events.Event(
        *events.split(document["event"]),
        NamedNode(ONTOLOGY + document["kind"]),
        document["about"],
        document["by"],
        times.milliseconds(times.parse(document["at"])),
        tuple(events.read_arguments(document["terms"])),
    )


def compact_iri(iri: str) -> str:
    """Return an IRI as a prefixed name, such as ``skos:exactMatch``, if it has a well-known prefix."""
    return next(
        (f"{prefix}:{iri[len(space) :]}" for prefix, space in PREFIXES.items() if iri.startswith(space)), iri
    )


def language_tag(lang: str) -> str:
    """Return the language of a name as it is shown behind it: `` (en)``."""
    return "" if lang == UNDETERMINED else f" ({lang})"


def record_fields(record: Record) -> dict[str, str]:
    """Return the fields of a record that change independently, as text: stage, owner, names and so on."""
    fields = {"stage": record.stage.value, "owner": record.owner}
    fields |= {f"name{language_tag(lang)}": text for lang, text in record.names}
    optional = {
        "version": record.version,
        "target": None if record.target is None else record.target,
        "reason": record.reason,
        "deprecated": "yes" if record.deprecated else None,
        "replaced by": ", ".join(successor for successor in record.successors) or None,
        "granted to": ", ".join(name for name, _ in record.grants) or None,
        "offered to": record.offered,
    }
    fields |= {name: text for name, text in optional.items() if text is not None}
    return fields | {
        f"{compact_iri(binding.relation)} {binding.target}": f"bound by {binding.by}"
        for binding in record.bindings
    }


def _key(predicate: NamedNode) -> str:
    return _KEYS.get(predicate) or compact_iri(predicate.value).rpartition(":")[2]


def _value(predicate: NamedNode, value: Term) -> object:
    if predicate in _FLAGS:
        return value.value == "true"
    if predicate == IDS.party and isinstance(value, NamedNode):
        return party_name(value)
    return value.value.removeprefix(ONTOLOGY)


def _as_list(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else []


def _text(node: NamedNode | None) -> str | None:
    return None if node is None else node.value


def _node(text: str | None) -> NamedNode | None:
    return None if text is None else NamedNode(text)
