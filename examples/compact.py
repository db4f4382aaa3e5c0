"""Shorten and expand identifiers with curies, using the namespaces of a registry.

Usage: compact.py. Needs the package curies, which comes with bioregistry (pip install 'idstore[examples]').
"""

import os
import tempfile

from curies import Converter

import idstore

alice, visitor = idstore.Party("alice"), idstore.Party("visitor")
store = os.environ.get("IDSTORE_STORE") or tempfile.mkdtemp()

with idstore.open(store, administrator=alice) as registry:
    registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", alice)
    registry.add_namespace("pronom", "info:pronom/", "puid", alice)
    registry.fixate(
        [registry.mint("rdl", alice, idstore.Request(name=name)).iri for name in ("valve", "pump")],
        alice,
    )

    converter = Converter.from_prefix_map({space.name: space.base for space in registry.namespaces()})
    for record in registry.list(visitor):
        short = converter.compress(record.iri, strict=True)
        assert converter.expand(short) == record.iri == registry.identify(short, visitor)
        print(dict(record.names)["und"], "is", short.replace(record.label, "R…"))
    print(converter.compress("info:pronom/fmt/18"), "is", converter.expand("pronom:fmt/18"))
