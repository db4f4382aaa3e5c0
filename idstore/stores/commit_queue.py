"""The commit queue: decides the order of tasks, and which acts share a batch."""

import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from idstore.errors import StoreUnavailable
from idstore.model import times
from idstore.stores.task import ActTask, FunctionTask, Task

_MAX_ACTS: Final = 64
"""Maximum number of acts in a batch: the first act waits for the last."""
_POLL_INTERVAL: Final = 0.05
"""Maximum seconds between two looks at the clock, which may be set back."""


class CommitQueue:
    """Tasks in the order of their arrival.

    Any thread may call `put`, `end` and `refuse`; only the writer calls the others.

    held  the function that holds the queue; no act runs during a hold.
    """

    def __init__(self) -> None:
        self.held: FunctionTask[Any] | None = None
        self._tasks: queue.SimpleQueue[Task[Any] | None] = queue.SimpleQueue()
        # postponed acts, each with the name of its waiting line
        self._postponed: deque[tuple[str, ActTask[Any]]] = deque()
        self._held_back: deque[Task[Any]] = deque()  # tasks that wait for the end of a hold
        self._next_function: FunctionTask[Any] | None = None
        self._refusing = threading.Lock()

    @property
    def waiting(self) -> int:
        """Number of tasks that wait, about."""
        return self._tasks.qsize() + len(self._postponed) + len(self._held_back)

    def put(self, task: Task[Any]) -> None:
        """Add a task."""
        self._tasks.put(task)

    def end(self) -> None:
        """Make `next` return None after the present tasks."""
        self._tasks.put(None)

    def next(self) -> list[ActTask[Any]] | FunctionTask[Any] | None:
        """Return the acts to run together, due ones first; or a function; or None for the end."""
        following, self._next_function = self._next_function, None
        if following is not None:
            return following
        batch = self._due()
        while len(batch) < _MAX_ACTS:
            try:
                task = self._tasks.get_nowait() if batch else self._tasks.get(timeout=self._pause())
            except queue.Empty:
                break
            if task is None:
                if not batch:
                    return None
                self._tasks.put(None)
                break
            if self.held is not None and task.waits:
                self._held_back.append(task)
            elif isinstance(task, ActTask):
                batch.append(task)
            elif isinstance(task, FunctionTask):
                if not batch:
                    return task
                self._next_function = task
                break
        return batch

    def _due(self) -> list[ActTask[Any]]:
        """Return the postponed acts that are due, by due time."""
        if not self._postponed or self.held is not None:
            return []
        now = times.now()
        due = [task for _, task in self._postponed if task.is_due(now)]
        if due:
            self._postponed = deque(pair for pair in self._postponed if pair[1] not in due)
        return sorted(due, key=lambda task: task.due)

    def _pause(self) -> float | None:
        """Return the seconds until the first postponed act is due, None if there is none."""
        if not self._postponed or self.held is not None:
            return None
        first = min(task.due for _, task in self._postponed)
        return min(max(0.0, (first - times.now()) / 1000), _POLL_INTERVAL)

    def postpone(self, task: ActTask[Any], moment: int, line: str) -> None:
        """Schedule an act to run again at a moment, or later if another act of the same line has that moment.

        Acts of one line stay at least a millisecond apart: at equal moments all but one would run in vain.
        """
        last = max((other.due for queued, other in self._postponed if queued == line), default=0)
        task.postpone(max(moment, last + 1))
        self._postponed.append((line, task))

    def put_first(self, task: ActTask[Any]) -> None:
        """Schedule an act that did not fit into its batch for the next batch."""
        self._postponed.appendleft(("", task))

    def release(self, hold: FunctionTask[Any]) -> None:
        """End a hold, unless another hold has begun since."""
        if self.held is not hold:
            return
        self.held = None
        while self._held_back:
            self._tasks.put(self._held_back.popleft())

    def refuse(self, error: Callable[[], StoreUnavailable]) -> None:
        """Answer each waiting task with an error of its own. Only after the writer's last `next`."""
        with self._refusing:
            tasks = self._take_all()
        for task in tasks:
            task.fail(error())

    def _take_all(self) -> list[Task[Any]]:
        """Return all waiting tasks, which wait no more."""
        waiting: list[Task[Any]] = [*self._held_back, *(task for _, task in self._postponed)]
        waiting += filter(None, [self._next_function])
        self._held_back.clear()
        self._postponed.clear()
        self._next_function = None
        with suppress(queue.Empty):
            while True:
                task = self._tasks.get_nowait()
                waiting += [] if task is None else [task]
        return waiting
