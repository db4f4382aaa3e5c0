"""Readers and writers of files: RDF, tables, batch files, article metadata, PRONOM's files, link checks.

Not here: rules about identifiers (`idstore.registry`, `idstore.schemes`), and the command line.
"""
