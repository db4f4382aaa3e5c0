"""The page of ``registry-op=ui``: the operations as forms. They are sent by POST, as a page may do."""

import secrets
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from idstore.errors import IdstoreError, InvalidData, SignInRequired
from idstore.model import times
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.registry import Registry
from idstore.registry.log import Remark
from idstore.server import pages, problems
from idstore.server.performer import Performer
from idstore.server.rdswip.answers import refuse
from idstore.server.rdswip.domains import Domain, domains_for
from idstore.server.rdswip.operations import OPERATIONS
from idstore.server.rdswip.parameters import ID, OPERATION, Parameters

_DONE: Final = {
    "acquire": "Allocated. Only those on its list of who may see it (grant list) do, until you fixate it.",
    "bind": "Bound.",
    "unbind": "The binding is removed.",
    "release": "Released. The identifier is never issued again.",
    "fixate": "Fixated: the identifier is published for ever.",
    "comment": "The comment is added.",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """An identifier on the page, and what the party can do with it."""

    record: Record
    remarks: list[Remark]
    owned: bool
    party: str

    @property
    def id(self) -> str:
        """The identifier as a whole."""
        return self.record.iri

    @property
    def created(self) -> str:
        """The time of the allocation."""
        return times.iso(self.record.created)

    @property
    def fixated(self) -> str:
        """The time of the fixation, or an empty text."""
        return "" if self.record.fixated is None else times.iso(self.record.fixated)

    @property
    def releasable(self) -> bool:
        """Whether the party may fixate or release it."""
        return self.owned and self.record.stage is Stage.CREATED

    @property
    def bindable(self) -> bool:
        """Whether the party may bind it."""
        return self.record.stage is Stage.FIXATED or self.owned

    @property
    def targets(self) -> list[tuple[str, str, bool]]:
        """Each binding's target and party, and whether the asking party may remove it."""
        return [(one.target, one.by, self.owned or one.by == self.party) for one in self.record.bindings]


async def page(performer: Performer, request: Request, sent: Parameters, done: str = "") -> Response:
    """Answer with the page, which shows the identifier that is asked for."""
    return await _page(performer, request, sent.id if sent.get(ID) else None, done)


async def submit(performer: Performer, request: Request, sent: Parameters) -> Response:
    """Carry out the operation of a form, and answer with the page. Raises SignInRequired."""
    name, id = sent.get(OPERATION) or "", sent.get(ID)
    try:
        if name not in _DONE:
            raise InvalidData(
                f"{name!r} is no operation of the page; use one of {', '.join(_DONE)}",
                field="operation",
                value=name,
            )
        elements = dict(await OPERATIONS[name].run(performer, request, sent))
    except SignInRequired:
        raise
    except IdstoreError as error:
        return await _refused(performer, request, error, id)
    if name == "release":
        return await _page(performer, request, None, f"{id}: {_DONE[name]}")
    return await _page(performer, request, elements[ID], _DONE[name])


async def _refused(performer: Performer, request: Request, error: IdstoreError, id: str | None) -> Response:
    """Answer with the page and the error; without the page if that cannot be made either."""
    try:
        answer = await _page(performer, request, id, error=error)
    except IdstoreError:
        try:
            answer = await _page(performer, request, None, error=error)
        except IdstoreError as second:
            return refuse(second)
    return answer


async def _page(
    performer: Performer,
    request: Request,
    id: str | None,
    done: str = "",
    error: IdstoreError | None = None,
) -> Response:
    party = request.state.caller.party

    def question() -> tuple[list[Domain], Shown | None]:
        registry = performer.registry
        return domains_for(registry, party), None if id is None else _shown(registry, id, party)

    domains, shown = await performer.run(request, "remarks", question)
    return pages.page(
        request,
        "rdswip_form.html",
        200 if error is None else problems.status_of(error),
        domains=[one.namespace for one in domains if one.permitted],
        shown=shown,
        done=done,
        error="" if error is None else problems.message(error),
        key=secrets.token_urlsafe(16),
    )


def _shown(registry: Registry, id: str, party: Party) -> Shown:
    record = registry.show(id, party)
    remarks = registry.remarks(record.iri, party)
    return Shown(record, remarks, record.owner == party.name, party.name)
