"""Carries out operations for the callers of requests; all interfaces use it."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from starlette.requests import Request

from idstore.exchange.limits import too_many
from idstore.model.party import Party
from idstore.operations.declared import OPERATIONS
from idstore.operations.operation import ApiOperation
from idstore.registry import Registry
from idstore.server.sign_in import Caller, counted_as
from idstore.server.workers import Workers

T = TypeVar("T")


class Performer:
    """Carries out declared operations with the rights of the caller, in the threads of the workers."""

    def __init__(self, registry: Registry, workers: Workers) -> None:
        self.registry, self._workers = registry, workers

    async def perform(self, request: Request, name: str, /, **arguments: Any) -> Any:
        """Return the result of an operation, by its name and the arguments of its function.

        The acting party and the limits of its token come from the request.
        Raises what the operation raises; SignInRequired, NotPermitted; Overloaded, LimitReached,
        OutcomeUnknown.
        """
        return await self.answer(request, name, lambda result: result, **arguments)

    async def answer(self, request: Request, name: str, write: Callable[[Any], T], /, **arguments: Any) -> T:
        """Return what ``write`` makes of the result of an operation, in its thread: see `perform`.

        Raises also TooManyQueries: the caller has several reads that are not answered yet.
        """
        operation = OPERATIONS[name]

        def work() -> T:
            caller = request.state.caller
            allowed = permitted(caller, self.registry, operation, arguments)
            return write(operation.run(self.registry, **allowed))

        if not operation.writes and operation.scans(operation.values(arguments)):
            return await self._workers.scan(operation, work, counted_as(request))
        return await self._workers.run(operation, work, counted_as(request))

    async def check(self, request: Request, name: str, /, **arguments: Any) -> None:
        """Raise SignInRequired or NotPermitted as `perform` does, and carry out nothing."""
        operation, caller = OPERATIONS[name], request.state.caller
        work = partial(permitted, caller, self.registry, operation, arguments)
        await self._workers.run(operation, work, counted_as(request))

    async def run(self, request: Request | None, name: str, work: Callable[[], T]) -> T:
        """Return the result of ``work``, which reads, in the threads of the operation ``name``.

        request  None: the work is for several requests, or comes before the sign-in.
        It checks no rights: ``work`` must pass the caller's party (or NOBODY) to the registry. Raises as
        `perform`.
        """
        caller = None if request is None else counted_as(request)
        return await self._workers.run(OPERATIONS[name], work, caller)


def permitted(
    caller: Caller, registry: Registry, operation: ApiOperation, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments with the acting party.

    Raises SignInRequired, NotPermitted: not for this caller. Raises RequestTooLarge.
    """
    _check_items(caller.party, registry, operation, arguments)
    caller.check(operation, registry, arguments)
    return arguments | ({"party": caller.party} if operation.knows_party else {})


def _check_items(
    party: Party, registry: Registry, operation: ApiOperation, arguments: dict[str, Any]
) -> None:
    """Raise RequestTooLarge for more items than a party sends that does not administer the registry."""
    for name, most in operation.most.items():
        parameter, _, within = name.partition(".")
        items = operation.argument(parameter, arguments) or ()
        number = sum(len(attrgetter(within)(item)) for item in items) if within else len(items)
        if number > most and not registry.administers(party):
            what = f"{name.rpartition('.')[2]} in its {parameter}" if within else name
            raise too_many(what, most, number, parameter)
