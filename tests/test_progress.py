"""What a terminal is shown of long work."""

import io
import sys

import pytest

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


def test_each_step_shows_when_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with Progress(Output()) as progress:
        progress.step("taking in", 3, 4)
        progress.step("finishing", 0, 4)
    assert "taking in: 75 %" in stream.getvalue() and "finishing: 0 %" in stream.getvalue()
