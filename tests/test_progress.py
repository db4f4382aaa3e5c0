"""What a terminal is shown of long work."""

import io
import sys

import pytest
from command_lines import NEVER, Run

from idstore.cli.output import Output
from idstore.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "output", "shown"), [(Terminal(), Output(), True), (io.StringIO(), Output(), False), (Terminal(), Output(quiet=True), False)]
)
def test_progress_is_for_who_watches(stream: io.StringIO, output: Output, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(output) as progress:
        progress.step("reading", 1, 4)
        progress.step("reading", 2, 4)  # too soon after the other
    assert ("reading: 25 %" in stream.getvalue()) is shown
    assert "50 %" not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K") is shown


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("import", "-", "--format", "list", "--namespace", "rdl"), f"{NEVER}\tvalve\n"),
        (("import", "-", "--format", "tsv"), "subject\ttarget\nh:a\thttp://example.org/\n"),
    ],
)
@pytest.mark.usefixtures("rdl")
def test_tables_show_how_many_lines_are_done(run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], stdin: str) -> None:
    run("register", "h", "a")
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    run(*words, stdin=stdin)
    assert "\r\x1b[K    0 of 1" in stream.getvalue()
    assert "1 new; done" in stream.getvalue().rpartition("\r\x1b[K")[2]


def test_each_step_shows_when_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with Progress(Output()) as progress:
        progress.step("taking in", 3, 4)
        progress.step("finishing", 0, 4)
    assert "taking in: 75 %" in stream.getvalue() and "finishing: 0 %" in stream.getvalue()
