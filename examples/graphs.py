"""Read a registry with rdflib, as one party sees it: patterns, SPARQL, and a copy of a part.

Usage: graphs.py. Nothing is loaded: rdflib queries the store for each pattern.
"""

import os
import tempfile

from rdflib import RDFS, Graph, URIRef
from rdflib.namespace import SKOS

import idstore

alice, visitor = idstore.Party("alice"), idstore.Party("visitor")
store = os.environ.get("IDSTORE_STORE") or tempfile.mkdtemp()

with idstore.open(store, administrator=alice) as registry:
    registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", alice)
    valve = registry.mint("rdl", alice, idstore.Request(name="ball valve", lang="en")).iri
    registry.bind(valve, idstore.Statement("http://www.wikidata.org/entity/Q1413223"), alice)
    graph = registry.as_graph(visitor)
    print("a visitor sees of the draft:", graph.value(URIRef(valve), RDFS.label))
    registry.fixate([valve], alice)
    print("a visitor sees of the published identifier:", graph.value(URIRef(valve), RDFS.label))

    query = "SELECT ?name ?same WHERE { ?id rdfs:label ?name ; skos:exactMatch ?same }"
    for row in graph.query(query, initNs={"skos": SKOS}):
        print("by SPARQL:", *row)

    part = Graph()
    part += graph.triples((URIRef(valve), None, None))
    print("copied", len(part), "triples")
    try:
        graph.remove((URIRef(valve), None, None))
    except TypeError as error:
        print("refused:", error)
