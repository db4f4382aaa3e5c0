"""Documents with executed code blocks: parse Markdown, repeat its shell sessions, compare their output.

In a ``console`` block a line that begins with "$ " is a command ("> " continues it); the lines below it are
its output, errors included. All blocks of a document are one session: folder and variables persist.

- ``…`` matches any text within a line; alone on a line, any lines.
- Random identifiers, UUIDs, times and durations differ at each run (`VARIABLE`). The first one printed
  replaces the one in the document from then on, also in later commands. A value that a command of the
  document states is literal.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Final, Self

import pytest

MARK: Final = "--done--"
PATIENCE: Final = 120.0
"""Seconds that one command may take."""
VARIABLE: Final = re.compile(
    r"""
      \b [0-9a-f]{8} (?: -[0-9a-f]{4} ){3} -[0-9a-f]{12} \b            # a UUID
    | \b \d{4}-\d\d-\d\d (?: [T\ ] \d\d:\d\d (?: :\d\d (?:\.\d+)? )? Z? )?  # a moment, or a day
    | \b R\d{6,} \b                                                    # an RDS/WIP identifier
    | (?<= / ) [0-9BCDFGHJKLMNPQRSTVWXYZ]{9} \b                        # a PILIN suffix
    | \b \d+ (?:\.\d+)? (?=\ m?s\b)                                    # a duration
    """,
    re.VERBOSE,
)
DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
FENCE: Final = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, and the number of its first line."""

    language: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a session, its output in the document, and its line number."""

    command: str
    shown: tuple[str, ...]
    line: int


def blocks(document: str, language: str | None = None) -> list[Block]:
    """Return the fenced blocks of a document, all or those of one language."""
    found = [
        Block(m["language"], m["body"], document.count("\n", 0, m.start()) + 2)
        for m in FENCE.finditer(document)
    ]
    return [block for block in found if language in {None, block.language}]


def steps(block: Block) -> Iterator[Step]:
    """Yield the commands of a session."""
    lines = block.text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {block.line}: a session begins with a command"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        more = next(
            (number for number in range(start + 1, end) if not f"{lines[number]} ".startswith("> ")), end
        )
        command = "\n".join(line[2:] for line in lines[start:more])
        yield Step(command, tuple(line.rstrip() for line in lines[more:end]), block.line + start)


@dataclass(slots=True)
class Values:
    """Correspondence of values in the document and in the output: shown text → real text."""

    real: dict[str, str] = field(default_factory=dict)

    def command(self, text: str) -> str:
        """Return a command of the document with the real values."""
        return VARIABLE.sub(lambda found: self.real.setdefault(found[0], found[0]), text)

    def match(self, shown: tuple[str, ...], printed: str) -> bool:
        """Return whether the output matches the document, and record new values."""
        groups: dict[str, str] = {}
        pattern = "".join(self._line(line, groups) for line in shown)
        found = re.fullmatch(pattern, printed)
        if not found:
            return False
        new = {text: found[group] for text, group in groups.items()}
        self.real.update(new)
        return all(_plausible(text, real) for text, real in new.items())

    def _line(self, line: str, groups: dict[str, str]) -> str:
        if line == "…":
            return r"(?:.*\n)*?"
        pattern, end = "", 0
        for found in VARIABLE.finditer(line):
            pattern += _literal(line[end : found.start()]) + self._value(found[0], groups)
            end = found.end()
        return pattern + _literal(line[end:]) + r"\n"

    def _value(self, text: str, groups: dict[str, str]) -> str:
        if text in self.real:
            return re.escape(self.real[text])
        if text in groups:
            return f"(?P={groups[text]})"
        groups[text] = f"v{len(groups)}"
        return rf"(?P<{groups[text]}>{_alike(text)})"


def _literal(text: str) -> str:
    return ".*?".join(map(re.escape, text.split("…")))


def _alike(text: str) -> str:
    """Return a pattern for values of the same kind: digits, capitals, and fractions of any length."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return r"\d+(?:\.\d+)?"
    kinds = [
        (r"\d{4}-.*\.\d+Z", r"[-\d]{10}T[\d:]{8}(?:\.\d+)?Z"),
        (r"[0-9A-Z]{9}", r"[0-9A-Z]{9}"),
        (r"[0-9a-f-]{36}", r"[0-9a-f-]{36}"),
    ]
    return next(
        (pattern for kind, pattern in kinds if re.fullmatch(kind, text)),
        re.sub(r"\d", r"\\d", re.escape(text)),
    )


def _plausible(shown: str, real: str) -> bool:
    """Return whether a time that differs from the document is of this run.

    Any other is wrong in the document.
    """
    if real == shown or not DAY.match(real):
        return True
    now = datetime.now(UTC)
    return real[:10] in {f"{now - timedelta(days=days):%Y-%m-%d}" for days in (0, 1)}


class Shell:
    """A shell that runs commands one after the other, without standard input."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:
            os.killpg(self._process.pid, signal.SIGKILL)  # also what runs in the background

    def run(self, command: str) -> str:
        """Run a command and return its output, errors included, without blanks at line ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\n%s\\n' {MARK}\n")
        self._process.stdin.flush()
        timer = Timer(PATIENCE, self._process.kill)
        timer.start()
        printed = ""
        while not printed.endswith(f"\n{MARK}\n"):
            line = self._process.stdout.readline()
            assert line, f"the shell ended in {command!r}, having printed {printed!r}"
            printed += f"\n{line}" if not printed and line == f"{MARK}\n" else line
        timer.cancel()
        text = printed.removesuffix(f"\n{MARK}\n")
        return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def surroundings(folder: Path) -> dict[str, str]:
    """Return a session's environment: its own home, this interpreter's commands first, user ``alice``."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("IDSTORE_", "XDG_", "PYTEST_"))
    }
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return kept | {
        "PATH": commands,
        "HOME": str(folder),
        "LOGNAME": "alice",
        "USER": "alice",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "1",  # output and errors come in the order of a terminal
    }


def repeat(document: str, folder: Path) -> None:
    """Run the sessions of a document in a folder. Fails at the first command that prints something else."""
    values = Values()
    with Shell(folder, surroundings(folder)) as shell:
        for block in blocks(document, "console"):
            for step in steps(block):
                printed = shell.run(values.command(step.command))
                if not values.match(step.shown, printed):
                    shown = "".join(f"{line}\n" for line in step.shown)
                    pytest.fail(
                        f"line {step.line}: $ {step.command}\nThe document "
                        f"shows:\n{shown}It printed:\n{printed}",
                        pytrace=False,
                    )
