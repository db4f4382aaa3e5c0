"""Query processes that are kept for further queries."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

from pyoxigraph import NamedNode

from idstore.errors import StoreUnavailable
from idstore.queries.limits import check
from idstore.queries.process import ProcessAnswer, QueryProcess
from idstore.stores.contract import Limits

_NICE: Final = 10
"""How much a query stands back behind the server, so that short requests go on beside greedy queries."""


class QueryPool:
    """Query processes that wait for the next query: see `idstore.stores.contract.Runner`.

    Each runs one query at a time. One that was killed, that a query has ended, or that has used much memory
    is replaced. There are as many as queries ran at the same time. Close it, or use it in a ``with`` block.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[QueryProcess] = []
        self._closed = False
        # a process ends with the thread that starts it, and this one lasts as long as the pool
        self._starter = ThreadPoolExecutor(1, "query processes")
        self._starter.submit(self._prepare)

    def __call__(self, folder: str, text: str, graphs: Sequence[NamedNode], limits: Limits) -> ProcessAnswer:
        """Run a query in a process: see `QueryProcess.run`."""
        check(text)
        process = self._take()
        try:
            return process.run(folder, text, graphs, limits)
        finally:
            self._return(process)

    def close(self) -> None:
        """End all processes, also those that run a query."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for process in idle:
            process.close()
        self._starter.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _prepare(self) -> None:
        """Start a process before the first query comes."""
        self._return(self._start())

    def _start(self) -> QueryProcess:
        try:
            return QueryProcess(nice=_NICE, detached=True)
        except OSError as error:
            raise StoreUnavailable(
                f"no query process can be started: {error.strerror or error}; ask again later"
            ) from error

    def _take(self) -> QueryProcess:
        """Return a process, the last one that was used first: its engine is open. Raises StoreUnavailable."""
        while True:
            with self._lock:
                if self._closed:
                    raise _stopping()
                process = self._idle.pop() if self._idle else None
            if process is None:
                try:
                    started = self._starter.submit(self._start)
                except RuntimeError as error:  # the pool was closed just now
                    raise _stopping() from error
                return started.result()
            if process.is_alive:
                return process
            process.close()

    def _return(self, process: QueryProcess) -> None:
        with self._lock:
            keep = not self._closed and not process.is_worn and process.is_alive
            if keep:
                self._idle.append(process)
        if not keep:
            process.close()


def _stopping() -> StoreUnavailable:
    return StoreUnavailable("the server stops; ask again later")
