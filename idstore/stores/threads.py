"""Starting the threads of a store."""

import threading


def start(thread: threading.Thread) -> None:
    """Start a thread.

    Raises KeyboardInterrupt even if it arrives while the standard library waits for the thread: then the
    library's condition releases a lock that it does not hold, and raises RuntimeError.
    """
    try:
        thread.start()
    except RuntimeError as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None
        raise
