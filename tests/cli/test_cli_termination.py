"""On SIGTERM a command ends as on Ctrl-C, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from idstore.cli.output import Output, run_command
from idstore.cli.termination import Terminated

COMMAND = (sys.executable, "-m", "idstore")
PATIENCE = 30.0
"""Seconds to wait for an event."""


@pytest.fixture
def environment(rdl: str, store: Path, tmp_path: Path) -> dict[str, str]:
    assert rdl
    (tmp_path / "temporary").mkdir()
    return {
        **os.environ,
        "IDSTORE_STORE": str(store),
        "IDSTORE_USER": "alice",
        "TMPDIR": str(tmp_path / "temporary"),
    }


@pytest.mark.parametrize("times", [1, 2])
def test_a_terminated_command_leaves_no_temporary_files(environment: dict[str, str], times: int) -> None:
    temporary = Path(environment["TMPDIR"])
    with subprocess.Popen(
        [*COMMAND, "import", "-", "--format", "turtle"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        until = time.monotonic() + PATIENCE
        while not [*temporary.glob("idstore-*/*")] and time.monotonic() < until:
            time.sleep(0.01)
        assert [*temporary.iterdir()]
        for _ in range(times):
            process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143
        assert process.stdout is not None and process.stderr is not None
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"idstore: terminated\n")
    assert not [*temporary.iterdir()]


@pytest.mark.parametrize(
    ("interrupt", "code", "message"),
    [(KeyboardInterrupt, 130, "interrupted"), (Terminated, 143, "terminated")],
)
def test_an_interrupt_during_the_creation_of_a_class_is_an_interrupt(
    interrupt: type[BaseException], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """This happens while a command is being imported: Python 3.11 turns the interrupt into a RuntimeError."""

    class Named:
        def __set_name__(self, owner: type, name: str) -> None:
            raise interrupt

    def command() -> int:
        type("Owner", (), {"name": Named()})
        return 0

    assert run_command(command, Output()) == code
    assert capsys.readouterr().err == f"idstore: {message}\n"


def test_an_ignored_sigterm_stays_ignored(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        ["sh", "-c", f"trap '' TERM; exec {' '.join(COMMAND)} check -"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"R3732211754\n" * 2)
        process.stdin.flush()
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out.count(b"R3732211754")) == (0, 2)


def test_the_library_sets_no_signal_handlers() -> None:
    code = (
        "import signal, idstore.cli.app, idstore.__main__; assert "
        "signal.getsignal(signal.SIGTERM) is signal.SIG_DFL"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
