"""The command ``idstore``: the table of its commands, and the execution of a command line."""

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import typer

from idstore.cli.call import COMPLETE, Call
from idstore.cli.lazy import CommandGroup, LazyGroup, Section, lazy_group
from idstore.cli.output import Output, run_command

NAME: Final = "idstore"
HELP: Final = "A registry of persistent identifiers, kept as triples."
_PACKAGE: Final = "idstore.cli.commands."
COMMANDS: Final[Mapping[str, Section]] = {
    "Getting started": {
        "quickstart": _PACKAGE + "quickstart:quickstart",
    },
    "Identifiers": {
        "mint": _PACKAGE + "allocation:mint",
        "register": _PACKAGE + "allocation:register",
        "check": _PACKAGE + "check:check",
        "derive": _PACKAGE + "allocation:derive",
        "show": _PACKAGE + "lookup:show",
        "list": _PACKAGE + "lookup:list_",
        "resolve": _PACKAGE + "lookup:resolve",
        "cite": _PACKAGE + "citation:cite",
        "authority": _PACKAGE + "citation:authority",
        "version": CommandGroup(
            "Works and their versions: a work resolves to its newest version.",
            {
                "add": _PACKAGE + "versions:add",
                "list": _PACKAGE + "versions:list_",
            },
        ),
    },
    "Statements": {
        "target": _PACKAGE + "statements:target",
        "name": _PACKAGE + "statements:name",
        "bind": _PACKAGE + "statements:bind",
        "unbind": _PACKAGE + "statements:unbind",
        "comment": _PACKAGE + "statements:comment",
        "vet": _PACKAGE + "statements:vet",
        "handle": CommandGroup(
            "Handles: their typed values.",
            {
                "values": _PACKAGE + "handle:values",
                "set": _PACKAGE + "handle:set_",
                "unset": _PACKAGE + "handle:unset",
                "admin": _PACKAGE + "handle:admin",
            },
        ),
    },
    "Lifecycle": {
        "fixate": _PACKAGE + "lifecycle:fixate",
        "release": _PACKAGE + "lifecycle:release",
        "replace": _PACKAGE + "lifecycle:replace",
        "supersede": _PACKAGE + "lifecycle:supersede",
        "deprecate": _PACKAGE + "lifecycle:deprecate",
        "undeprecate": _PACKAGE + "lifecycle:undeprecate",
        "transfer": _PACKAGE + "lifecycle:transfer",
        "grant": _PACKAGE + "lifecycle:grant",
        "ungrant": _PACKAGE + "lifecycle:ungrant",
        "revoke": _PACKAGE + "lifecycle:revoke",
    },
    "The registry": {
        "init": _PACKAGE + "registry:init",
        "namespace": CommandGroup(
            "Namespaces: a base, a scheme, its settings and an owner.",
            {
                "add": _PACKAGE + "namespaces:add",
                "list": _PACKAGE + "namespaces:list_",
                "show": _PACKAGE + "namespaces:show",
                "set": _PACKAGE + "namespaces:set_",
                "allow": _PACKAGE + "namespaces:allow",
                "freeze": _PACKAGE + "namespaces:freeze",
                "type": _PACKAGE + "namespaces:type_",
            },
        ),
        "party": CommandGroup(
            "Parties: users, groups and administrators.",
            {
                "add": _PACKAGE + "parties:add",
                "join": _PACKAGE + "parties:join",
                "leave": _PACKAGE + "parties:leave",
                "list": _PACKAGE + "parties:list_",
                "show": _PACKAGE + "parties:show",
            },
        ),
        "storage": CommandGroup(
            "Storage: the file system and the publisher's directory for each delivery.",
            {
                "add": _PACKAGE + "storage:add",
                "list": _PACKAGE + "storage:list_",
                "allow": _PACKAGE + "storage:allow",
                "place": _PACKAGE + "storage:place",
            },
        ),
        "suspend": _PACKAGE + "parties:suspend",
        "reinstate": _PACKAGE + "parties:reinstate",
        "redact": _PACKAGE + "redaction:redact",
        "log": _PACKAGE + "log:log",
        "history": _PACKAGE + "history:history",
        "diff": _PACKAGE + "history:diff",
        "stats": _PACKAGE + "registry:stats",
        "query": _PACKAGE + "query:query",
    },
    "Serving": {
        "serve": _PACKAGE + "serve:serve",
        "replica": _PACKAGE + "replica:replica",
        "project": _PACKAGE + "project:project",
        "token": CommandGroup(
            "Tokens: how parties sign in to a server.",
            {
                "add": _PACKAGE + "tokens:add",
                "list": _PACKAGE + "tokens:list_",
                "revoke": _PACKAGE + "tokens:revoke",
            },
        ),
    },
    "Files and checks": {
        "export": _PACKAGE + "export:export",
        "import": _PACKAGE + "imports:import_",
        "reconcile": _PACKAGE + "reconcile:reconcile",
        "validate": _PACKAGE + "validation:validate",
        "shapes": _PACKAGE + "validation:shapes",
        "links": _PACKAGE + "links:links",
        "verify": _PACKAGE + "validation:verify",
        "backup": _PACKAGE + "backups:backup",
        "restore": _PACKAGE + "backups:restore",
    },
}
"""Section title in the help → command name → ``module:function``, or a `CommandGroup` of commands."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line, print its error if there is one, and return the exit code."""
    return run_command(
        lambda: _invoke(application(), list(arguments)), Output(json=_asks_for_json(arguments))
    )


def application(commands: Mapping[str, Section] = COMMANDS) -> LazyGroup:
    """Return the root group; no command is imported yet."""
    return lazy_group(NAME, HELP, commands, _start, root=True)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print(version(NAME))
        raise typer.Exit


def _start(
    call: Call,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit."),
    ] = False,
) -> None:
    """Declare the options of ``idstore`` itself."""


def _invoke(app: LazyGroup, arguments: list[str]) -> int:
    """Return the exit code of the command, 0 if it returned None."""
    if COMPLETE in os.environ:
        app.main(arguments, prog_name=NAME)
    with app.make_context(NAME, arguments) as context:
        return app.invoke(context) or 0


def _asks_for_json(arguments: Sequence[str]) -> bool:
    """Return whether ``--json`` is among the words: a command line may fail before it is parsed."""
    words = list(arguments)
    return "--json" in words[: words.index("--") if "--" in words else None]
