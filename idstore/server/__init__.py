"""The HTTP server of a registry: `idstore.server.run.serve`.

It needs the packages of the extra ``server``.
"""
