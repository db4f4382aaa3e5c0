"""Progress of long work on a terminal."""

import io
import re
import sys
from pathlib import Path

import pytest
from command_lines import NEVER, Run

from idstore.cli.output import Output
from idstore.cli.progress import Progress
from idstore.progress import Meter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "output", "term", "shown"),
    [
        (Terminal(), Output(), "xterm", True),
        (io.StringIO(), Output(), "xterm", False),
        (Terminal(), Output(quiet=True), "xterm", False),
        (Terminal(), Output(), "dumb", False),
        (Terminal(), Output(), "DUMB", False),
        (Terminal(), Output(), "unknown", False),
        (Terminal(), Output(), "", False),
        (Terminal(), Output(), None, False),
    ],
)
def test_progress_is_shown_on_a_terminal_only(
    stream: io.StringIO, output: Output, term: str | None, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(output) as progress:
        progress.step("reading", 1, 4)
        progress.step("reading", 2, 4)  # too soon after the other line
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
def test_tables_show_the_share_of_finished_lines(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], stdin: str
) -> None:
    run("register", "h", "a")
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    run(*words, stdin=stdin)
    assert "\r\x1b[K    lines: 0 %" in stream.getvalue()
    assert "1 new; done" in stream.getvalue().rpartition("\r\x1b[K")[2]


def test_each_step_is_shown_at_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with Progress(Output()) as progress:
        progress.step("taking in", 3, 4)
        progress.step("finishing", 0, 4)
    assert "taking in: 75 %" in stream.getvalue() and "finishing: 0 %" in stream.getvalue()


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (("export", "-o", "all.ttl"), ["identifiers", "public events"]),
        (("export", "--namespace", "h"), ["identifiers"]),
        (("export", "--format", "csv"), ["identifiers"]),
        (("export", "--digest"), ["identifiers", "public events"]),
        (("export", "--after", "0"), ["events"]),
        (("export", "--description"), ["identifiers"]),
        (("verify",), ["events", "identifiers", "labels", "unexplained triples", "lists"]),
        (("validate",), ["looking for what the shapes are about"]),
        (("validate", "--changed"), ["looking for what the shapes are about"]),
    ],
)
@pytest.mark.usefixtures("rdl")
def test_long_work_shows_its_progress(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], steps: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run("register", "h", "a")
    run("register", "h", "b")
    run("fixate", "h:b")
    quiet = run(*words)
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    watched = run(*words)
    shown = [
        re.sub(r": [\d,]+( %)?$", "", part.strip())
        for part in stream.getvalue().split("\r\x1b[K")
        if part.strip()
    ]
    assert [part for part in dict.fromkeys(shown) if part in steps] == steps
    assert watched.out == quiet.out
    assert watched.code == quiet.code == 0


def test_a_share_is_at_most_100_percent_and_an_unknown_total_gives_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with Progress(Output()) as progress:
        progress.step("labels", 5, 4)
        progress.step("triples", 12345, 0)
    assert "labels: 100 %" in stream.getvalue() and "triples: 12,345" in stream.getvalue()


def test_a_meter_reports_each_finished_item() -> None:
    reports: list[tuple[str, int, int]] = []
    meter = Meter(lambda *report: reports.append(report), "things", 3)
    passing = meter.over("ab")
    assert next(passing) == "a" and reports == [("things", 0, 3)]
    assert [*passing] == ["b"] and [*meter.over("c")] == ["c"]
    assert reports == [("things", done, 3) for done in (0, 1, 2, 2, 3)]
