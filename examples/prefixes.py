"""Mint RDS/WIP identifiers for Bioregistry's prefixes, and bind each to the entries of other registries.

Usage: prefixes.py [NUMBER]. The default is all 2,937 prefixes. Needs the package bioregistry
(pip install 'idstore[examples]').
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
    identifiers = []
    for prefix, resource in sorted(manager.registry.items())[:number]:
        request = idstore.Request(
            name=resource.get_name(), target=f"https://bioregistry.io/{prefix}", request_key=prefix
        )
        record = registry.mint("registries", alice, request)
        for other, entry in sorted(resource.get_mappings().items()):
            page = manager.metaregistry[other].get_provider_url(entry)
            target = page or f"https://bioregistry.io/metaregistry/{other}/{entry}"
            registry.bind(record.iri, idstore.Statement(target), alice)
        identifiers.append(record.iri)
    print(f"minted {len(identifiers)} identifiers; a visitor sees {registry.counts(visitor).total}")
    registry.fixate(identifiers, alice)
    last = registry.show(identifiers[-1], visitor)
    total = registry.counts(visitor).total
    print(f"fixated; a visitor sees {total}, the last bound to {len(last.bindings)} entries")
