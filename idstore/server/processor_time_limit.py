"""A limit of the time in which work keeps the processor busy, and all others waiting."""

import time

from idstore.errors import RequestTooLarge


class ProcessorTimeLimit:
    """Ends an import that takes too long, as the function that it tells of its progress.

    seconds  of the processor, from the first call on. All calls are in one thread.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._begun: float | None = None

    def __call__(self, what: str, done: int, total: int) -> None:  # noqa: ARG002 a `Progress`
        """Raise RequestTooLarge after the seconds."""
        now = time.thread_time()
        self._begun = now if self._begun is None else self._begun
        if now - self._begun > self._seconds:
            raise RequestTooLarge(
                f"this import took more than {self._seconds:g} seconds of the processor for its first {done}"
                f" {what}; nothing was changed: divide the file, or let an administrator import it",
                field="file",
            )
