"""The IRIs that idstore writes and reads: its own ontology's terms, the standard terms beside them, and the names of graphs.

The ontology file (``ontology/idstore.ttl``) describes every own term here and nothing else; a test compares the two.
"""

from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote

from pyoxigraph import NamedNode

ONTOLOGY: Final = "https://w3id.org/idstore/ontology#"
"""Namespace of the ontology, prefix ``ids``."""

SPACE: Final = "https://w3id.org/idstore/"
"""What parties and internal graphs are named under."""


EVENTS: Final = "urn:uuid:"
"""What stores, events and bindings are named under: this, their store of origin and a number."""


def _own(name: str) -> NamedNode:
    return NamedNode(ONTOLOGY + name)


class IDS:
    """Terms of the idstore ontology."""

    # entities
    Registry = _own("Registry")
    Namespace = _own("Namespace")
    LabelType = _own("LabelType")
    Identifier = _own("Identifier")
    RdsWipIdentifier = _own("RdsWipIdentifier")
    PilinHandle = _own("PilinHandle")
    Handle = _own("Handle")
    Puid = _own("Puid")
    ArticleIdentifier = _own("ArticleIdentifier")
    Binding = _own("Binding")
    HandleValue = _own("HandleValue")
    Party = _own("Party")
    User = _own("User")
    Group = _own("Group")
    Administrator = _own("Administrator")
    Storage = _own("Storage")
    FileSystem = _own("FileSystem")
    Directory = _own("Directory")
    Stage = _own("Stage")
    Quality = _own("Quality")
    Right = _own("Right")
    # stages, qualities and rights (individuals)
    Created = _own("Created")
    Fixated = _own("Fixated")
    Tombstone = _own("Tombstone")
    Provisional = _own("Provisional")
    MayBind = _own("MayBind")
    # actions: what an event can be
    Event = _own("Event")
    Initialization = _own("Initialization")
    Import = _own("Import")
    NamespaceAddition = _own("NamespaceAddition")
    NamespaceAllowance = _own("NamespaceAllowance")
    NamespaceFreeze = _own("NamespaceFreeze")
    TypeAddition = _own("TypeAddition")
    Mint = _own("Mint")
    Registration = _own("Registration")
    Naming = _own("Naming")
    Targeting = _own("Targeting")
    Bind = _own("Bind")
    Unbind = _own("Unbind")
    Comment = _own("Comment")
    Grant = _own("Grant")
    Ungrant = _own("Ungrant")
    Fixation = _own("Fixation")
    Release = _own("Release")
    Revocation = _own("Revocation")
    Deprecation = _own("Deprecation")
    Supersession = _own("Supersession")
    Replacement = _own("Replacement")
    Versioning = _own("Versioning")
    Vetting = _own("Vetting")
    Transfer = _own("Transfer")
    ValueSetting = _own("ValueSetting")
    ValueUnsetting = _own("ValueUnsetting")
    PartyAddition = _own("PartyAddition")
    Joining = _own("Joining")
    Leaving = _own("Leaving")
    Suspension = _own("Suspension")
    Reinstatement = _own("Reinstatement")
    StorageAddition = _own("StorageAddition")
    StorageAllowance = _own("StorageAllowance")
    Placement = _own("Placement")
    # relations and attributes
    inNamespace = _own("inNamespace")
    stage = _own("stage")
    owner = _own("owner")
    fixated = _own("fixated")
    target = _own("target")
    valueOf = _own("valueOf")
    index = _own("index")
    valueType = _own("valueType")
    data = _own("data")
    ttl = _own("ttl")
    permissions = _own("permissions")
    grantee = _own("grantee")
    bindGrantee = _own("bindGrantee")
    quality = _own("quality")
    reason = _own("reason")
    about = _own("about")
    type = _own("type")
    offeredTo = _own("offeredTo")
    name = _own("name")
    party = _own("party")
    right = _own("right")
    internal = _own("internal")
    requestDigest = _own("requestDigest")
    scheme = _own("scheme")
    setting = _own("setting")
    labelType = _own("labelType")
    allocator = _own("allocator")
    frozen = _own("frozen")
    perMinute = _own("perMinute")
    suspended = _own("suspended")
    memberOf = _own("memberOf")
    partial = _own("partial")
    claimedBy = _own("claimedBy")
    below = _own("below")
    kind = _own("kind")
    within = _own("within")
    number = _own("number")
    path = _own("path")
    size = _own("size")
    closed = _own("closed")
    publisher = _own("publisher")
    placer = _own("placer")
    directoryLimit = _own("directoryLimit")
    fileSystemLimit = _own("fileSystemLimit")
    delivery = _own("delivery")
    # what a reconciliation finds
    Finding = _own("Finding")
    missingFrom = _own("missingFrom")
    # relations between what PUIDs identify, as far as no published term says them
    hasPriorityOver = _own("hasPriorityOver")
    hasLowerPriorityThan = _own("hasLowerPriorityThan")
    canContain = _own("canContain")
    canBeContainedIn = _own("canBeContainedIn")
    weakestLink = _own("weakestLink")


def _in(space: str, name: str) -> NamedNode:
    return NamedNode(space + name)


class RDF:
    Statement = _in("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "Statement")
    type = _in("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "type")
    subject = _in("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "subject")
    predicate = _in("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "predicate")
    object = _in("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "object")
    value = _in("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "value")


class RDFS:
    label = _in("http://www.w3.org/2000/01/rdf-schema#", "label")
    subClassOf = _in("http://www.w3.org/2000/01/rdf-schema#", "subClassOf")


class OWL:
    deprecated = _in("http://www.w3.org/2002/07/owl#", "deprecated")
    versionInfo = _in("http://www.w3.org/2002/07/owl#", "versionInfo")


class XSD:
    boolean = _in("http://www.w3.org/2001/XMLSchema#", "boolean")
    dateTime = _in("http://www.w3.org/2001/XMLSchema#", "dateTime")
    decimal = _in("http://www.w3.org/2001/XMLSchema#", "decimal")
    hexBinary = _in("http://www.w3.org/2001/XMLSchema#", "hexBinary")
    integer = _in("http://www.w3.org/2001/XMLSchema#", "integer")
    string = _in("http://www.w3.org/2001/XMLSchema#", "string")


class DCTERMS:
    created = _in("http://purl.org/dc/terms/", "created")
    isPartOf = _in("http://purl.org/dc/terms/", "isPartOf")
    isReplacedBy = _in("http://purl.org/dc/terms/", "isReplacedBy")
    issued = _in("http://purl.org/dc/terms/", "issued")
    license = _in("http://purl.org/dc/terms/", "license")
    modified = _in("http://purl.org/dc/terms/", "modified")
    source = _in("http://purl.org/dc/terms/", "source")
    subject = _in("http://purl.org/dc/terms/", "subject")
    title = _in("http://purl.org/dc/terms/", "title")
    type = _in("http://purl.org/dc/terms/", "type")
    isVersionOf = _in("http://purl.org/dc/terms/", "isVersionOf")


class PROV:
    wasAssociatedWith = _in("http://www.w3.org/ns/prov#", "wasAssociatedWith")
    endedAtTime = _in("http://www.w3.org/ns/prov#", "endedAtTime")


class SKOS:
    notation = _in("http://www.w3.org/2004/02/skos/core#", "notation")
    note = _in("http://www.w3.org/2004/02/skos/core#", "note")
    exactMatch = _in("http://www.w3.org/2004/02/skos/core#", "exactMatch")
    broader = _in("http://www.w3.org/2004/02/skos/core#", "broader")
    narrower = _in("http://www.w3.org/2004/02/skos/core#", "narrower")
    prefLabel = _in("http://www.w3.org/2004/02/skos/core#", "prefLabel")


class ADMS:
    next = _in("http://www.w3.org/ns/adms#", "next")
    prev = _in("http://www.w3.org/ns/adms#", "prev")


class VOID:
    Dataset = _in("http://rdfs.org/ns/void#", "Dataset")
    triples = _in("http://rdfs.org/ns/void#", "triples")
    distinctSubjects = _in("http://rdfs.org/ns/void#", "distinctSubjects")
    classes = _in("http://rdfs.org/ns/void#", "classes")
    vocabulary = _in("http://rdfs.org/ns/void#", "vocabulary")
    classPartition = _in("http://rdfs.org/ns/void#", "classPartition")
    of_class = _in("http://rdfs.org/ns/void#", "class")
    entities = _in("http://rdfs.org/ns/void#", "entities")


class DCAT:
    Dataset = _in("http://www.w3.org/ns/dcat#", "Dataset")


class SSSOM:
    confidence = _in("https://w3id.org/sssom/", "confidence")
    mapping_justification = _in("https://w3id.org/sssom/", "mapping_justification")


class PAV:
    authoredBy = _in("http://purl.org/pav/", "authoredBy")


PREFIXES: Final = {
    "adms": "http://www.w3.org/ns/adms#",
    "dcterms": "http://purl.org/dc/terms/",
    "ids": ONTOLOGY,
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes for queries and for Turtle."""

MAPPING_PREFIXES: Final = {
    **PREFIXES,
    "foaf": "http://xmlns.com/foaf/0.1/",
    "linkml": "https://w3id.org/linkml/",
    "orcid": "https://orcid.org/",
    "semapv": "https://w3id.org/semapv/vocab/",
    "sssom": "https://w3id.org/sssom/",
}
"""Prefixes that bindings and files of mappings may use undeclared."""

REGISTRY_GRAPH: Final = NamedNode(SPACE + "graph/registry")
"""Namespaces, parties' public facts, settings. Everyone sees it."""

STORAGE_GRAPH: Final = NamedNode(SPACE + "graph/storage")
"""File systems and publishers' directories. Everyone sees it."""

PUBLIC_LOG: Final = NamedNode(SPACE + "graph/log")
"""Events of fixated identifiers, of namespaces and of parties. Everyone sees it."""

CLAIMS: Final = NamedNode(SPACE + "graph/claims")
"""One triple for every label ever issued, never removed, and one for every request key. Nobody's query sees it."""

_ACCESS: Final = SPACE + "access/"
_CLOSED: Final = SPACE + "closed/"
_PARTY: Final = SPACE + "party/"


def store_name(origin: str) -> str:
    """The IRI that names a store, whose UUID is ``origin``."""
    return EVENTS + origin


def event_name(origin: str, token: int) -> str:
    """The IRI that names an event: the store where it happened, and its number there."""
    return f"{EVENTS}{origin}#{token:016x}"


def binding_name(origin: str, token: int) -> str:
    """The IRI that names what an event bound."""
    return f"{EVENTS}{origin}#b{token:016x}"


def party_iri(name: str) -> NamedNode:
    """The IRI of the party ``name``."""
    return NamedNode(_PARTY + quote(name, safe=""))


@lru_cache(maxsize=4096)
def party_name(iri: NamedNode) -> str:
    """The name of the party that ``iri`` stands for."""
    return unquote(iri.value.removeprefix(_PARTY))


def storage_iri(name: str) -> NamedNode:
    """The IRI of the storage of the collection ``name``; what is in it is named under it."""
    return NamedNode(f"{SPACE}storage/{name}")


@lru_cache(maxsize=4096)
def access_graph(parties: frozenset[str]) -> NamedNode:
    """The graph of created identifiers whose grant list is ``parties``. The list can be read off its name."""
    return NamedNode(_ACCESS + ",".join(quote(name, safe="") for name in sorted(parties)))


@lru_cache(maxsize=65536)
def access_list(graph: NamedNode) -> frozenset[str] | None:
    """The grant list of an access graph; None for any other graph."""
    if not graph.value.startswith(_ACCESS):
        return None
    return frozenset(unquote(name) for name in graph.value.removeprefix(_ACCESS).split(","))


@lru_cache(maxsize=4096)
def closed_graph(party: str) -> NamedNode:
    """The closed log's part about ``party``: seen by it and by administrators."""
    return NamedNode(_CLOSED + quote(party, safe=""))


def closed_party(graph: NamedNode) -> str | None:
    """The party whose closed log ``graph`` is; None for any other graph."""
    if not graph.value.startswith(_CLOSED):
        return None
    return unquote(graph.value.removeprefix(_CLOSED))


def hides(graph: object) -> bool:
    """Whether what is in a graph is not for everybody; a file without graphs does not tell."""
    return isinstance(graph, NamedNode) and (access_list(graph) is not None or closed_party(graph) is not None)
