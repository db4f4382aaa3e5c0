"""The operations of ``registry-op``. Each is one of the declared operations, with its rights and limits."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from idstore.model import particulars, times
from idstore.model.filter import Filter
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.bindings import Statement
from idstore.registry.requests import Request as MintRequest
from idstore.schemes.rdswip import NAME as SCHEME
from idstore.server.performer import Performer
from idstore.server.rdswip import domains
from idstore.server.rdswip.answers import Elements
from idstore.server.rdswip.parameters import BASE, COMMENT, ID, KEY, NAME, TARGET, Parameters

Run = Callable[[Performer, Request, Parameters], Awaitable[Elements]]


@dataclass(frozen=True, slots=True)
class RegistryOperation:
    """What a value of ``registry-op`` does.

    run      returns the elements of the answer.
    changes  whether it changes the registry.
    """

    run: Run
    changes: bool = True


async def acquire_id(
    performer: Performer, request: Request, base: str, sent: Mapping[str, str | None]
) -> str:
    """Mint an identifier under a base, and return it whole. Raises as `Registry.mint`."""
    wanted = MintRequest(comment=sent.get(COMMENT), request_key=sent.get(KEY))
    record = await performer.perform(request, "mint", namespace=base, request=wanted)
    return str(record.iri)


async def _acquire(performer: Performer, request: Request, sent: Parameters) -> Elements:
    id = await acquire_id(performer, request, sent.base, {COMMENT: sent.get(COMMENT), KEY: sent.get(KEY)})
    return [(ID, id)]


async def _bind(performer: Performer, request: Request, sent: Parameters) -> Elements:
    statement = Statement(sent.required(TARGET))
    await performer.perform(request, "bind", id=sent.id, statement=statement)
    return [(ID, sent.id)]


async def _unbind(performer: Performer, request: Request, sent: Parameters) -> Elements:
    statement = Statement(sent.required(TARGET))
    await performer.perform(request, "unbind", id=sent.id, statement=statement)
    return [(ID, sent.id)]


async def _release(performer: Performer, request: Request, sent: Parameters) -> Elements:
    await performer.perform(request, "release", id=sent.id)
    return [(ID, sent.id)]


async def _fixate(performer: Performer, request: Request, sent: Parameters) -> Elements:
    await performer.perform(request, "fixate", ids=[sent.id])
    return [(ID, sent.id)]


async def _comment(performer: Performer, request: Request, sent: Parameters) -> Elements:
    await performer.perform(request, "comment", id=sent.id, remark=sent.required(COMMENT))
    return [(ID, sent.id)]


async def _info(performer: Performer, request: Request, sent: Parameters) -> Elements:
    id, party = sent.id, request.state.caller.party
    return await performer.run(request, "remarks", lambda: info(performer.registry, id, party))


def info(registry: Registry, id: str, party: Party) -> Elements:
    """Return what a party may see of an identifier, by the names of the original.

    Raises as `Registry.show`.
    """
    record = registry.show(id, party)
    iri = record.iri
    elements = [
        (ID, iri),
        ("stage", record.stage.value),
        ("registeredOn", times.iso(record.created)),
        ("registeredBy", registry.authority(iri, party).created_by),
        ("grantRightsTo", record.owner),
        *(("grantRightsTo", name) for name, _ in record.grants),
        *(("comment", remark.text) for remark in registry.remarks(iri, party)),
        *(("boundTo", binding.target) for binding in record.bindings),
    ]
    if record.fixated is not None:
        elements.append(("fixatedOn", times.iso(record.fixated)))
        by = [entry.event.by for entry in registry.log(party, Filter(id=iri, kinds=("Fixation",)))]
        elements += [("fixatedBy", name) for name in by[-1:]]
    return elements


async def _list(performer: Performer, request: Request, sent: Parameters) -> Elements:  # noqa: ARG001
    spaces = await performer.run(request, "namespaces", lambda: domains.domains(performer.registry))
    return [(BASE, space.base) for space in spaces]


async def _add_base(performer: Performer, request: Request, sent: Parameters) -> Elements:
    base, comment = sent.base, sent.get(COMMENT)
    description = None if comment is None else particulars.checked("description", comment)
    name = sent.get(NAME) or _name_of(base)
    acts: list[tuple[str, dict[str, object]]] = [
        ("add_namespace", {"name": name, "base": base, "scheme": SCHEME})
    ]
    if description is not None:
        acts.append(("set_namespace", {"name": base, "changes": {"description": description}}))
    for act, arguments in acts:  # all, before one of them takes effect
        await performer.check(request, act, **arguments)
    for act, arguments in acts:
        await performer.perform(request, act, **arguments)
    return [(BASE, base)]


def _name_of(base: str) -> str:
    """Return the name of a namespace for a base: host and path, as ``rdl.example.org-data``."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", base.partition("://")[2]).strip("-._")[:64]


OPERATIONS: Final[Mapping[str, RegistryOperation]] = {
    "acquire": RegistryOperation(_acquire),
    "bind": RegistryOperation(_bind),
    "unbind": RegistryOperation(_unbind),
    "release": RegistryOperation(_release),
    "fixate": RegistryOperation(_fixate),
    "comment": RegistryOperation(_comment),
    "info": RegistryOperation(_info, changes=False),
    "list": RegistryOperation(_list, changes=False),
    "add-base": RegistryOperation(_add_base),
}
"""``registry-op`` → operation; ``ui`` answers a page."""
