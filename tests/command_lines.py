"""Types and helpers shared by tests of the command line."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

RDL = "http://rdl.example.org/data#"
WIKIDATA = "http://www.wikidata.org/entity/Q178803"
NEVER = f"{RDL}R3732211754"
"""A well-formed identifier that a test draws by chance once in a billion times."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a command: its exit code and its output."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The only printed line."""
        [line] = self.lines
        return line

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def objects(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]

    @property
    def object(self) -> Any:
        """The only printed object."""
        [found] = self.objects
        return found


class Run(Protocol):
    def __call__(
        self, *words: str | Path, by: str = "alice", code: int = 0, stdin: str | bytes = ""
    ) -> Outcome:
        """Run a command line as a party and check its exit code.

        An error must be a single line.
        """


Minting = Callable[..., str]


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content, to show that nothing was written."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
