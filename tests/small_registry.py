"""A small valid registry in Turtle, with every kind of record that a registry holds."""

import re
from collections.abc import Iterable

from pyoxigraph import Quad, RdfFormat, Store, parse

from idstore.vocabulary import MAPPING_PREFIXES

STORE = "urn:uuid:0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e#"
NAMES = MAPPING_PREFIXES | {
    "": "http://rdl.example.org/data#",
    "h": "https://hdl.handle.net/10.5555/",
    "v": "https://hdl.handle.net/10.5555/x#",
    "party": "https://w3id.org/idstore/party/",
    "storage": "https://w3id.org/idstore/storage/",
    "e": STORE + "00000000000000",
    "b": STORE + "b00000000000000",
}
"""Prefixes. ``e:01`` and ``b:07`` are names of events and of bindings."""

RECORDS = """
: a ids:Namespace ; ids:name "rdl" ; ids:scheme "rdswip" ; setting:digits 10 ; setting:max_run 2 ;
    ids:owner party:ada ;
    dcterms:created "2026-11-20T08:00:00Z"^^xsd:dateTime ; ids:allocator party:staff ; ids:perMinute 60 ;
    ids:frozen true ;
    ids:policy "never reused" ; ids:bindingPolicy "known" ;
    dcterms:license <https://creativecommons.org/publicdomain/zero/1.0/> ;
    ids:offeredTo party:bob ; ids:labelType :xt .
:xt a ids:LabelType ; skos:notation "xt" ; skos:prefLabel "type" ; ids:quality ids:Provisional .
h: a ids:Namespace ; ids:name "own" ; ids:scheme "handle" ; setting:case_sensitive false ;
    ids:owner party:bob ; ids:derivedFrom : ; dcterms:created "2026-11-20T08:00:00.001Z"^^xsd:dateTime ;
    dcterms:conformsTo <https://w3id.org/idstore/shapes#handle@h> .

party:ada a ids:Party , ids:Administrator ; ids:name "ada" .
party:bob a ids:Party , ids:User ; ids:name "bob" ; ids:memberOf party:staff ; ids:suspended "did harm" .
party:staff a ids:Party , ids:Group ; ids:name "staff" .

:R1 a ids:RdsWipIdentifier ; ids:inNamespace : ; skos:notation "R1" ; ids:stage ids:Created ;
    ids:owner party:ada ;
    dcterms:created "2026-11-20T09:00:00.5Z"^^xsd:dateTime ; rdfs:label "valve"@en, "Ventil"@de, "V" ;
    owl:versionInfo "3" ;
    ids:target <http://example.org/valve> ; ids:grantee party:bob ; ids:bindGrantee party:c%C3%A9cile ;
    ids:offeredTo party:dan ; skos:exactMatch <http://www.wikidata.org/entity/Q1> .
b:07 a ids:Binding ; rdf:subject :R1 ; rdf:predicate skos:exactMatch ;
    rdf:object <http://www.wikidata.org/entity/Q1> ;
    prov:wasAttributedTo party:ada ; prov:generatedAtTime "2026-11-20T09:00:02Z"^^xsd:dateTime ;
    skos:note "checked" .

:R2 a ids:RdsWipIdentifier ; ids:inNamespace : ; skos:notation "R2" ; ids:stage ids:Fixated ;
    ids:owner party:ada ;
    dcterms:created "2026-11-20T09:00:00Z"^^xsd:dateTime ; ids:fixated "2026-11-20T10:00:00Z"^^xsd:dateTime ;
    owl:deprecated true ; ids:reason "outdated" ; dcterms:isReplacedBy :R1 .
:R3 a ids:RdsWipIdentifier ; ids:inNamespace : ; skos:notation "R3" ; ids:stage ids:Tombstone ;
    ids:owner party:bob ;
    dcterms:created "2026-11-20T09:00:00Z"^^xsd:dateTime ; ids:fixated "2026-11-20T09:00:00Z"^^xsd:dateTime ;
    ids:reason "abuse" .
h:x a ids:Handle ; ids:inNamespace h: ; skos:notation "x" ; ids:stage ids:Fixated ; ids:owner party:bob ;
    ids:quality ids:Provisional ;
    dcterms:created "2026-11-20T09:00:00Z"^^xsd:dateTime ; ids:fixated "2026-11-20T09:00:00Z"^^xsd:dateTime ;
    ids:target <http://example.org/x> ; dcterms:isVersionOf :R3 ; owl:versionInfo "V1.0" .
v:1 a ids:HandleValue ; ids:valueOf h:x ; ids:index 1 ; ids:valueType "URL" ;
    ids:data "http://example.org/x" ; ids:ttl 86400 ;
    ids:permissions "1110" ; dcterms:modified "2026-11-20T09:00:00Z"^^xsd:dateTime .
v:300 a ids:HandleValue ; ids:valueOf h:x ; ids:index 300 ; ids:valueType "HS_PUBKEY" ;
    ids:data "07F3"^^xsd:hexBinary ; ids:ttl "2027-01-01T00:00:00Z"^^xsd:dateTime ; ids:permissions "1100" ;
    dcterms:modified "2026-11-20T09:00:00Z"^^xsd:dateTime .
:R4 a ids:RdsWipIdentifier ; ids:inNamespace : ; skos:notation "R4" ; ids:stage ids:Created ;
    ids:owner party:bob ;
    dcterms:created "2026-11-20T09:00:00Z"^^xsd:dateTime ; ids:below :R1 ; ids:kind "pdf" .

storage:ejournals a ids:Storage ; ids:name "ejournals" ; ids:path "/mnt/pillar/" ;
    ids:directoryLimit 200000000000 ; ids:fileSystemLimit 2000000000000 ; ids:placer party:staff .
<https://w3id.org/idstore/storage/ejournals/1> a ids:FileSystem ; ids:within storage:ejournals ;
    ids:number 1 ; ids:path "/mnt/pillar/ejournals1/" ; ids:size 5 ; ids:closed true .
<https://w3id.org/idstore/storage/ejournals/1/wiley/1> a ids:Directory ;
    ids:within <https://w3id.org/idstore/storage/ejournals/1> ;
    ids:publisher "wiley" ; ids:number 1 ; ids:path "/mnt/pillar/ejournals1/wiley1/" ; ids:size 5 ;
    ids:closed true .
"""

_BY = 'prov:wasAssociatedWith party:ada ; prov:endedAtTime "2026-11-20T11:00:00Z"^^xsd:dateTime'
_ACTS = """
Initialization ; ids:about <urn:uuid:0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e> ; ids:party party:ada
NamespaceAddition ; ids:about : ; ids:withName "rdl" ; ids:withScheme "rdswip" ; with-setting:digits 10 ;
    with-setting:max_run 2
NamespaceAllowance ; ids:about : ; ids:party party:staff ; ids:withPerMinute 60
NamespaceFreeze ; ids:about : ; ids:withFrozen true
Import ; ids:about h: ; ids:withNote "a file"
Registration ; ids:about h:x ; ids:withNamespace h: ; ids:withLabel "x" ; ids:type ids:Handle ;
    ids:withStage ids:Fixated ; ids:withQuality ids:Provisional ; dcterms:isPartOf e:05
Bind ; ids:about :R1 ; ids:withRelation skos:exactMatch ; ids:withObject <http://www.wikidata.org/entity/Q1> ;
    ids:withNote "checked"
Mint ; ids:about :R1 ; ids:withNamespace : ; ids:withLabel "R1" ; ids:type ids:RdsWipIdentifier ;
    ids:withName "valve"@en ; ids:withTarget <http://example.org/valve> ; ids:withComment "draft" ;
    ids:requestDigest "key:0a"
Naming ; ids:about :R1 ; ids:withName "V" ; ids:withVersion ""
Targeting ; ids:about :R1 ; ids:withTarget <http://example.org/valve> ; ids:forced true
Unbind ; ids:about :R1 ; ids:withRelation skos:exactMatch ; ids:withObject <http://example.org/other>
Comment ; ids:about :R1 ; ids:withComment "is this right?" ; ids:internal true
Grant ; ids:about :R1 ; ids:party party:c%C3%A9cile ; ids:right ids:MayBind
Ungrant ; ids:about :R1 ; ids:party party:eve
Fixation ; ids:about :R2
Deprecation ; ids:about :R2 ; ids:withReason "outdated"
Supersession ; ids:about :R2 ; ids:withSuccessor :R1
Replacement ; ids:about :R2
Revocation ; ids:about party:bob ; ids:withReason "abuse"
Revocation ; ids:about :R3 ; ids:withReason "abuse" ; dcterms:isPartOf e:13
Transfer ; ids:about : ; ids:party party:bob
Transfer ; ids:about :R1 ; ids:party party:dan
PartyAddition ; ids:about party:bob ; ids:type ids:User
Joining ; ids:about party:bob ; ids:party party:staff
Leaving ; ids:about party:bob ; ids:party party:guests
Suspension ; ids:about party:bob ; ids:withReason "did harm"
Reinstatement ; ids:about party:bob
Mint ; ids:about :R8 ; ids:withNamespace : ; ids:withLabel "R8" ; ids:type ids:RdsWipIdentifier
Release ; ids:about :R8
Mint ; ids:about :R9 ; ids:withNamespace : ; ids:withLabel "R9" ; ids:type ids:RdsWipIdentifier
Revocation ; ids:about :R9 ; ids:withReason "abuse"
Registration ; ids:about :R2 ; ids:withNamespace : ; ids:withLabel "R2" ; ids:type ids:RdsWipIdentifier
Registration ; ids:about :R3 ; ids:withNamespace : ; ids:withLabel "R3" ; ids:type ids:RdsWipIdentifier
Versioning ; ids:about h:x ; ids:withWork :R3 ; ids:withVersion "V1.0"
Vetting ; ids:about :R1 ; ids:withNote "compared with the paper"
ValueSetting ; ids:about h:x ; ids:withIndex 300 ; ids:withValueType "HS_PUBKEY" ;
    ids:withData "07F3"^^xsd:hexBinary ;
    ids:withTtl "2027-01-01T00:00:00Z"^^xsd:dateTime ; ids:withPermissions "1100"
ValueUnsetting ; ids:about h:x ; ids:withIndex 5 ; ids:withPermissions "1110"
Targeting ; ids:about h:x ; ids:withTarget <http://example.org/x> ; ids:withIndex 1
Mint ; ids:about :R4 ; ids:withNamespace : ; ids:withLabel "R4" ; ids:type ids:RdsWipIdentifier ;
    ids:withParent :R1 ; ids:withKind "pdf" ;
    ids:withOwner party:bob ; ids:withGrantee party:ada ; ids:withBindGrantee party:dan ;
    ids:withSuccessor :R2
StorageAddition ; ids:about storage:ejournals ; ids:withName "ejournals" ; ids:withPath "/mnt/pillar/" ;
    ids:withDirectoryLimit 200000000000 ; ids:withFileSystemLimit 2000000000000
StorageAllowance ; ids:about storage:ejournals ; ids:party party:staff
Placement ; ids:about storage:ejournals ;
    ids:withDirectory <https://w3id.org/idstore/storage/ejournals/1/wiley/1> ; ids:withPublisher "wiley" ;
    ids:withSize 5 ; ids:delivery "batch 7"
TypeAddition ; ids:about : ; ids:withLabel "lan" ; ids:withName "programming language"
NamespaceChange ; ids:about : ; with-setting:licence "https://creativecommons.org/publicdomain/zero/1.0/" ;
    with-setting:policy "" ; with-setting:bind "known"
Bind ; ids:about :R2 ; ids:withRelation ids:hasPriorityOver ; ids:withObject :R1 ; ids:withConfidence 0.5 ;
    ids:withJustification semapv:ManualMappingCuration ; ids:withAuthor "Ada"
Undeprecation ; ids:about :R2 ; ids:withSuccessor :R3
"""
_EACH = re.split(r"\n(?! )", _ACTS.strip())
EVENTS = "\n".join(f"e:{number:02x} {_BY} ; a ids:{act} ." for number, act in enumerate(_EACH, start=1))


def turtle(text: str) -> list[Quad]:
    """Return the triples of a Turtle text that omits the prefixes."""
    head = "".join(f"@prefix {prefix}: <{space}> .\n" for prefix, space in NAMES.items())
    return list(parse(head + text, RdfFormat.TURTLE))


def sound() -> list[Quad]:
    """Return the whole registry, without graphs."""
    return turtle(RECORDS + EVENTS)


def changed(update: str, quads: Iterable[Quad] = ()) -> list[Quad]:
    """Return the registry (or these quads) after a SPARQL update."""
    store = Store()
    store.extend(quads or sound())
    store.update(update, prefixes=NAMES)
    return list(store)
