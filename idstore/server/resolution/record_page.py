"""The pages of resolution: a record, an error, and the form to ask for an identifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby, islice
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from idstore.documents import compact_iri, event_json
from idstore.errors import AmbiguousIdentifier, IdstoreError, NotRegistered
from idstore.model import times
from idstore.model.binding import Binding
from idstore.model.event import Event
from idstore.model.filter import Filter
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.terms import UNDETERMINED
from idstore.registry import Registry
from idstore.registry.resolution import Resolution
from idstore.server import pages, problems
from idstore.server.resolution import links
from idstore.server.resolution.kernel import PROMISES
from idstore.server.resolution.negotiation import DATA, LINKSETS, TEXT
from idstore.web_addresses import location

EVENTS: Final = 100
"""Most events of a trail that a page shows."""
ITEMS: Final = 100
"""Most bindings, values and comments that a page shows: the other formats have all."""
LONGEST: Final = 5_000
"""Most characters of a text of others that a page shows."""
_SHOWN_APART: Final = ("event", "kind", "about", "by", "at", "lang")
_FORMS: Final = {
    "alias": "under an alias prefix",
    "bare": "label",
    "details": "older web address",
    "doi": "DOI name",
    "handle": "handle",
    "hdl": "hdl form",
    "info": "info URI",
    "name": "citation name",
    "proxy": "resolver",
    "uri": "URI",
    "web": "web address",
}
"""What the kinds of written forms are called."""


@dataclass(frozen=True, slots=True)
class Linked:
    """An IRI to show; ``href`` is an address on the web, None for any other IRI."""

    text: str
    href: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """An event of the trail."""

    act: str
    by: str
    at: str
    details: Sequence[tuple[str, str]]


def values(registry: Registry, party: Party, record: Record, resolution: Resolution | None) -> dict[str, Any]:
    """Return what a page shows of a record to a party.

    Raises as `Registry.show`: it was released meanwhile.
    """
    iri, namespace = record.iri, registry.home(record)
    citation = registry.citation(iri, party)
    forms = {form.kind: form.text for form in citation.forms}
    entries = [*islice(registry.log(party, Filter(id=iri)), EVENTS + 1)]
    remarks, said = registry.remarks(iri, party), dict(namespace.particulars)
    return {
        "record": record,
        "short": forms.get("handle", record.label),
        "iri": linked(iri),
        "forms": [(_FORMS.get(form.kind, form.kind), linked(form.text)) for form in citation.forms],
        "latest": citation.latest and linked(citation.latest),
        "this_version": citation.this_version and linked(citation.this_version),
        "promise": PROMISES[record.stage],
        "names": [(None if lang == UNDETERMINED else lang, _cut(text)) for lang, text in record.names],
        "target": _target(record, resolution),
        "leads": _way(record, resolution),
        "successors": [_local(registry, party, one) for one in record.successors],
        "work": record.work and _local(registry, party, record.work),
        "below": record.below and _local(registry, party, record.below),
        "ended": None if resolution is None or resolution.ended is None else times.iso(resolution.ended),
        "copies": [_local(registry, party, one.iri) for one in (resolution.copies if resolution else ())],
        "bindings": _grouped(record),
        "more": max(map(len, (record.bindings, record.values, remarks))) > ITEMS,
        "values": [
            (one.index, one.type, _cut(one.text), linked(one.text, record).href, one.public)
            for one in record.values[:ITEMS]
        ],
        "remarks": [(_cut(one.text), one.by, times.iso(one.at), one.internal) for one in remarks[:ITEMS]],
        "steps": [_step(entry.event) for entry in entries[:EVENTS]],
        "more_steps": len(entries) > EVENTS,
        "created": times.iso(record.created),
        "fixated": None if record.fixated is None else times.iso(record.fixated),
        "namespace": namespace,
        "particulars": [(name, linked(text)) for name, text in said.items()],
    }


def response(request: Request, shown: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> Response:
    """Return the page of a record. Its links to formats are relative to the address of the request."""
    formats = [
        (one.title, one.media_type, links.reference(request, one.name)) for one in (*DATA, TEXT, *LINKSETS)
    ]
    return pages.page(request, "record.html", status, headers, formats=formats, **shown)


def refusal(request: Request, error: IdstoreError, status: int, headers: Mapping[str, str]) -> Response:
    """Return the page of an error."""
    candidates = error.fields.get("candidates") if isinstance(error, AmbiguousIdentifier) else None
    assert isinstance(candidates, list | None)
    return pages.page(
        request,
        "refusal.html",
        status,
        headers,
        absent=status == HTTPStatus.NOT_FOUND,
        hidden=isinstance(error, NotRegistered),
        message=problems.message(error),
        candidates=candidates or [],
    )


def form(request: Request, headers: Mapping[str, str]) -> Response:
    """Return the page with the form that asks for an identifier."""
    return pages.page(request, "resolve.html", 200, headers)


def linked(text: str, record: Record | None = None) -> Linked:
    """Return an IRI with its address on the web, if it has one.

    record  the record that states the IRI: a tombstone's page leads nowhere that it led before.
    """
    is_withdrawn = record is not None and record.stage is Stage.TOMBSTONE
    return Linked(text, None if is_withdrawn else location(text))


def _local(registry: Registry, party: Party, iri: str) -> tuple[Linked, bool]:
    """Return an identifier, and whether this registry can show it to the party."""
    try:
        registry.show(iri, party)
    except IdstoreError:
        return linked(iri), False
    return linked(iri), True


def _target(record: Record, resolution: Resolution | None) -> Linked | None:
    """Return the target to show.

    It is the one that the record resolves to, or the own one of a tombstone, without a link.
    """
    if resolution is not None and resolution.target is not None:
        return linked(resolution.target)
    return None if record.target is None else Linked(record.target, None)


def _way(record: Record, resolution: Resolution | None) -> list[Linked]:
    """Return the identifiers by which an identifier leads to its target, without itself."""
    path = () if resolution is None else resolution.path
    return [linked(iri) for iri in path if iri != record.iri]


def _grouped(record: Record) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the bindings of a record by relation."""
    ordered = sorted(record.bindings[:ITEMS], key=lambda one: compact_iri(one.relation))
    return [
        (name, [_binding(one, record) for one in group])
        for name, group in groupby(ordered, lambda one: compact_iri(one.relation))
    ]


def _binding(binding: Binding, record: Record) -> dict[str, Any]:
    return {
        "target": linked(binding.target, record),
        "by": binding.by,
        "at": times.iso(binding.at),
        "note": _cut(binding.note or ""),
        "metadata": [(name, _cut(text)) for name, text in binding.metadata.items()],
    }


def _step(event: Event) -> Step:
    said = event_json(event)
    details = [(name, _text(value)) for name, value in said.items() if name not in _SHOWN_APART]
    return Step(event.act, event.by, times.iso(event.at), details)


def _text(value: object) -> str:
    return _cut(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
