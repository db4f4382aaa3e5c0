"""Access of questions to engine and catalogue while batches take effect."""

import threading
from typing import Any


class Gate:
    """Keeps questions out while a batch takes effect, and admits the batch before later questions.

    Both are interpreter locks: no interrupt can occur between taking one and entering the block that releases
    it.
    A question uses them as follows::

        with gate.entrance: pass
        with gate.room: ...

    A batch holds both while it takes effect.
    """

    def __init__(self) -> None:
        self.entrance = threading.Lock()
        self.room = threading.RLock()

    @property
    def is_free(self) -> bool:
        """Whether the room can be entered at once, at this moment."""
        if self.entrance.locked() or not self.room.acquire(blocking=False):
            return False
        self.room.release()
        return True

    @property
    def is_mine(self) -> bool:
        """Whether this thread is in the room."""
        room: Any = self.room
        # the standard library's conditions ask the same way; a flag of our own could survive an interrupt
        owned: bool = room._is_owned()
        return owned
