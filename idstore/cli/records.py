"""Records, namespaces and parties as text and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from idstore.characters import printable
from idstore.documents import Json, compact_iri, language_tag, namespace_types, record_json
from idstore.errors import IdstoreError
from idstore.model import times
from idstore.model.record import Stage

if TYPE_CHECKING:
    from idstore.cli.output import Output
    from idstore.model.binding import Binding
    from idstore.model.namespace import Namespace
    from idstore.model.party import Party, PartyFacts
    from idstore.model.record import Record
    from idstore.model.value import Value
    from idstore.registry.allocator import Allocator
    from idstore.registry.lists import Fullness
    from idstore.registry.log import Remark


COLUMNS: Final = ("identifier", "stage", "owner", "created", "name")
"""The columns of `RecordView.line`."""


@dataclass(frozen=True, slots=True)
class RecordView:
    """A record with its namespace and its comments, ready to print.

    parts  of an article: its files, its events and its old copies.
    """

    record: "Record"
    namespace: "Namespace"
    remarks: "Sequence[Remark]" = ()
    parts: "Sequence[Record]" = ()

    @property
    def iri(self) -> str:
        """IRI of the identifier."""
        return self.record.iri

    def line(self, lang: str | None = None) -> str:
        """Return IRI, stage, owner, time of creation and name, separated by tabs.

        lang  the language of the name, if there is one in it.
        """
        record = self.record
        first = record.names[0][1] if record.names else ""
        name = printable(dict(record.names).get((lang or "").lower(), first))
        return "\t".join(
            (self.iri, record.stage.value, record.owner, times.iso(record.created), name)
        ).rstrip()

    def text(self) -> str:
        """Return the whole record, one field a line."""
        return "\n".join([self.iri, *_aligned(self._fields())])

    def _fields(self) -> Iterator[tuple[str, str]]:
        record = self.record
        yield "namespace", f"{self.namespace.name} ({self.namespace.scheme_name})"
        yield "label", record.label
        if record.below is not None:
            yield record.kind or "part", f"part of article {record.below}"
        yield "stage", record.stage.value + (" (provisional)" if record.provisional else "")
        yield "owner", record.owner + (f" (offered to {record.offered})" if record.offered else "")
        yield "created", times.iso(record.created)
        if record.fixated is not None:
            yield "fixated", times.iso(record.fixated)
        yield from (("name", text + language_tag(lang)) for lang, text in record.names)
        if record.version is not None:
            yield "version", record.version
        if record.work is not None:
            yield "version of", record.work
        if record.target is not None:
            yield "target", record.target
        yield from (("value", f"{value.index} {value.type} {value.text}") for value in record.values)
        if record.deprecated or record.reason is not None:
            yield "revoked" if record.stage is Stage.TOMBSTONE else "deprecated", record.reason or "yes"
        yield from (("replaced by", successor) for successor in record.successors)
        yield from ((part.kind or "old copy", part.iri) for part in self.parts)
        yield from (("granted to", name + (" (may bind)" if binds else "")) for name, binds in record.grants)
        yield from (("bound to", _binding_text(binding)) for binding in record.bindings)
        yield from (("comment", _remark_text(remark)) for remark in self.remarks)

    def json(self) -> Json:
        """Return the whole record with the keys of the JSON contract."""
        parts = [{"id": part.iri, "kind": part.kind} for part in self.parts]
        return {
            **record_json(self.record, self.namespace, self.remarks),
            **({"parts": parts} if parts else {}),
        }


def value_line(value: "Value") -> str:
    """Return index, type, time to live, permissions, time of the last change and data, separated by tabs."""
    ttl = str(value.ttl) if value.until is None else times.iso(value.until)
    return "\t".join(
        (str(value.index), value.type, ttl, value.permissions, times.iso(value.at), printable(value.text))
    )


def record_views(
    registry: "Allocator", party: "Party", records: "Iterable[Record]", *, remarks: bool
) -> list[RecordView]:
    """Return records with namespace and, with ``remarks``, comments. Comments cost a read of the log each."""
    return [
        RecordView(record, registry.home(record), registry.remarks(record.iri, party) if remarks else ())
        for record in records
    ]


def new_record_json(
    output: "Output", registry: "Allocator", party: "Party", record: "Record", *, remarks: bool
) -> Json:
    """Return what ``--json`` prints of a new record; without ``--json`` nothing, and nothing is read.

    The record exists: if reading fails, the result has its IRI alone, and a warning gives the reason.
    """
    if not output.json:
        return {}
    try:
        [view] = record_views(registry, party, [record], remarks=remarks)
    except IdstoreError as error:
        output.warn(f"{record.iri} was created, but its record could not be read: {error.message}")
        return {"id": record.iri}
    return view.json()


def namespace_line(namespace: "Namespace") -> str:
    """Return name, base, scheme, owner, and ``open`` or ``frozen``, separated by tabs."""
    return "\t".join(
        (
            namespace.name,
            namespace.base,
            namespace.scheme_name,
            namespace.owner,
            "frozen" if namespace.frozen else "open",
        )
    )


def namespace_text(
    namespace: "Namespace", remarks: "Sequence[Remark]", derived: "Sequence[Namespace]", fullness: "Fullness"
) -> str:
    """Return the whole namespace, one field a line.

    derived  the namespaces whose prefix is derived from its prefix.
    """
    fields = [
        ("base", namespace.base),
        ("scheme", namespace.scheme_name),
        *(("setting", f"{key}={value}") for key, value in namespace.settings),
        *namespace.particulars,
        *(
            ("type", f"{type.code}: {type.title}" if type.title else type.code)
            for type in namespace_types(namespace)
        ),
        ("owner", namespace.owner + (f" (offered to {namespace.offered})" if namespace.offered else "")),
        ("created", times.iso(namespace.created)),
        (
            "allocation",
            "frozen" if namespace.frozen else ", ".join(sorted(namespace.allocators)) or "everyone",
        ),
        *([] if namespace.per_minute is None else [("per minute", str(namespace.per_minute))]),
        *(("derived", f"{child.name} {child.base}") for child in derived),
        ("identifiers", _fullness_text(fullness)),
        *(("comment", _remark_text(remark)) for remark in remarks),
    ]
    return "\n".join([namespace.name, *_aligned(fields)])


def _fullness_text(fullness: "Fullness") -> str:
    if fullness.space is None:
        return str(fullness.identifiers)
    share = 100 * fullness.identifiers / fullness.space
    return f"{fullness.identifiers} of {fullness.space} ({share:.2g} %)"


def party_line(party: "PartyFacts") -> str:
    """Return name, kind, groups, and ``suspended`` or nothing, separated by tabs."""
    suspended = "" if party.suspended is None else "suspended"
    return "\t".join((party.name, party.kind, ",".join(sorted(party.groups)), suspended)).rstrip()


def party_text(party: "PartyFacts", parties: "Iterable[PartyFacts]") -> str:
    """Return the whole party, one field a line."""
    fields = [("kind", party.kind), *(("member of", group) for group in sorted(party.groups))]
    fields += [("member", name) for name in members(party, parties)]
    if party.suspended is not None:
        fields.append(("suspended", party.suspended))
    return "\n".join([party.name, *_aligned(fields)])


def party_json(party: "PartyFacts", parties: "Iterable[PartyFacts]") -> Json:
    """Return all fields of a party; those of a group include its members."""
    fields: Json = {
        "name": party.name,
        "kind": party.kind,
        "groups": sorted(party.groups),
        "suspended": party.suspended,
    }
    return fields | {"members": members(party, parties)} if party.kind == "group" else fields


def members(group: "PartyFacts", parties: "Iterable[PartyFacts]") -> list[str]:
    """Return the names of the parties that belong to a group."""
    return [party.name for party in parties if group.name in party.groups]


def key_values(fields: Mapping[str, object]) -> str:
    """Return the fields that are not empty as ``key=value``, separated by spaces."""
    return " ".join(
        f"{key}={printable(compact_iri(_joined(value)))}"
        for key, value in fields.items()
        if value not in (None, "", [])
    )


def _joined(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _binding_text(binding: "Binding") -> str:
    note = f": {binding.note}" if binding.note else ""
    metadata = "".join(f", {name} {compact_iri(value)}" for name, value in binding.metadata.items())
    relation = compact_iri(binding.relation)
    return f"{binding.target} ({relation}, {binding.by}, {times.iso(binding.at)}{metadata}){note}"


def _remark_text(remark: "Remark") -> str:
    return f"{remark.text} ({remark.by}, {times.iso(remark.at)}{', internal' if remark.internal else ''})"


def _aligned(fields: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"  {key:<12} {printable(value)}" for key, value in fields)
