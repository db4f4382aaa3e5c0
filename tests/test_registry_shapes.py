"""The shapes of a registry: valid data conform, and each single fault is found by its rule alone."""

from io import BytesIO

import pytest
from pyoxigraph import NamedNode
from small_registry import changed, sound

from idstore.resources import folder
from idstore.schemes import installed
from idstore.validation import compiler, pyshacl_engine, shapes, standalone, validate
from idstore.validation.graph import SH, Graph
from idstore.validation.reader import TARGETS
from idstore.validation.report import ValidationReport, report
from idstore.vocabulary import RDF

SPACE = "https://w3id.org/idstore/shapes#"
SHAPES = shapes.load("registry")
STANDALONE = standalone.standalone(SHAPES)

SETTINGS = {
    key for scheme in installed().values() for key in scheme.defaults if scheme.name in shapes.names()
}
PUT = "INSERT DATA {{ {} }}"
CUT = "DELETE WHERE {{ {} }}"

FS = "<https://w3id.org/idstore/storage/ejournals/1>"
DIR = "<https://w3id.org/idstore/storage/ejournals/1/wiley/1>"

_OWNED = 'ids:owner party:ada ; dcterms:created "2026-11-20T09:00:00Z"^^xsd:dateTime'

DAMAGE = [
    (
        "Record",
        PUT.format(
            f'_:b a ids:Puid ; ids:inNamespace : ; skos:notation "R4" ; ids:stage ids:Created ; {_OWNED}'
        ),
    ),
    ("Record-class", PUT.format(":R1 a ids:Puid")),
    ("Record-namespace", CUT.format(":R1 ids:inNamespace ?x")),
    ("Record-namespace", PUT.format(":R1 ids:inNamespace h:")),
    (
        "Record-namespace",
        "DELETE DATA { :R1 ids:inNamespace : } ; INSERT DATA { :R1 ids:inNamespace <urn:no:such> }",
    ),
    ("Record-label", CUT.format(":R1 skos:notation ?x")),
    ("Record-label", PUT.format(':R1 skos:notation "R11"')),
    ("Record-label", 'DELETE DATA { :R1 skos:notation "R1" } ; INSERT DATA { :R1 skos:notation "R1"@en }'),
    ("Record-label", 'DELETE DATA { :R1 skos:notation "R1" } ; INSERT DATA { :R1 skos:notation "" }'),
    ("Record-stage", CUT.format(":R3 ids:stage ?x")),
    ("Record-stage", PUT.format(":R2 ids:stage ids:Tombstone")),
    ("Record-stage", "DELETE DATA { :R2 ids:stage ids:Fixated } ; INSERT DATA { :R2 ids:stage ids:Frozen }"),
    ("Record-owner", CUT.format(":R1 ids:owner ?x")),
    ("Record-owner", PUT.format(":R1 ids:owner party:bob")),
    (
        "Record-owner",
        'DELETE WHERE { :R1 ids:owner ?x } ; INSERT DATA { :R1 ids:owner "ada" }',
        "ActingParty",
    ),
    (
        "Record-owner",
        (
            "DELETE WHERE { :R1 ids:owner ?x } ;"
            " INSERT DATA { :R1 ids:owner <https://w3id.org/idstore/party/a/b> }"
        ),
        "ActingParty",
    ),
    ("Record-created", CUT.format(":R1 dcterms:created ?x")),
    ("Record-created", PUT.format(':R1 dcterms:created "2026-11-20T09:00:01Z"^^xsd:dateTime')),
    (
        "Record-created",
        (
            "DELETE WHERE { :R1 dcterms:created ?x } ;"
            ' INSERT DATA { :R1 dcterms:created "2026-11-20"^^xsd:date }'
        ),
    ),
    (
        "Record-created",
        (
            "DELETE WHERE { :R1 dcterms:created ?x } ;"
            ' INSERT DATA { :R1 dcterms:created "2026-11-20T09:00:00+01:00"^^xsd:dateTime }'
        ),
    ),
    (
        "Record-created",
        (
            "DELETE WHERE { :R1 dcterms:created ?x } ;"
            ' INSERT DATA { :R1 dcterms:created "2026-11-20T09:00:00"^^xsd:dateTime }'
        ),
    ),
    (
        "Record-created",
        (
            "DELETE WHERE { :R1 dcterms:created ?x } ;"
            ' INSERT DATA { :R1 dcterms:created "2026-11-20T09:00:00.0001Z"^^xsd:dateTime }'
        ),
    ),
    (
        "Record-created",
        (
            "DELETE WHERE { :R2 dcterms:created ?x } ;"
            ' INSERT DATA { :R2 dcterms:created "2026-11-20T10:00:01Z"^^xsd:dateTime }'
        ),
    ),
    ("Record-fixated", PUT.format(':R2 ids:fixated "2026-11-20T10:00:01Z"^^xsd:dateTime')),
    (
        "Record-fixated",
        (
            "DELETE WHERE { :R3 ids:fixated ?x } ;"
            ' INSERT DATA { :R3 ids:fixated "2026-11-20T10:00:00-05:00"^^xsd:dateTime }'
        ),
    ),
    ("Record-name", PUT.format(':R1 rdfs:label "tap"@EN')),
    ("Record-name", PUT.format(':R1 rdfs:label "  "@fr')),
    ("Record-name", PUT.format(":R2 rdfs:label 5")),
    ("Record-plainName", PUT.format(':R1 rdfs:label "W"')),
    ("Record-version", PUT.format(':R1 owl:versionInfo "4"')),
    ("Record-version", PUT.format(':R2 owl:versionInfo ""')),
    ("Record-target", PUT.format(":R1 ids:target <http://example.org/other>")),
    ("Record-target", PUT.format(':R2 ids:target "http://example.org/"')),
    ("Record-grantee", PUT.format(":R1 ids:grantee <http://example.org/bob>")),
    ("Record-bindGrantee", PUT.format(":R1 ids:bindGrantee party:bob")),
    ("Record-bindGrantee", PUT.format(":R1 ids:bindGrantee <http://example.org/eve>")),
    ("Record-offeredTo", PUT.format(":R1 ids:offeredTo party:eve")),
    ("Record-quality", PUT.format(":R1 ids:quality ids:Persistent")),
    ("Record-deprecated", PUT.format(":R1 owl:deprecated false")),
    ("Record-deprecated", PUT.format(":R2 owl:deprecated false")),
    ("Record-reason", PUT.format(':R2 ids:reason "another"')),
    ("Record-reason", PUT.format(':R1 ids:reason "Grund"@de')),
    ("Record-successor", PUT.format(':R2 dcterms:isReplacedBy "R1"')),
    ("FixationDate", CUT.format(":R2 ids:fixated ?x")),
    ("FixationDate", CUT.format(":R3 ids:fixated ?x")),
    ("NoFixationDate", PUT.format(':R1 ids:fixated "2026-11-20T10:00:00Z"^^xsd:dateTime')),
    ("TombstoneReason", CUT.format(":R3 ids:reason ?x")),
    ("SuccessorOfOutdated", CUT.format(":R2 owl:deprecated ?x")),
    ("Classified", CUT.format(":R2 a ?x")),
    ("Classified", "DELETE DATA { h:x a ids:Handle } ; INSERT DATA { h:x a h: }", "HandleValue-of"),
    ("Binding", "DELETE { ?s ?p ?o } INSERT { <urn:x> ?p ?o } WHERE { VALUES ?s { b:07 } ?s ?p ?o }"),
    ("Binding-class", PUT.format("b:07 a rdf:Statement")),
    ("Binding-subject", CUT.format("b:07 rdf:subject ?x")),
    ("Binding-subject", PUT.format("b:07 rdf:subject :R2")),
    ("Binding-subject", "DELETE WHERE { b:07 rdf:subject ?x } ; INSERT DATA { b:07 rdf:subject :R8 }"),
    ("Binding-predicate", CUT.format("b:07 rdf:predicate ?x")),
    (
        "Binding-predicate",
        "DELETE WHERE { b:07 rdf:predicate ?x } ; INSERT DATA { b:07 rdf:predicate ids:owner }",
    ),
    (
        "Binding-predicate",
        "DELETE WHERE { b:07 rdf:predicate ?x } ; INSERT DATA { b:07 rdf:predicate rdfs:label }",
    ),
    ("Binding-object", CUT.format("b:07 rdf:object ?x")),
    ("Binding-object", "DELETE WHERE { b:07 rdf:object ?x } ; INSERT DATA { b:07 rdf:object 1 }"),
    ("Binding-by", CUT.format("b:07 prov:wasAttributedTo ?x")),
    ("Binding-by", PUT.format("b:07 prov:wasAttributedTo party:bob")),
    ("Binding-at", CUT.format("b:07 prov:generatedAtTime ?x")),
    ("Binding-note", PUT.format('b:07 skos:note "again"')),
    ("Binding-confidence", PUT.format("b:07 sssom:confidence 1.5")),
    ("Relating-confidence", PUT.format("e:07 ids:withConfidence -0.5")),
    ("Relating-justification", PUT.format("e:07 ids:withJustification :a , :b")),
    ("Binding-confidence", PUT.format("b:07 <https://w3id.org/sssom/confidence> 0.5, 0.6")),
    ("Binding-confidence", PUT.format("b:07 <https://w3id.org/sssom/confidence> -0.5")),
    ("Binding-justification", PUT.format('b:07 <https://w3id.org/sssom/mapping_justification> "found"')),
    (
        "Binding-author",
        PUT.format('b:07 <http://purl.org/pav/authoredBy> "Ada", <https://orcid.org/0000-0002-1825-0097>'),
    ),
    ("Binding-author", PUT.format('b:07 <http://purl.org/pav/authoredBy> " "')),
    ("KnownBinding", CUT.format("b:07 a ?x")),
    ("HandleValue", "DELETE { ?s ?p ?o } INSERT { <urn:x> ?p ?o } WHERE { VALUES ?s { v:1 } ?s ?p ?o }"),
    ("HandleValue-class", CUT.format("v:1 a ?x")),
    (
        "HandleValue-class",
        PUT.format("v:1 a ids:Binding"),
        "Binding",
        *(f"Binding-{part}" for part in ("subject", "predicate", "object", "by", "at", "class")),
    ),
    ("HandleValue-of", CUT.format("v:1 ids:valueOf ?x")),
    ("HandleValue-of", "DELETE WHERE { v:1 ids:valueOf ?x } ; INSERT DATA { v:1 ids:valueOf party:ada }"),
    ("HandleValue-index", PUT.format("v:1 ids:index 2")),
    ("HandleValue-index", "DELETE WHERE { v:1 ids:index ?x } ; INSERT DATA { v:1 ids:index 0 }"),
    ("HandleValue-index", "DELETE WHERE { v:1 ids:index ?x } ; INSERT DATA { v:1 ids:index 2147483648 }"),
    ("HandleValue-type", CUT.format("v:1 ids:valueType ?x")),
    (
        "HandleValue-type",
        "DELETE WHERE { v:1 ids:valueType ?x } ; INSERT DATA { v:1 ids:valueType 'two words' }",
    ),
    ("HandleValue-data", PUT.format("v:1 ids:data 'more'")),
    (
        "HandleValue-data",
        "DELETE WHERE { v:1 ids:data ?x } ; INSERT DATA { v:1 ids:data <http://example.org/x> }",
    ),
    (
        "HandleValue-data",
        "DELETE WHERE { v:300 ids:data ?x } ; INSERT DATA { v:300 ids:data '7F3'^^xsd:hexBinary }",
    ),
    ("HandleValue-ttl", CUT.format("v:1 ids:ttl ?x")),
    ("HandleValue-ttl", "DELETE WHERE { v:1 ids:ttl ?x } ; INSERT DATA { v:1 ids:ttl -1 }"),
    (
        "HandleValue-ttl",
        "DELETE WHERE { v:300 ids:ttl ?x } ; INSERT DATA { v:300 ids:ttl '2027-01-01'^^xsd:date }",
    ),
    (
        "HandleValue-permissions",
        "DELETE WHERE { v:1 ids:permissions ?x } ; INSERT DATA { v:1 ids:permissions '111' }",
    ),
    ("HandleValue-modified", CUT.format("v:1 dcterms:modified ?x")),
    ("Namespace", PUT.format(f'_:b a ids:Namespace ; ids:name "n" ; ids:scheme "puid" ; {_OWNED}')),
    ("Namespace-name", CUT.format("h: ids:name ?x")),
    ("Namespace-name", "DELETE WHERE { h: ids:name ?x } ; INSERT DATA { h: ids:name '-h' }"),
    ("Namespace-unique", "DELETE WHERE { h: ids:name ?x } ; INSERT DATA { h: ids:name 'rdl' }"),
    ("Namespace-scheme", CUT.format(": ids:scheme ?x")),
    ("Namespace-scheme", "DELETE WHERE { : ids:scheme ?x } ; INSERT DATA { : ids:scheme 'RdsWip' }"),
    ("Setting-digits", PUT.format(": setting:digits 11")),
    ("Setting-refuse_patterns", PUT.format(": setting:refuse_patterns 'no'")),
    *(
        (f"Setting-{key}", PUT.format(f": setting:{key} 'a', 'b'"))
        for key in sorted(SETTINGS - {"digits", "refuse_patterns"})
    ),
    ("Namespace-description", PUT.format(": dcterms:description 'valves'@en")),
    ("Namespace-contact", PUT.format(": <http://www.w3.org/ns/dcat#contactPoint> 'ada'")),
    ("Namespace-policy", PUT.format(": ids:policy 'always reused'")),
    ("Namespace-bindingPolicy", PUT.format(": ids:bindingPolicy 'everybody'")),
    ("Namespace-licence", PUT.format(": dcterms:license 'free'")),
    ("Namespace-publisher", PUT.format(": dcterms:publisher 'ada', 'bob'")),
    ("Namespace-type", CUT.format(":xt a ids:LabelType")),
    ("Namespace-owner", CUT.format(": ids:owner ?x")),
    ("Namespace-created", PUT.format(': dcterms:created "2026-11-20T08:00:01Z"^^xsd:dateTime')),
    ("Namespace-allocator", PUT.format(": ids:allocator <http://example.org/staff>")),
    ("Namespace-perMinute", PUT.format(": ids:perMinute 61")),
    ("Namespace-perMinute", PUT.format("h: ids:perMinute 0")),
    ("Namespace-frozen", PUT.format("h: ids:frozen false")),
    ("Namespace-offeredTo", PUT.format(": ids:offeredTo party:eve")),
    ("Namespace-shape", PUT.format("h: dcterms:conformsTo skos:Concept")),
    (
        "Party",
        (
            "DELETE { ?s ?p ?o } INSERT { <http://example.org/ada> ?p ?o }"
            " WHERE { VALUES ?s { party:ada } ?s ?p ?o }"
        ),
        "ActingParty",
    ),
    ("Party-class", CUT.format("party:bob a ids:Party")),
    ("Party-kind", PUT.format("party:bob a ids:Administrator")),
    ("Party-kind", "DELETE DATA { party:bob a ids:User } ; INSERT DATA { party:bob a prov:Agent }"),
    ("Party-name", CUT.format("party:bob ids:name ?x")),
    ("Party-name", PUT.format("party:bob ids:name 'robert'")),
    ("ActingParty", PUT.format("b:07 prov:wasAttributedTo party:eve"), "Binding-by"),
    ("ActingParty", PUT.format("e:05 prov:wasAssociatedWith party:eve"), "Event-by"),
    ("Party-group", PUT.format("party:bob ids:memberOf party:ada")),
    ("Party-suspended", PUT.format("party:bob ids:suspended 'more'")),
    ("Event", "DELETE { ?s ?p ?o } INSERT { <urn:x> ?p ?o } WHERE { VALUES ?s { e:09 } ?s ?p ?o }"),
    ("Event-kind", "DELETE DATA { e:09 a ids:Naming } ; INSERT DATA { e:09 a ids:Event }"),
    ("Event-kind", PUT.format("e:0f a ids:Import")),
    ("Event-about", CUT.format("e:05 ids:about ?x")),
    ("Event-about", PUT.format("e:05 ids:about :")),
    ("Event-by", CUT.format("e:05 prov:wasAssociatedWith ?x")),
    (
        "Event-by",
        "DELETE WHERE { e:05 prov:wasAssociatedWith ?x } ; INSERT DATA { e:05 prov:wasAssociatedWith 'ada' }",
        "ActingParty",
    ),
    ("Event-at", CUT.format("e:05 prov:endedAtTime ?x")),
    ("Event-at", PUT.format('e:05 prov:endedAtTime "2026-11-20T12:00:00Z"^^xsd:dateTime')),
    ("Event-parent", PUT.format("e:14 dcterms:isPartOf e:05")),
    ("Event-parent", PUT.format("e:13 dcterms:isPartOf b:07")),
    ("Event-party", PUT.format("e:03 ids:party 'staff'")),
    ("Event-internal", "DELETE WHERE { e:0c ids:internal ?x } ; INSERT DATA { e:0c ids:internal false }"),
    ("Event-forced", "DELETE WHERE { e:0a ids:forced ?x } ; INSERT DATA { e:0a ids:forced false }"),
    ("Event-digest", PUT.format('e:08 ids:requestDigest "key:0b"')),
    ("KnownEvent", "DELETE DATA { e:05 a ids:Import } ; INSERT DATA { e:05 a ids:Export }"),
    ("EventOfAllocated", "DELETE WHERE { e:0f ids:about ?x } ; INSERT DATA { e:0f ids:about :R7 }"),
    ("EventOfAllocation", "DELETE WHERE { e:1d ?p ?o }"),
    ("EventOfAllocation", "DELETE WHERE { e:1f ?p ?o }"),
    ("EventOfOwned", "DELETE WHERE { e:0c ids:about ?x } ; INSERT DATA { e:0c ids:about party:ada }"),
    ("EventOfOwned", "DELETE WHERE { e:15 ids:about ?x } ; INSERT DATA { e:15 ids:about :R7 }"),
    ("EventOfRevoked", "DELETE WHERE { e:13 ids:about ?x } ; INSERT DATA { e:13 ids:about : }"),
    ("AboutNamespace", "DELETE WHERE { e:04 ids:about ?x } ; INSERT DATA { e:04 ids:about :R1 }"),
    ("AboutParty", "DELETE WHERE { e:1a ids:about ?x } ; INSERT DATA { e:1a ids:about :R1 }"),
    ("AboutNoIdentifier", PUT.format("e:1d ids:about :R1"), "Event-about"),
    ("Allocation-namespace", CUT.format("e:08 ids:withNamespace ?x")),
    ("Allocation-namespace", PUT.format("e:08 ids:withNamespace h:")),
    ("Allocation-label", CUT.format("e:08 ids:withLabel ?x")),
    ("Allocation-type", CUT.format("e:08 ids:type ?x")),
    ("Allocation-stage", PUT.format("e:08 ids:withStage ids:Created")),
    ("Allocation-quality", PUT.format("e:08 ids:withQuality ids:Created")),
    ("Allocation-name", PUT.format("e:08 ids:withName ' '")),
    ("Allocation-target", PUT.format("e:08 ids:withTarget <http://example.org/b>")),
    ("Allocation-comment", PUT.format("e:08 ids:withComment 'more'")),
    ("Naming", "DELETE WHERE { e:09 ids:withName ?x } ; DELETE WHERE { e:09 ids:withVersion ?x }"),
    ("Naming-name", PUT.format("e:09 ids:withName 5")),
    ("Naming-version", PUT.format("e:09 ids:withVersion '2'")),
    ("Targeting-target", PUT.format("e:0a ids:withTarget 'there'"), "Targeting-target"),
    ("Record-work", PUT.format("h:x dcterms:isVersionOf :R1")),
    (
        "Record-work",
        "DELETE WHERE { h:x dcterms:isVersionOf ?x } ; INSERT DATA { h:x dcterms:isVersionOf 'work' }",
    ),
    ("Versioning-work", CUT.format("e:22 ids:withWork ?x")),
    (
        "Versioning-work",
        "DELETE WHERE { e:22 ids:withWork ?x } ; INSERT DATA { e:22 ids:withWork 'work' }",
    ),
    ("Versioning-number", CUT.format("e:22 ids:withVersion ?x")),
    (
        "Versioning-number",
        "DELETE WHERE { e:22 ids:withVersion ?x } ; INSERT DATA { e:22 ids:withVersion '1.0' }",
    ),
    ("Vetting-note", PUT.format("e:23 ids:withNote 'again'")),
    ("Targeting-index", "DELETE WHERE { e:26 ids:withIndex ?x } ; INSERT DATA { e:26 ids:withIndex 0 }"),
    ("Targeting-index", PUT.format("e:08 ids:withIndex 0")),
    ("ValueSetting-index", CUT.format("e:24 ids:withIndex ?x")),
    ("ValueSetting-index", CUT.format("e:25 ids:withIndex ?x")),
    ("ValueSetting-type", CUT.format("e:24 ids:withValueType ?x")),
    ("ValueSetting-data", CUT.format("e:24 ids:withData ?x")),
    ("ValueSetting-ttl", CUT.format("e:24 ids:withTtl ?x")),
    ("ValueSetting-permissions", PUT.format("e:24 ids:withPermissions '1111'")),
    ("ValueSetting-permissions", CUT.format("e:25 ids:withPermissions ?x")),
    ("Relating-predicate", CUT.format("e:07 ids:withRelation ?x")),
    (
        "Relating-predicate",
        "DELETE WHERE { e:07 ids:withRelation ?x } ; INSERT DATA { e:07 ids:withRelation rdf:type }",
    ),
    ("Relating-object", CUT.format("e:0b ids:withObject ?x")),
    ("Relating-note", PUT.format("e:07 ids:withNote 'more'")),
    ("Relating-confidence", PUT.format("e:07 ids:withConfidence 1.5")),
    ("Relating-justification", PUT.format("e:07 ids:withJustification 'found'")),
    ("Relating-author", PUT.format("e:07 ids:withAuthor 'Ada', 'Bob'")),
    ("Relating-author", PUT.format("e:0b ids:withAuthor 5")),
    ("Commenting-text", CUT.format("e:0c ids:withComment ?x")),
    ("Concerning-party", CUT.format("e:0d ids:party ?x")),
    ("Concerning-party", PUT.format("e:18 ids:party party:guests")),
    ("Granting-right", PUT.format("e:0d ids:right ids:MayFixate")),
    ("Justifying-reason", CUT.format("e:10 ids:withReason ?x")),
    ("Justifying-reason", CUT.format("e:1a ids:withReason ?x")),
    ("Succeeding-successor", CUT.format("e:11 ids:withSuccessor ?x")),
    ("AddingNamespace-name", CUT.format("e:02 ids:withName ?x")),
    ("AddingNamespace-scheme", CUT.format("e:02 ids:withScheme ?x")),
    ("Setting-digits", PUT.format("e:02 with-setting:digits 11")),
    ("Allowing-perMinute", PUT.format("e:03 ids:withPerMinute 61")),
    ("Freezing-frozen", CUT.format("e:04 ids:withFrozen ?x")),
    ("Record-below", PUT.format(":R4 ids:below :R2")),
    ("Record-kind", PUT.format(':R4 ids:kind "xml"')),
    ("Record-kind", 'DELETE DATA { :R4 ids:kind "pdf" } ; INSERT DATA { :R4 ids:kind "jpg" }'),
    ("Allocation-owner", PUT.format("e:27 ids:withOwner party:ada")),
    ("Allocation-grantee", PUT.format('e:27 ids:withGrantee "ada"')),
    ("Allocation-bindGrantee", PUT.format("e:27 ids:withBindGrantee party:ada")),
    ("Allocation-successor", PUT.format('e:27 ids:withSuccessor "R2"')),
    ("Allocation-below", PUT.format("e:27 ids:withParent :R2")),
    ("Allocation-kind", PUT.format('e:27 ids:withKind "xml"')),
    (
        "Storage",
        (
            'INSERT DATA { <urn:x:y> a ids:Storage ; ids:name "x" ; ids:path "/" ;'
            " ids:directoryLimit 1 ; ids:fileSystemLimit 1 }"
        ),
    ),
    ("Storage-name", CUT.format("storage:ejournals ids:name ?x")),
    (
        "AddingStorage-name",
        'DELETE WHERE { e:28 ids:withName ?x } ; INSERT DATA { e:28 ids:withName "ejournals1" }',
    ),
    (
        "AddingStorage-path",
        'DELETE WHERE { e:28 ids:withPath ?x } ; INSERT DATA { e:28 ids:withPath "/mnt/pillar" }',
    ),
    (
        "AddingStorage-directoryLimit",
        (
            "DELETE WHERE { e:28 ids:withDirectoryLimit ?x } ;"
            " INSERT DATA { e:28 ids:withDirectoryLimit 3000000000000 }"
        ),
    ),
    ("Storage-directoryLimit", CUT.format("storage:ejournals ids:directoryLimit ?x")),
    ("Storage-path", CUT.format("storage:ejournals ids:path ?x")),
    ("Storage-fileSystemLimit", CUT.format("storage:ejournals ids:fileSystemLimit ?x")),
    ("Placing-publisher", CUT.format("e:2a ids:withPublisher ?x")),
    ("AddingStorage-fileSystemLimit", PUT.format("e:28 ids:withFileSystemLimit 3000000000000")),
    ("Storage-placer", PUT.format('storage:ejournals ids:placer "staff"')),
    (
        "Holder",
        (
            "INSERT DATA { storage:0 a ids:FileSystem ; ids:within storage:ejournals ;"
            ' ids:number 1 ; ids:path "/e1/" ; ids:size 0 }'
        ),
    ),
    ("Holder-number", PUT.format(f"{FS} ids:number 2")),
    ("Holder-path", CUT.format(f"{DIR} ids:path ?x")),
    ("Holder-size", f"DELETE WHERE {{ {DIR} ids:size ?x }} ; INSERT DATA {{ {DIR} ids:size -1 }}"),
    ("Placing-size", CUT.format("e:2a ids:withSize ?x")),
    ("Holder-closed", f"DELETE WHERE {{ {FS} ids:closed ?x }} ; INSERT DATA {{ {FS} ids:closed false }}"),
    ("FileSystem-within", CUT.format(f"{FS} ids:within ?x")),
    (
        "Directory-within",
        f"DELETE WHERE {{ {DIR} ids:within ?x }} ; INSERT DATA {{ {DIR} ids:within storage:ejournals }}",
    ),
    ("Directory-publisher", PUT.format(f'{DIR} ids:publisher "ieee"')),
    ("AboutStorage", "DELETE WHERE { e:29 ids:about ?x } ; INSERT DATA { e:29 ids:about storage:other }"),
    ("Placing-within", CUT.format("e:2a ids:withDirectory ?x")),
    ("Placing-delivery", PUT.format("e:2a ids:delivery 'batch 8'")),
    ("AddingType-code", CUT.format("e:2b ids:withLabel ?x")),
    (
        "AddingType-code",
        "DELETE WHERE { e:2b ids:withLabel ?x } ; INSERT DATA { e:2b ids:withLabel 'x-lan' }",
    ),
    ("AddingType-title", CUT.format("e:2b ids:withName ?x")),
    ("AddingType-title", PUT.format("e:2b ids:withName 'language'")),
    ("AboutNamespace", "DELETE WHERE { e:2b ids:about ?x } ; INSERT DATA { e:2b ids:about :R1 }"),
    (
        "LabelType",
        PUT.format("_:b a ids:LabelType ; skos:notation 'lan' . : ids:labelType _:b"),
        "Namespace-type",
    ),
    ("LabelType-code", CUT.format(":xt skos:notation ?x")),
    ("LabelType-code", PUT.format(":xt skos:notation 'x-xt'")),
    ("LabelType-title", PUT.format(":xt skos:prefLabel 'more'")),
    ("LabelType-quality", PUT.format(":xt ids:quality ids:Created")),
    ("LabelType-namespace", CUT.format(": ids:labelType ?x")),
    ("LabelType-namespace", PUT.format("h: ids:labelType :xt")),
    (
        "Binding-predicate",
        "DELETE WHERE { b:07 rdf:predicate ?x } ; INSERT DATA { b:07 rdf:predicate ids:hasPriority }",
    ),
    ("AddingParty-type", "DELETE WHERE { e:17 ids:type ?x } ; INSERT DATA { e:17 ids:type ids:Party }"),
]


def broken(found: ValidationReport) -> set[str]:
    return {finding.shape.removeprefix(SPACE) for finding in found.results}


def test_sound_data_conform() -> None:
    assert str(validate(sound(), SHAPES)) == "conforms"


@pytest.mark.parametrize(
    ("rule", "update", "beside"), [(rule, update, beside) for rule, update, *beside in DAMAGE]
)
@pytest.mark.parametrize(
    "at_once", [pytest.param(1, id="screened"), pytest.param(1000, id="direct", marks=pytest.mark.slow)]
)
def test_each_fault_is_found_by_its_rule(
    rule: str, update: str, beside: list[str], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "_AT_ONCE", at_once)
    assert broken(validate(changed(update), SHAPES)) == {rule, *beside}


def test_every_rule_has_a_fault() -> None:
    rules = {check.shape.iri.removeprefix(SPACE) for check in compiler.compiled(SHAPES)[1]}
    assert rules == {rule for rule, *_ in DAMAGE}


def agrees(update: str) -> bool:
    data = changed(update)
    found = report(pyshacl_engine.findings([quad.triple for quad in data], STANDALONE))
    return broken(found) == broken(validate(data, SHAPES))


@pytest.mark.slow
@pytest.mark.parametrize("update", {rule: update for rule, update, *_ in DAMAGE}.values())
def test_pyshacl_finds_the_same(update: str) -> None:
    assert agrees(update)


@pytest.mark.parametrize(
    "damage",
    [
        "INSERT DATA { :R1 a ids:Puid }",
        "DELETE DATA { e:05 a ids:Import } ; INSERT DATA { e:05 a ids:Export }",
        "DELETE WHERE { :R2 a ?x }",
        'DELETE WHERE { :R1 ids:owner ?x } ; INSERT DATA { :R1 ids:owner "ada" }',
        "DELETE WHERE { b:07 a ?x }",
    ],
    ids=["two classes", "unknown kind", "no class", "no party", "no binding"],
)
def test_pyshacl_finds_what_subclasses_and_inner_shapes_are_about(damage: str) -> None:
    assert agrees(damage)


def test_pyshacl_needs_no_ontology() -> None:
    assert report(pyshacl_engine.findings([quad.triple for quad in sound()], STANDALONE)).conforms


def test_the_standalone_shapes_are_flat() -> None:
    """A shape inside another one is what takes pySHACL long: it is asked for each node alone."""
    graph = Graph(STANDALONE.triples)
    targeted = {shape for target in TARGETS for shape, _ in graph.pairs(target)}
    assert not [shape for shape, _ in graph.pairs(SH.property) if shape in targeted]


def test_the_standalone_shapes_are_written_with_equal_bytes() -> None:
    first, second = BytesIO(), BytesIO()
    for target in (first, second):
        shapes.load.cache_clear()
        standalone.write(standalone.standalone(shapes.load("registry")), target)
    assert first.getvalue() == second.getvalue()


def test_every_shape_is_described_and_named() -> None:
    graph = Graph(shapes.read((folder("shapes") / "registry.ttl").read_text(encoding="utf-8")).triples)
    described = [node for node, kind in graph.pairs(RDF.type) if kind in (SH.NodeShape, SH.PropertyShape)]
    for node in described:
        assert isinstance(node, NamedNode) and node.value.startswith(SPACE)
        for predicate in (SH.name, SH.message, SH.severity):
            assert len(graph.values(node, predicate)) == 1, f"{node} {predicate}"
    for predicate in (SH.property, SH.node, getattr(SH, "not"), SH.qualifiedValueShape):
        assert {value for _, value in graph.pairs(predicate)} <= set(described)
    alternatives = [members for _, members in graph.pairs(getattr(SH, "or"))]
    assert {member for members in alternatives for member in graph.members(members) or ()} <= set(described)
