"""How much a party may ask: queries at a time, and the limits of each."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from idstore.errors import InvalidData, LimitReached, TooManyQueries
from idstore.model.party import NOBODY
from idstore.queries.limits import LEAST_MEMORY, LONGEST, MEMORY, ROWS, SECONDS
from idstore.server.query_answers import LongAnswer, watched
from idstore.server.sign_in import counted_as

ANONYMOUS_TOGETHER: Final = 2
"""Anonymous queries at a time: the other query processes are for parties that signed in."""
_WAITING: Final = 16
"""Queries of one party that may wait for its others to end."""


@dataclass(frozen=True, slots=True)
class QueryAllowance:
    """The table ``[queries]``: the limits of each party that signs in.

    requests   queries at a time; a few others wait.
    seconds    of a query.
    rows       of an answer, or triples; the rest is cut off.
    megabytes  of memory of a query, and of its answer.
    Raises InvalidData.
    """

    requests: int = 2
    seconds: float = SECONDS
    rows: int = ROWS
    megabytes: int = MEMORY >> 20

    def __post_init__(self) -> None:
        least = LEAST_MEMORY >> 20
        for key, fits, rule in (
            ("requests", self.requests > 0, "more than 0"),
            ("seconds", 0 < self.seconds < LONGEST, f"more than 0 and less than {LONGEST:g}"),
            ("rows", self.rows > 0, "more than 0"),
            ("megabytes", self.megabytes >= least, f"at least {least}"),
        ):
            if not fits:
                raise InvalidData(f"{key}: {getattr(self, key)} is no such limit; write {rule}", key=key)

    def within(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the time limit and the number of rows of a query, which asks for no more than this."""
        seconds, rows = arguments.get("timeout", SECONDS), arguments.get("rows", ROWS)
        return {
            "timeout": min(seconds, self.seconds),
            "rows": self.rows if rows is None else min(rows, self.rows),
        }

    @property
    def header(self) -> str:
        """The limits as a header announces them: a dictionary of RFC 9651."""
        return (
            f"requests={self.requests}, seconds={self.seconds:g}, rows={self.rows},"
            f" megabytes={self.megabytes}"
        )

    @property
    def sentence(self) -> str:
        """The limits for human readers."""
        return (
            f"{self.requests} queries at a time, {self.seconds:g} seconds and {self.megabytes} MB of memory"
            f" for each, {self.rows} rows or triples in an answer; the rest is cut off, and the header"
            " Idstore-Truncated says so."
        )


@dataclass(frozen=True, slots=True)
class AnonymousAllowance(QueryAllowance):
    """The table ``[anonymous_queries]``: the limits of each address without a sign-in."""

    seconds: float = 10.0
    megabytes: int = 1024


class Allowances:
    """The places for queries of each party."""

    def __init__(
        self, signed_in: QueryAllowance = QueryAllowance(), anonymous: QueryAllowance = AnonymousAllowance()
    ) -> None:
        self._signed_in, self._anonymous = signed_in, anonymous
        self._together = asyncio.Semaphore(ANONYMOUS_TOGETHER)
        self._places: dict[str, _Places] = {}

    def of(self, request: Request) -> QueryAllowance:
        """Return the limits of the caller."""
        return self._anonymous if request.state.caller.party == NOBODY else self._signed_in

    async def answer(
        self, request: Request, ask: Callable[[QueryAllowance, Callable[[], bool]], Awaitable[Response]]
    ) -> Response:
        """Return the answer to a query, which holds a place of the caller until it is sent.

        ask  runs the query within an allowance, and while a function does not tell that its client has gone.
        Raises TooManyQueries: as many wait already. Raises what ``ask`` raises.
        """
        async with AsyncExitStack() as place:
            allowance = await place.enter_async_context(self._place(request))
            try:
                async with watched(request) as gone, self._running(request):
                    response = await ask(allowance, gone)
            except LimitReached as error:
                if request.client is None or error.fields.get("seconds") != allowance.seconds:
                    raise
                raise LimitReached(
                    f"the query reached the time limit of this server, {allowance.seconds:g} s; ask for less",
                    limit="time",
                    seconds=allowance.seconds,
                ) from error
            if isinstance(response, LongAnswer):
                response.place = place.pop_all()
        return response

    @asynccontextmanager
    async def _place(self, request: Request) -> AsyncIterator[QueryAllowance]:
        """Wait for a place of the caller, and hold it for the block."""
        allowance = self.of(request)
        key = counted_as(request)
        places = self._places.setdefault(key, _Places(asyncio.Semaphore(allowance.requests)))
        if places.taken >= allowance.requests + _WAITING:
            raise TooManyQueries(
                f"{places.taken} queries of this caller are not answered yet; wait for their answers",
                requests=allowance.requests,
            )
        places.taken += 1
        try:
            async with places.free:
                yield allowance
        finally:
            places.taken -= 1
            if not places.taken:
                self._places.pop(key, None)

    def _running(self, request: Request) -> AbstractAsyncContextManager[None]:
        """Return a block in which a query runs: few of all anonymous callers run at a time."""
        return self._together if request.state.caller.party == NOBODY else nullcontext()


@dataclass(slots=True)
class _Places:
    """The places of one caller. ``taken`` counts the queries that wait, run, or send their answers."""

    free: asyncio.Semaphore
    taken: int = 0
