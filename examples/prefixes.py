"""Mint an RDS/WIP identifier for registry prefixes of Bioregistry, and bind each to what other registries hold of it.

Usage: prefixes.py [NUMBER]. All 2,937 unless said otherwise. Needs the package bioregistry (pip install 'idstore[examples]').
"""

import os
import sys
import tempfile

from bioregistry import manager

import idstore

alice, visitor = idstore.Party("alice"), idstore.Party("visitor")
store = os.environ.get("IDSTORE_STORE") or tempfile.mkdtemp()
number = int(sys.argv[1]) if len(sys.argv) > 1 else None

with idstore.open(store, administrator=alice) as registry:
    registry.add_namespace("registries", "http://rdl.example.org/data#", "rdswip", alice)
    made = []
    for prefix, resource in sorted(manager.registry.items())[:number]:
        request = idstore.Request(name=resource.get_name(), target=f"https://bioregistry.io/{prefix}", request_key=prefix)
        record = registry.mint("registries", alice, request)
        for other, entry in sorted(resource.get_mappings().items()):
            page = manager.metaregistry[other].get_provider_url(entry)
            registry.bind(record.iri.value, idstore.Statement(page or f"https://bioregistry.io/metaregistry/{other}/{entry}"), alice)
        made.append(record.iri.value)
    print(f"minted {len(made)} identifiers; a visitor sees {registry.counts(visitor).total}")
    registry.fixate(made, alice)
    last = registry.show(made[-1], visitor)
    print(f"fixated; a visitor sees {registry.counts(visitor).total}, the last bound to {len(last.bindings)} entries")
