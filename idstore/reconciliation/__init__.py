"""Comparison of registries and mapping files: contradictory and missing statements, and reports on them.

Not here: writes to a registry (a curator imports decisions as a table), and file formats
(`idstore.exchange`).
"""
