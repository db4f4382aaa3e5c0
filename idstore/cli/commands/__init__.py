"""The commands, related ones in one module.

Each is a function of an `idstore.cli.call.Call` and its own parameters.
"""
