"""The IRIs that idstore writes and reads: terms of its own ontology, standard terms, and names of graphs.

The ontology (``ontology/idstore.ttl`` and the modules beside it) describes exactly the terms of its own here;
a test compares the two.
"""

from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote

from pyoxigraph import NamedNode

ONTOLOGY: Final = "https://w3id.org/idstore/ontology#"
"""Namespace of the ontology, prefix ``ids``."""

SPACE: Final = "https://w3id.org/idstore/"
"""Prefix of the names of parties and internal graphs."""


_SETTING: Final = SPACE + "setting#"
_WITH_SETTING: Final = SPACE + "with-setting#"
OWN_SPACES: Final = (ONTOLOGY, _SETTING, _WITH_SETTING)
"""Namespaces of the terms that idstore defines."""


def setting_term(key: str) -> NamedNode:
    """Return the property that states a setting of a namespace."""
    return NamedNode(_SETTING + key)


def setting_key(term: NamedNode) -> str | None:
    """Return the name of the setting that a property states; None for another property."""
    return term.value.removeprefix(_SETTING) if term.value.startswith(_SETTING) else None


EVENTS: Final = "urn:uuid:"
"""Prefix of the names of stores, events and bindings, followed by the store of origin and a number."""


def _own(name: str) -> NamedNode:
    return NamedNode(ONTOLOGY + name)


class IDS:
    """Terms of the idstore ontology."""

    # entities
    Context = _own("Context")
    Association = _own("Association")
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
    # actions: kinds of events
    Event = _own("Event")
    Initialization = _own("Initialization")
    Import = _own("Import")
    NamespaceAddition = _own("NamespaceAddition")
    NamespaceAllowance = _own("NamespaceAllowance")
    NamespaceFreeze = _own("NamespaceFreeze")
    NamespaceChange = _own("NamespaceChange")
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
    Undeprecation = _own("Undeprecation")
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
    Redaction = _own("Redaction")
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
    forced = _own("forced")
    scheme = _own("scheme")
    policy = _own("policy")
    bindingPolicy = _own("bindingPolicy")
    labelType = _own("labelType")
    allocator = _own("allocator")
    frozen = _own("frozen")
    perMinute = _own("perMinute")
    suspended = _own("suspended")
    memberOf = _own("memberOf")
    partial = _own("partial")
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
    derivedFrom = _own("derivedFrom")
    delivery = _own("delivery")
    # arguments of events
    withNamespace = _own("withNamespace")
    withLabel = _own("withLabel")
    withStage = _own("withStage")
    withQuality = _own("withQuality")
    withName = _own("withName")
    withTarget = _own("withTarget")
    withComment = _own("withComment")
    withParent = _own("withParent")
    withKind = _own("withKind")
    withOwner = _own("withOwner")
    withGrantee = _own("withGrantee")
    withBindGrantee = _own("withBindGrantee")
    withSuccessor = _own("withSuccessor")
    withWork = _own("withWork")
    withVersion = _own("withVersion")
    withIndex = _own("withIndex")
    withValueType = _own("withValueType")
    withData = _own("withData")
    withTtl = _own("withTtl")
    withPermissions = _own("withPermissions")
    withRelation = _own("withRelation")
    withObject = _own("withObject")
    withNote = _own("withNote")
    withConfidence = _own("withConfidence")
    withJustification = _own("withJustification")
    withAuthor = _own("withAuthor")
    withReason = _own("withReason")
    withScheme = _own("withScheme")
    withFrozen = _own("withFrozen")
    withPerMinute = _own("withPerMinute")
    withPath = _own("withPath")
    withDirectoryLimit = _own("withDirectoryLimit")
    withFileSystemLimit = _own("withFileSystemLimit")
    withDirectory = _own("withDirectory")
    withPublisher = _own("withPublisher")
    withSize = _own("withSize")
    # findings of a reconciliation
    Finding = _own("Finding")
    missingFrom = _own("missingFrom")
    # relations between the subjects of PUIDs that no published term expresses
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
    first = _in("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "first")
    rest = _in("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rest")
    nil = _in("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "nil")


class RDFS:
    label = _in("http://www.w3.org/2000/01/rdf-schema#", "label")
    subClassOf = _in("http://www.w3.org/2000/01/rdf-schema#", "subClassOf")


class OWL:
    deprecated = _in("http://www.w3.org/2002/07/owl#", "deprecated")
    versionInfo = _in("http://www.w3.org/2002/07/owl#", "versionInfo")
    sameAs = _in("http://www.w3.org/2002/07/owl#", "sameAs")


class XSD:
    date = _in("http://www.w3.org/2001/XMLSchema#", "date")
    anyURI = _in("http://www.w3.org/2001/XMLSchema#", "anyURI")
    boolean = _in("http://www.w3.org/2001/XMLSchema#", "boolean")
    dateTime = _in("http://www.w3.org/2001/XMLSchema#", "dateTime")
    decimal = _in("http://www.w3.org/2001/XMLSchema#", "decimal")
    hexBinary = _in("http://www.w3.org/2001/XMLSchema#", "hexBinary")
    integer = _in("http://www.w3.org/2001/XMLSchema#", "integer")
    string = _in("http://www.w3.org/2001/XMLSchema#", "string")


class DCTERMS:
    conformsTo = _in("http://purl.org/dc/terms/", "conformsTo")
    created = _in("http://purl.org/dc/terms/", "created")
    isPartOf = _in("http://purl.org/dc/terms/", "isPartOf")
    isReplacedBy = _in("http://purl.org/dc/terms/", "isReplacedBy")
    issued = _in("http://purl.org/dc/terms/", "issued")
    license = _in("http://purl.org/dc/terms/", "license")
    description = _in("http://purl.org/dc/terms/", "description")
    publisher = _in("http://purl.org/dc/terms/", "publisher")
    modified = _in("http://purl.org/dc/terms/", "modified")
    source = _in("http://purl.org/dc/terms/", "source")
    subject = _in("http://purl.org/dc/terms/", "subject")
    title = _in("http://purl.org/dc/terms/", "title")
    type = _in("http://purl.org/dc/terms/", "type")
    isVersionOf = _in("http://purl.org/dc/terms/", "isVersionOf")


class PROV:
    wasAttributedTo = _in("http://www.w3.org/ns/prov#", "wasAttributedTo")
    generatedAtTime = _in("http://www.w3.org/ns/prov#", "generatedAtTime")
    wasAssociatedWith = _in("http://www.w3.org/ns/prov#", "wasAssociatedWith")
    endedAtTime = _in("http://www.w3.org/ns/prov#", "endedAtTime")
    wasGeneratedBy = _in("http://www.w3.org/ns/prov#", "wasGeneratedBy")


class SKOS:
    notation = _in("http://www.w3.org/2004/02/skos/core#", "notation")
    note = _in("http://www.w3.org/2004/02/skos/core#", "note")
    closeMatch = _in("http://www.w3.org/2004/02/skos/core#", "closeMatch")
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
    subset = _in("http://rdfs.org/ns/void#", "subset")
    uriSpace = _in("http://rdfs.org/ns/void#", "uriSpace")
    sparqlEndpoint = _in("http://rdfs.org/ns/void#", "sparqlEndpoint")
    dataDump = _in("http://rdfs.org/ns/void#", "dataDump")
    uriLookupEndpoint = _in("http://rdfs.org/ns/void#", "uriLookupEndpoint")


class DCAT:
    Dataset = _in("http://www.w3.org/ns/dcat#", "Dataset")
    Distribution = _in("http://www.w3.org/ns/dcat#", "Distribution")
    DataService = _in("http://www.w3.org/ns/dcat#", "DataService")
    distribution = _in("http://www.w3.org/ns/dcat#", "distribution")
    downloadURL = _in("http://www.w3.org/ns/dcat#", "downloadURL")
    mediaType = _in("http://www.w3.org/ns/dcat#", "mediaType")
    accessURL = _in("http://www.w3.org/ns/dcat#", "accessURL")
    accessService = _in("http://www.w3.org/ns/dcat#", "accessService")
    endpointURL = _in("http://www.w3.org/ns/dcat#", "endpointURL")
    servesDataset = _in("http://www.w3.org/ns/dcat#", "servesDataset")
    contactPoint = _in("http://www.w3.org/ns/dcat#", "contactPoint")


class SSSOM:
    confidence = _in("https://w3id.org/sssom/", "confidence")
    mapping_justification = _in("https://w3id.org/sssom/", "mapping_justification")


class PAV:
    authoredBy = _in("http://purl.org/pav/", "authoredBy")


ARGUMENTS: Final = {
    IDS.inNamespace: IDS.withNamespace,
    SKOS.notation: IDS.withLabel,
    IDS.stage: IDS.withStage,
    IDS.quality: IDS.withQuality,
    IDS.name: IDS.withName,
    IDS.target: IDS.withTarget,
    RDF.value: IDS.withComment,
    IDS.below: IDS.withParent,
    IDS.kind: IDS.withKind,
    IDS.owner: IDS.withOwner,
    IDS.grantee: IDS.withGrantee,
    IDS.bindGrantee: IDS.withBindGrantee,
    DCTERMS.isReplacedBy: IDS.withSuccessor,
    DCTERMS.isVersionOf: IDS.withWork,
    OWL.versionInfo: IDS.withVersion,
    IDS.index: IDS.withIndex,
    IDS.valueType: IDS.withValueType,
    IDS.data: IDS.withData,
    IDS.ttl: IDS.withTtl,
    IDS.permissions: IDS.withPermissions,
    RDF.predicate: IDS.withRelation,
    RDF.object: IDS.withObject,
    SKOS.note: IDS.withNote,
    SSSOM.confidence: IDS.withConfidence,
    SSSOM.mapping_justification: IDS.withJustification,
    PAV.authoredBy: IDS.withAuthor,
    IDS.reason: IDS.withReason,
    IDS.scheme: IDS.withScheme,
    IDS.frozen: IDS.withFrozen,
    IDS.perMinute: IDS.withPerMinute,
    IDS.path: IDS.withPath,
    IDS.directoryLimit: IDS.withDirectoryLimit,
    IDS.fileSystemLimit: IDS.withFileSystemLimit,
    IDS.within: IDS.withDirectory,
    IDS.publisher: IDS.withPublisher,
    IDS.size: IDS.withSize,
}
"""Properties of records, each with the term that states it as the argument of an event.

No query about records meets events, because the triples of an event use the terms of arguments.
"""

_PROPERTIES: Final = {term: predicate for predicate, term in ARGUMENTS.items()}


@lru_cache(maxsize=1024)
def argument_term(predicate: NamedNode) -> NamedNode:
    """Return the term for an argument that sets the property; another term is its own argument."""
    key = setting_key(predicate)
    return ARGUMENTS.get(predicate, predicate) if key is None else NamedNode(_WITH_SETTING + key)


@lru_cache(maxsize=1024)
def argument_property(term: NamedNode) -> NamedNode:
    """Return the property that an argument with the term sets: the inverse of `argument_term`."""
    if term.value.startswith(_WITH_SETTING):
        return setting_term(term.value.removeprefix(_WITH_SETTING))
    return _PROPERTIES.get(term, term)


PREFIXES: Final = {
    "adms": "http://www.w3.org/ns/adms#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "ids": ONTOLOGY,
    "owl": "http://www.w3.org/2002/07/owl#",
    "pav": "http://purl.org/pav/",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "semapv": "https://w3id.org/semapv/vocab/",
    "setting": _SETTING,
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sssom": "https://w3id.org/sssom/",
    "with-setting": _WITH_SETTING,
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes of the terms that idstore writes, for Turtle."""

SHARED_SPACES: Final = tuple(space for space in PREFIXES.values() if space not in OWN_SPACES)
"""Namespaces of the terms that idstore takes from vocabularies of others."""

MAPPING_PREFIXES: Final = {
    **PREFIXES,
    "foaf": "http://xmlns.com/foaf/0.1/",
    "linkml": "https://w3id.org/linkml/",
    "orcid": "https://orcid.org/",
}
"""Prefixes that bindings, mapping files and queries may use undeclared."""

REGISTRY_GRAPH: Final = NamedNode(SPACE + "graph/registry")
"""Graph of namespaces, parties' public facts and settings. Everyone sees it."""

STORAGE_GRAPH: Final = NamedNode(SPACE + "graph/storage")
"""Graph of file systems and publishers' directories. Everyone sees it."""

PUBLIC_LOG: Final = NamedNode(SPACE + "graph/log")
"""Graph of the events of fixated identifiers, of namespaces and of parties. Everyone sees it."""

_ACCESS: Final = SPACE + "access/"
_CLOSED: Final = SPACE + "closed/"
_PARTY: Final = SPACE + "party/"


def store_name(origin: str) -> str:
    """Return the IRI of the store with the UUID ``origin``."""
    return EVENTS + origin


def event_name(origin: str, token: int) -> str:
    """Return the IRI of an event: the store of origin and the event's token."""
    return f"{EVENTS}{origin}#{token:016x}"


def binding_name(origin: str, token: int) -> str:
    """Return the IRI of the binding that an event made."""
    return f"{EVENTS}{origin}#b{token:016x}"


def party_iri(name: str) -> NamedNode:
    """Return the IRI of the party ``name``."""
    return NamedNode(_PARTY + quote(name, safe=""))


@lru_cache(maxsize=4096)
def party_name(iri: NamedNode) -> str:
    """Return the name of the party with the IRI ``iri``."""
    return unquote(iri.value.removeprefix(_PARTY))


def storage_iri(name: str) -> NamedNode:
    """Return the IRI of the storage of the collection ``name``, the prefix of its contents' IRIs."""
    return NamedNode(f"{SPACE}storage/{name}")


@lru_cache(maxsize=4096)
def access_graph(parties: frozenset[str]) -> NamedNode:
    """Return the graph of created identifiers with the grant list ``parties``, which its name contains."""
    return NamedNode(_ACCESS + ",".join(quote(name, safe="") for name in sorted(parties)))


@lru_cache(maxsize=65536)
def access_list(graph: NamedNode) -> frozenset[str] | None:
    """Return the grant list of an access graph, None for any other graph."""
    if not graph.value.startswith(_ACCESS):
        return None
    return frozenset(unquote(name) for name in graph.value.removeprefix(_ACCESS).split(","))


@lru_cache(maxsize=4096)
def closed_graph(party: str) -> NamedNode:
    """Return the graph of the closed log about ``party``, seen by the party and by administrators."""
    return NamedNode(_CLOSED + quote(party, safe=""))


def closed_party(graph: NamedNode) -> str | None:
    """Return the party of a closed-log graph, None for any other graph."""
    if not graph.value.startswith(_CLOSED):
        return None
    return unquote(graph.value.removeprefix(_CLOSED))


def renamed_graph(graph: NamedNode, old: str, new: str) -> NamedNode:
    """Return the graph of created identifiers or of the closed log, with another name of one party."""
    parties = access_list(graph)
    if parties is not None and old in parties:
        return access_graph(parties - {old} | {new})
    return closed_graph(new) if closed_party(graph) == old else graph


def hides(graph: object) -> bool:
    """Whether a graph is visible to some parties only.

    False for the default graph, whose visibility is unknown.
    """
    return isinstance(graph, NamedNode) and (
        access_list(graph) is not None or closed_party(graph) is not None
    )
