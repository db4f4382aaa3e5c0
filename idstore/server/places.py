"""Places for requests that last: some for all callers, and few for each."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from idstore.errors import Overloaded
from idstore.server.sign_in import counted_as


class Places:
    """The places for one kind of request.

    most  of all callers.
    of_one  of one party that signed in, or of one address.
    what, remedy  what the requests do, and what else a caller can do, for the message.
    """

    def __init__(self, most: int, of_one: int, what: str, remedy: str) -> None:
        self._most, self._of_one = most, of_one
        self._what, self._remedy = what, remedy
        self._taken = Counter[str]()

    @contextmanager
    def place(self, request: Request) -> Iterator[None]:
        """Hold a place for the block. Raises Overloaded."""
        caller = counted_as(request)
        if self._taken[caller] >= self._of_one:
            raise Overloaded(
                f"{self._of_one} requests of this party or address {self._what} already, and no more may;"
                f" end one of them, or {self._remedy}"
            )
        if self._taken.total() >= self._most:
            raise Overloaded(f"too many requests {self._what}; ask later, or {self._remedy}")
        self._taken[caller] += 1
        try:
            yield
        finally:
            self._taken[caller] -= 1
            if not self._taken[caller]:
                del self._taken[caller]
