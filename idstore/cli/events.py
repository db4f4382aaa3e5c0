"""How events are printed: for people, and as JSON."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal, NamedNode

from idstore.cli.call import Call
from idstore.cli.records import Json, fields, namespace_json, short
from idstore.model import times
from idstore.model.namespace import Namespace
from idstore.vocabulary import DCTERMS, IDS, ONTOLOGY, OWL, PAV, RDF, SKOS, SPACE, SSSOM, party_name

if TYPE_CHECKING:
    from idstore.model.event import Event
    from idstore.model.terms import Term

_KEYS: Final[Mapping[NamedNode, str]] = {
    DCTERMS.isPartOf: "partOf",
    DCTERMS.isReplacedBy: "supersededBy",
    DCTERMS.isVersionOf: "versionOf",
    IDS.inNamespace: "namespace",
    IDS.within: "directory",
    IDS.setting: "settings",
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
"""What arguments are called whose own names would mislead; the others go by their local names."""
_MANY: Final = {DCTERMS.isReplacedBy, IDS.setting}
_FLAGS: Final = {IDS.internal, IDS.frozen}
_UNSAID: Final = {IDS.requestDigest}
_PARTIES: Final = SPACE + "party/"


def event_json(event: "Event") -> Json:
    """Everything that is said of an event."""
    made: Json = {"event": event.iri.value, "kind": event.act, "about": event.about.value, "by": event.by, "at": times.iso(event.at)}
    for predicate, value in event.arguments:
        if predicate in _UNSAID:
            continue
        key = _key(predicate)
        if predicate in _MANY or (predicate == IDS.party and event.kind in (IDS.NamespaceAllowance, IDS.StorageAllowance)):
            made[key] = [*_listed(made.get(key)), _value(predicate, value)]
        else:
            made[key] = _value(predicate, value)
            if isinstance(value, Literal) and value.language:
                made["lang"] = value.language
    return made


def event_line(event: "Event") -> str:
    """Time, party, kind, what it is about, and its arguments, divided by tabs."""
    made = event_json(event)
    said = {key: value for key, value in made.items() if key not in ("event", "kind", "about", "by", "at")}
    return "\t".join((times.iso(event.at), event.by, event.act, about(event), fields(said)))


def about(event: "Event") -> str:
    """What the event is about, for people: the name of a party, the IRI of anything else."""
    return party_name(event.about) if event.about.value.startswith(_PARTIES) else event.about.value


def done(call: Call, *made: "Event | Namespace | None") -> None:
    """With ``--json`` print the events of an act, or the namespace that it changed; otherwise an act that succeeded says nothing."""
    if call.output.json:
        for one in (one for one in made if one is not None):
            call.output.data("", namespace_json(one) if isinstance(one, Namespace) else event_json(one))


def _key(predicate: NamedNode) -> str:
    return _KEYS.get(predicate) or short(predicate.value).rpartition(":")[2]


def _value(predicate: NamedNode, value: "Term") -> object:
    if predicate in _FLAGS:
        return value.value == "true"
    if predicate == IDS.party and isinstance(value, NamedNode):
        return party_name(value)
    return value.value.removeprefix(ONTOLOGY)


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else []
