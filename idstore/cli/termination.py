"""Reasons to end a command that the library does not raise: misuse of the command line, and SIGTERM."""

import signal
from types import FrameType


class UsageError(Exception):
    """A command line that cannot be carried out.

    command  the words of the command, as far as they are known.
    """

    command = "idstore"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM."""


def interrupt_of(error: BaseException) -> KeyboardInterrupt | None:
    """Return the interrupt behind an error, or None.

    Python 3.11 wraps one in a RuntimeError while it makes a class.
    """
    cause = error.__cause__ if isinstance(error, RuntimeError) else error
    return cause if isinstance(cause, KeyboardInterrupt) else None


def install_sigterm_handler() -> None:
    """Make SIGTERM end this process as Ctrl-C does.

    Changes are complete or undone, and temporary files are removed.
    Only the first signal counts, because `timeout`, for one, sends it twice and the second must not disturb
    the cleanup. A process that was started with SIGTERM ignored goes on ignoring it.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _handle_sigterm)


def _handle_sigterm(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, _ignore)  # not SIG_IGN, which child processes would inherit
    raise Terminated


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""
