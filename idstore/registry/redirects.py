"""Where a handle leads, as a proxy server of the Handle System answers it.

Besides stored handles, a proxy follows handles that begin with a stored one, where their namespace says so:
``template`` makes the values of such a handle from those of the stored one, ``pass_through`` appends the rest
of the handle to the address of the longest stored one.
Sources: Handle.Net technical manual, version 9, chapter 11; EZID, "Suffix Passthrough"
(https://ezid.cdlib.org/learn/suffix_passthrough).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from idstore.errors import (
    AmbiguousIdentifier,
    IdstoreError,
    InvalidData,
    InvalidIdentifier,
    NotRegistered,
    UnknownScheme,
)
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.value import Value, first_url, matching
from idstore.registry.lookup import label_node, visible_holder
from idstore.registry.resolution import (
    Lead,
    Resolution,
    ResolutionOptions,
    Resolver,
    chosen_values,
    lead_of,
    leads_to,
)
from idstore.registry.visibility import Sight
from idstore.schemes import templates, value_types
from idstore.schemes.handle_values import handle_in
from idstore.stores.contract import View

DELIMITERS: Final = "/@?#"
"""Characters at which the rest of a handle may begin; they belong to the rest."""
_TRIED: Final = 32
"""How many beginnings of a handle are looked up."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """The result of following a handle.

    resolution  the record with the answer, and the way to it; the target, if any.
    lead        the value that the target comes from.
    rest        the part of the handle to append to the target.
    passes      whether the namespace lets requests append to targets.
    made        whether a template made the values of the answer.
    """

    resolution: Resolution
    lead: Lead
    rest: str = ""
    passes: bool = False
    made: bool = False


class Redirects(Resolver):
    """Resolution as a proxy server does it."""

    def redirect(
        self, handle: str, party: Party, options: ResolutionOptions = ResolutionOptions()
    ) -> Redirect:
        """Follow a handle, written with a URI scheme or proxy.

        As `resolve`, with these differences: a visible handle that leads nowhere is returned without target;
        with types or indexes, the target is that of these values; handles that begin with a registered one
        may lead somewhere.
        Raises as `resolve`; where a template or its references cannot be applied, NotRegistered.
        """

        def question(view: View) -> Redirect:
            facts, sight = self.core.facts(view), self.core.sight(view, party)
            try:
                found = _Found(self._named(view, handle, sight))
            except (NotRegistered, InvalidIdentifier) as error:
                found = self._beginning(view, handle, sight, error)
            resolution = self._followed(view, found.record, sight, options)
            passes = self._passes(facts.by_base.get(resolution.answer.namespace))
            if resolution.buried or resolution.target is not None or resolution.copies:
                return Redirect(resolution, Lead(resolution.target), found.rest, passes, found.made)
            values: tuple[Value, ...] = ()
            if options.types or options.indexes:
                values = chosen_values(resolution.answer, options)
                lead = lead_of(resolution.answer, values, options)
            else:
                lead = leads_to(resolution.answer, options, facts.names)
            resolution = replace(resolution, target=lead.target, values=values)
            return Redirect(resolution, lead, found.rest, passes, found.made)

        return self.store.read(question)

    def _passes(self, namespace: Namespace | None) -> bool:
        return namespace is not None and namespace.context.settings.get("pass_through") == "true"

    def _beginning(self, view: View, text: str, sight: Sight, error: IdstoreError) -> "_Found":
        """Return the record that an unregistered handle begins with. Raises the error if there is none."""
        for namespace in self._extended(view, text):
            handle = handle_in(text)
            template = namespace.context.settings["template"]
            if template:
                divided = templates.parse(template).divide(handle)
                if divided is not None:
                    parts = templates.Parts(handle, *divided)
                    return self._constructed(view, namespace, template, parts, sight, error)
            if self._passes(namespace):
                for end in _ends(handle):
                    record = self._held(view, namespace, f"hdl:{handle[:end]}", sight)
                    if record is not None:
                        return _Found(record, handle[end:])
        raise error

    def _extended(self, view: View, text: str) -> Iterator[Namespace]:
        """Yield the namespace of a handle, if unregistered handles may lead somewhere there."""
        for namespace in self.core.facts(view).index.candidates(text, whole=True):
            try:
                settings: Mapping[str, str] = namespace.context.settings
            except UnknownScheme:  # its package is not installed
                continue
            if settings.get("template") or self._passes(namespace):
                yield namespace

    def _held(self, view: View, namespace: Namespace, text: str, sight: Sight) -> Record | None:
        """Return the record of a handle of a namespace, if it is visible."""
        try:
            label = namespace.scheme.label(text, namespace.context)
        except InvalidIdentifier:
            return None
        holder = visible_holder(view, namespace, label_node(namespace, label), sight)
        return None if holder is None else self.core.load(view, holder, sight)

    def _constructed(
        self,
        view: View,
        namespace: Namespace,
        template: str,
        parts: templates.Parts,
        sight: Sight,
        error: IdstoreError,
    ) -> "_Found":
        """Return the record of a handle that a template makes. Raises the error if it makes none."""
        base = self._held(view, namespace, f"hdl:{parts.base}", sight)
        if base is None:
            if "/" in parts.base:
                raise error
            base = _without_values(namespace, parts.extension)
        if base.stage is Stage.TOMBSTONE:
            return _Found(base)
        own = next((value for value in _public(base) if _has_template(value)), None)

        def referenced(index: int, handle: str) -> str | None:
            try:
                record = self._named(view, f"hdl:{handle}", sight)
            except (NotRegistered, AmbiguousIdentifier, InvalidIdentifier):
                return None
            return next((value.text for value in matching(_public(record), (), [index])), None)

        values = _public(base)
        made = [
            templates.Made(value.index, value.type, value.text, place) for place, value in enumerate(values)
        ]
        try:
            constructed = templates.construct(
                templates.parse(template if own is None else own.text),
                parts,
                made,
                referenced=referenced,
                case_sensitive=namespace.context.settings.get("case_sensitive") == "true",
            )
        except (templates.NotFound, InvalidData):
            raise error from None
        new = tuple(_value(one, values) for one in constructed)
        url = first_url(new)
        return _Found(
            replace(base, values=new, target=None if url is None else url.iri, bindings=()), made=True
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """The record for a handle, the rest of the handle, and whether a template made the record's values."""

    record: Record
    rest: str = ""
    made: bool = False


def _ends(handle: str) -> list[int]:
    """Return where the beginnings of a handle end that may be registered, the longest first.

    >>> _ends("12345/a/b@c")
    [9, 7]
    """
    start = handle.index("/") + 2
    return [place for place in range(start, len(handle)) if handle[place] in DELIMITERS][:_TRIED][::-1]


def _public(record: Record) -> list[Value]:
    return [value for value in record.values if value.public]


def _has_template(value: Value) -> bool:
    return value.is_type(value_types.NAMESPACE) and "<template" in value.text


def _value(made: templates.Made, values: list[Value]) -> Value:
    """Return a value that a template made; it keeps the other properties of the one that it was made from."""
    if made.origin is None:
        return Value(made.index, made.type, made.data)
    origin = values[made.origin]
    data = origin.data if made.data == origin.text else made.data
    return replace(origin, index=made.index, type=made.type, data=data)


def _without_values(namespace: Namespace, label: str) -> Record:
    """Return the base of a prefix whose handles are all made from a template."""
    return Record(
        iri=namespace.iri.value,
        type=namespace.iri.value,
        namespace=namespace.base,
        label=label,
        stage=Stage.FIXATED,
        owner=namespace.owner,
        created=namespace.created,
    )
