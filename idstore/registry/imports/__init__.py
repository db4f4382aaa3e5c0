"""Imports into a registry: tables of identifiers, publishers' lists and relations, other stores' logs.

Each module decides which events an import writes. Reading and writing file formats belongs to
`idstore.exchange`.
"""
