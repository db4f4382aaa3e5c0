"""``idstore mint`` and ``register`` at their simplest, without typer, whose import takes as long as the allocation.

A command line is read here only where each of its words can mean one thing; whatever else it holds, also what is wrong, is typer's to read.
"""

import os
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from idstore.cli import giving
from idstore.cli.call import COMPLETE, WAIT, Call
from idstore.cli.ending import Misuse
from idstore.cli.output import Output, carry_out

ARGUMENTS: Final = {"mint": 1, "register": 2}
"""The commands, and how many arguments each has."""
SHARED: Final = frozenset({"--store", "--user", "--wait"})
FLAGS: Final = frozenset({"--json", "--quiet"})
SAID: Final = frozenset({"--name", "--lang", "--comment"})
"""Options of the command itself, which stand behind it."""
_SECONDS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class Asked(NamedTuple):
    """An allocation, as `idstore.cli.giving.give` takes it."""

    call: Call
    said: giving.Said
    namespace: str
    label: str | None


def run(words: Sequence[str]) -> int | None:
    """Carry out a command line, and give its exit code; None, and nothing is done, where it is typer's."""
    asked = None if COMPLETE in os.environ else read(words)
    if asked is None or not asked.said.is_brief(asked.call):
        return None
    return carry_out(lambda: _give(asked), asked.call.output)


def _give(asked: Asked) -> int:
    try:
        return giving.give(*asked)
    except Misuse as error:
        error.command = "idstore mint" if asked.label is None else "idstore register"
        raise


def read(words: Sequence[str]) -> Asked | None:
    """What a command line asks for; None where that is typer's to say."""
    plain: list[str] = []
    given: dict[str, str] = {}
    flags: set[str] = set()
    rest = iter(words)
    for word in rest:
        if word in FLAGS:
            flags.add(word)
        elif word in SHARED or (plain and word in SAID):
            value = next(rest, "-")
            if value.startswith("-") or word in given:
                return None
            given[word] = value
        elif word.startswith("-"):
            return None
        else:
            plain.append(word)
    command, *arguments = plain or [""]
    if len(arguments) != ARGUMENTS.get(command, -1):
        return None
    wait = given.get("--wait")
    if wait is not None and not _SECONDS.fullmatch(wait):
        return None
    output = Output(json="--json" in flags, quiet="--quiet" in flags)
    call = Call(given.get("--store"), given.get("--user"), WAIT if wait is None else float(wait), output)
    try:
        said = giving.Said.of(given.get("--name"), given.get("--lang"), given.get("--comment"), None, None)
    except Misuse:
        return None
    namespace, label = (*arguments, None)[:2]
    assert namespace is not None
    return Asked(call, said, namespace, label)
