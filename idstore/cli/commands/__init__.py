"""The commands, a module for those that belong together. Each is a function of `idstore.cli.options.Call` and its own parameters."""
