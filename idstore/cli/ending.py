"""What ends a command, beside what the library raises: a command line that cannot be carried out; and SIGTERM, as Ctrl-C does."""

import signal
from types import FrameType


class Misuse(Exception):
    """A command line whose parts do not go together.

    command  the words of the command, as far as they are known.
    """

    command = "idstore"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Terminated(KeyboardInterrupt):
    """SIGTERM came."""


def interrupt_in(error: BaseException) -> KeyboardInterrupt | None:
    """The interrupt that an error is; or stands for, as where Python 3.11 was making a class."""
    found = error.__cause__ if isinstance(error, RuntimeError) else error
    return found if isinstance(found, KeyboardInterrupt) else None


def heed_termination() -> None:
    """Have SIGTERM end this process as Ctrl-C does: what it was doing is undone or whole, and its temporary files are removed.

    `timeout`, among others, sends it twice: after the first no other disturbs the clearing up. Whoever started us ignoring it means that.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, _pass_over)  # not SIG_IGN, which processes of our own would inherit
    raise Terminated


def _pass_over(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""
