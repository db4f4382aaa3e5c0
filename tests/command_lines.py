"""What tests of the command line share: what a command line did, and how to look at it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

RDL = "http://rdl.example.org/data#"
WIKIDATA = "http://www.wikidata.org/entity/Q178803"
NEVER = f"{RDL}R3732211754"
"""Well formed, and drawn by no test but once in a billion."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did: its exit code, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The only line that was printed."""
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
        """The only object that was printed."""
        [found] = self.objects
        return found


class Run(Protocol):
    def __call__(self, *words: str | Path, by: str = "alice", code: int = 0, stdin: str | bytes = "") -> Outcome:
        """Carry out a command line as a party; it must end with that exit code. An error is one line."""


Minting = Callable[..., str]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content: to see that nothing was written."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
