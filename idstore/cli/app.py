"""The command ``idstore``: the table of its commands, and how one command line is carried out."""

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import typer

from idstore.cli.call import COMPLETE, Call
from idstore.cli.lazy import Group, LazyGroup, Section, lazy_group
from idstore.cli.output import Output, carry_out

NAME: Final = "idstore"
HELP: Final = "A registry of persistent identifiers, kept as triples."
_AT: Final = "idstore.cli.commands."
COMMANDS: Final[Mapping[str, Section]] = {
    "To begin": {
        "quickstart": _AT + "quickstart:quickstart",
    },
    "Identifiers": {
        "mint": _AT + "allocation:mint",
        "register": _AT + "allocation:register",
        "check": _AT + "check:check",
        "derive": _AT + "allocation:derive",
        "show": _AT + "lookup:show",
        "list": _AT + "lookup:list_",
        "resolve": _AT + "lookup:resolve",
        "cite": _AT + "citing:cite",
        "authority": _AT + "citing:authority",
        "version": Group(
            "Works and their versions: a work leads to its newest version.",
            {
                "add": _AT + "versions:add",
                "list": _AT + "versions:list_",
            },
        ),
    },
    "What is said of them": {
        "target": _AT + "statements:target",
        "name": _AT + "statements:name",
        "bind": _AT + "statements:bind",
        "unbind": _AT + "statements:unbind",
        "comment": _AT + "statements:comment",
        "vet": _AT + "statements:vet",
        "handle": Group(
            "Handles: their typed values.",
            {
                "values": _AT + "handle:values",
                "set": _AT + "handle:set_",
                "unset": _AT + "handle:unset",
                "admin": _AT + "handle:admin",
            },
        ),
    },
    "Their life": {
        "fixate": _AT + "lifecycle:fixate",
        "release": _AT + "lifecycle:release",
        "replace": _AT + "lifecycle:replace",
        "supersede": _AT + "lifecycle:supersede",
        "deprecate": _AT + "lifecycle:deprecate",
        "transfer": _AT + "lifecycle:transfer",
        "grant": _AT + "lifecycle:grant",
        "ungrant": _AT + "lifecycle:ungrant",
        "revoke": _AT + "lifecycle:revoke",
    },
    "The registry": {
        "init": _AT + "registry:init",
        "namespace": Group(
            "Namespaces: a base, a scheme, its settings and an owner.",
            {
                "add": _AT + "namespaces:add",
                "list": _AT + "namespaces:list_",
                "show": _AT + "namespaces:show",
                "allow": _AT + "namespaces:allow",
                "freeze": _AT + "namespaces:freeze",
                "type": _AT + "namespaces:type_",
            },
        ),
        "party": Group(
            "Parties: users, groups and administrators.",
            {
                "add": _AT + "parties:add",
                "join": _AT + "parties:join",
                "leave": _AT + "parties:leave",
                "list": _AT + "parties:list_",
                "show": _AT + "parties:show",
            },
        ),
        "storage": Group(
            "Storage: into which publisher's directory, on which file system, a delivery goes.",
            {
                "add": _AT + "storage:add",
                "list": _AT + "storage:list_",
                "allow": _AT + "storage:allow",
                "place": _AT + "storage:place",
            },
        ),
        "suspend": _AT + "parties:suspend",
        "reinstate": _AT + "parties:reinstate",
        "log": _AT + "trail:log",
        "history": _AT + "past:history",
        "diff": _AT + "past:diff",
        "stats": _AT + "registry:stats",
        "query": _AT + "query:query",
    },
    "Files and checks": {
        "export": _AT + "exporting:export",
        "import": _AT + "exchange:import_",
        "reconcile": _AT + "reconcile:reconcile",
        "validate": _AT + "checking:validate",
        "links": _AT + "links:links",
        "verify": _AT + "checking:verify",
        "backup": _AT + "keeping:backup",
        "restore": _AT + "keeping:restore",
    },
}
"""Section of the help → command → ``module:function``, or a `Group` of commands."""


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line, and give its exit code. Errors have been printed."""
    return carry_out(lambda: _invoke(application(), list(arguments)), Output(json=_asks_for_json(arguments)))


def application(commands: Mapping[str, Section] = COMMANDS) -> LazyGroup:
    """The whole command line, nothing of it imported yet."""
    return lazy_group(NAME, HELP, commands, _start, outermost=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version(NAME))
        raise typer.Exit


def _start(
    call: Call,
    version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")] = False,
) -> None:
    """Options of ``idstore`` itself."""


def _invoke(app: LazyGroup, arguments: list[str]) -> int:
    """The exit code that the command returned; a command that returns nothing is done."""
    if COMPLETE in os.environ:
        app.main(arguments, prog_name=NAME)
    with app.make_context(NAME, arguments) as context:
        return app.invoke(context) or 0


def _asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether ``--json`` is given: asked of the bare words, since a command line may fail before it is understood."""
    words = list(arguments)
    return "--json" in words[: words.index("--") if "--" in words else None]
