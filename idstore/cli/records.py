"""How records, namespaces and parties are printed: for people, and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from idstore.cli.output import one_line
from idstore.errors import UnknownScheme
from idstore.frozen import dataclass
from idstore.model import terms, times
from idstore.model.record import Stage
from idstore.vocabulary import PAV, PREFIXES, SSSOM

if TYPE_CHECKING:
    from idstore.model.binding import Binding
    from idstore.model.namespace import Namespace
    from idstore.model.party import Party, PartyFacts
    from idstore.model.record import Record
    from idstore.model.value import Value
    from idstore.registry import Registry
    from idstore.registry.trails import Remark
    from idstore.schemes import LabelType

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Described:
    """A record with its namespace and the comments that the party may see."""

    record: "Record"
    namespace: "Namespace"
    remarks: "Sequence[Remark]" = ()

    @property
    def iri(self) -> str:
        """Name of the identifier."""
        return self.record.iri.value

    def line(self) -> str:
        """IRI, stage, owner, time of creation and name, divided by tabs."""
        record = self.record
        name = one_line(record.names[0][1]) if record.names else ""
        return "\t".join((self.iri, record.stage.value, record.owner, times.iso(record.created), name)).rstrip()

    def text(self) -> str:
        """Everything, a line for each fact."""
        return "\n".join([self.iri, *_aligned(self._facts())])

    def _facts(self) -> Iterator[tuple[str, str]]:
        record = self.record
        yield "namespace", f"{self.namespace.name} ({self.namespace.scheme_name})"
        yield "label", record.label
        if record.below is not None:
            yield record.kind or "below", f"of {record.below.value}"
        yield "stage", record.stage.value + (" (provisional)" if record.provisional else "")
        yield "owner", record.owner + (f" (offered to {record.offered})" if record.offered else "")
        yield "created", times.iso(record.created)
        if record.fixated is not None:
            yield "fixated", times.iso(record.fixated)
        yield from (("name", text + _tag(lang)) for lang, text in record.names)
        if record.version is not None:
            yield "version", record.version
        if record.work is not None:
            yield "version of", record.work.value
        if record.target is not None:
            yield "target", record.target.value
        yield from (("value", f"{value.index} {value.type} {value.text}") for value in record.values)
        if record.deprecated or record.reason is not None:
            yield "revoked" if record.stage is Stage.TOMBSTONE else "deprecated", record.reason or "yes"
        yield from (("replaced by", successor.value) for successor in record.successors)
        yield from (("granted to", name + (" (may bind)" if binds else "")) for name, binds in record.grants)
        yield from (("bound to", _binding_text(binding)) for binding in record.bindings)
        yield from (("comment", _remark_text(remark)) for remark in self.remarks)

    def json(self) -> Json:
        """Everything, as the contract names it."""
        record = self.record
        return {
            "id": self.iri,
            "label": record.label,
            "namespace": self.namespace.name,
            "scheme": self.namespace.scheme_name,
            "stage": record.stage.value,
            "provisional": record.provisional,
            "owner": record.owner,
            "offeredTo": record.offered,
            "grants": sorted({record.owner, *(name for name, _ in record.grants)}),
            "mayBind": [name for name, binds in record.grants if binds],
            "names": dict(record.names),
            "version": record.version,
            "versionOf": None if record.work is None else record.work.value,
            "target": None if record.target is None else record.target.value,
            "created": times.iso(record.created),
            "fixated": None if record.fixated is None else times.iso(record.fixated),
            "deprecated": record.deprecated,
            "reason": record.reason,
            "below": None if record.below is None else record.below.value,
            "kind": record.kind,
            "supersededBy": [successor.value for successor in record.successors],
            "bindings": [_binding_json(binding) for binding in record.bindings],
            "comments": [remark_json(remark) for remark in self.remarks],
            **({"values": [value_json(value) for value in record.values]} if record.values else {}),
        }


def value_line(value: "Value") -> str:
    """Index, type, time to live, permissions, time of the last change and data, divided by tabs."""
    lasts = str(value.ttl) if value.until is None else times.iso(value.until)
    return "\t".join((str(value.index), value.type, lasts, value.permissions, times.iso(value.at), one_line(value.text)))


def value_json(value: "Value") -> Json:
    """Everything; ``ttl`` is a text where it is a moment."""
    return {
        "index": value.index,
        "type": value.type,
        "data": {"format": "string" if isinstance(value.data, str) else "hex", "value": value.text},
        "ttl": value.ttl if value.until is None else times.iso(value.until),
        "permissions": value.permissions,
        "timestamp": times.iso(value.at),
    }


def described(registry: "Registry", party: "Party", records: "Iterable[Record]", *, remarks: bool) -> list[Described]:
    """Records with what is printed beside them; comments cost a look into the log for each."""
    return [Described(record, registry.home(record), registry.remarks(record.iri.value, party) if remarks else ()) for record in records]


def namespace_line(namespace: "Namespace") -> str:
    """Name, base, scheme, owner, and whether it is frozen, divided by tabs."""
    return "\t".join((namespace.name, namespace.base, namespace.scheme_name, namespace.owner, "frozen" if namespace.frozen else "open"))


def namespace_text(namespace: "Namespace", remarks: "Sequence[Remark]") -> str:
    """Everything, a line for each fact."""
    facts = [
        ("base", namespace.base),
        ("scheme", namespace.scheme_name),
        *(("setting", f"{key}={value}") for key, value in namespace.settings),
        *(("type", f"{one.code}: {one.title}" if one.title else one.code) for one in _types(namespace)),
        ("owner", namespace.owner + (f" (offered to {namespace.offered})" if namespace.offered else "")),
        ("created", times.iso(namespace.created)),
        ("allocation", "frozen" if namespace.frozen else ", ".join(sorted(namespace.allocators)) or "everyone"),
        *([] if namespace.per_minute is None else [("per minute", str(namespace.per_minute))]),
        *(("comment", _remark_text(remark)) for remark in remarks),
    ]
    return "\n".join([namespace.name, *_aligned(facts)])


def namespace_json(namespace: "Namespace", remarks: "Sequence[Remark] | None" = None) -> Json:
    """Everything; of its comments nothing where nobody looked for them."""
    return {
        "name": namespace.name,
        "base": namespace.base,
        "scheme": namespace.scheme_name,
        "settings": dict(namespace.settings),
        "types": {one.code: one.title for one in _types(namespace)},
        "owner": namespace.owner,
        "offeredTo": namespace.offered,
        "created": times.iso(namespace.created),
        "allocators": sorted(namespace.allocators),
        "perMinute": namespace.per_minute,
        "frozen": namespace.frozen,
        **({} if remarks is None else {"comments": [remark_json(remark) for remark in remarks]}),
    }


def _types(namespace: "Namespace") -> "Sequence[LabelType]":
    """The types of its labels; none while the package of its scheme is not installed."""
    try:
        return namespace.types
    except UnknownScheme:
        return ()


def party_line(known: "PartyFacts") -> str:
    """Name, kind, groups, and whether it is suspended, divided by tabs."""
    return "\t".join((known.name, known.kind, ",".join(sorted(known.groups)), "" if known.suspended is None else "suspended")).rstrip()


def party_text(known: "PartyFacts", everyone: "Iterable[PartyFacts]") -> str:
    """Everything, a line for each fact."""
    facts = [("kind", known.kind), *(("member of", group) for group in sorted(known.groups))]
    facts += [("member", one) for one in members(known, everyone)]
    if known.suspended is not None:
        facts.append(("suspended", known.suspended))
    return "\n".join([known.name, *_aligned(facts)])


def party_json(known: "PartyFacts", everyone: "Iterable[PartyFacts]") -> Json:
    """Everything."""
    made: Json = {"name": known.name, "kind": known.kind, "groups": sorted(known.groups), "suspended": known.suspended}
    return made | {"members": members(known, everyone)} if known.kind == "group" else made


def members(known: "PartyFacts", everyone: "Iterable[PartyFacts]") -> list[str]:
    """Who of all parties belongs to one."""
    return [one.name for one in everyone if known.name in one.groups]


def remark_json(remark: "Remark") -> Json:
    """A comment."""
    return {"text": remark.text, "by": remark.by, "at": times.iso(remark.at), "internal": remark.internal}


def short(iri: str) -> str:
    """An IRI for people: ``skos:exactMatch`` where the prefix is well known."""
    return next((f"{prefix}:{iri[len(space) :]}" for prefix, space in PREFIXES.items() if iri.startswith(space)), iri)


def fields(facts: Mapping[str, object]) -> str:
    """``key=value`` of what is not empty."""
    return " ".join(f"{key}={one_line(short(_listed(value)))}" for key, value in facts.items() if value not in (None, "", []))


def _listed(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _binding_text(binding: "Binding") -> str:
    note = f": {binding.note}" if binding.note else ""
    said = {name: value for name, value in _said_with(binding).items() if value is not None}
    beside = "".join(f", {name} {short(value)}" for name, value in said.items())
    return f"{binding.target.value} ({short(binding.relation.value)}, {binding.by}, {times.iso(binding.at)}{beside}){note}"


def _said_with(binding: "Binding") -> dict[str, str | None]:
    return {
        "confidence": binding.said(SSSOM.confidence),
        "justification": binding.said(SSSOM.mapping_justification),
        "author": binding.said(PAV.authoredBy),
    }


def _binding_json(binding: "Binding") -> Json:
    return {
        "relation": binding.relation.value,
        "target": binding.target.value,
        "by": binding.by,
        "at": times.iso(binding.at),
        "note": binding.note,
        **{name: float(value) if name == "confidence" else value for name, value in _said_with(binding).items() if value is not None},
    }


def _remark_text(remark: "Remark") -> str:
    return f"{remark.text} ({remark.by}, {times.iso(remark.at)}{', internal' if remark.internal else ''})"


def _tag(lang: str) -> str:
    return "" if lang == terms.UNDETERMINED else f" ({lang})"


def _aligned(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"  {key:<12} {one_line(value)}" for key, value in facts)


def facts_of(record: "Record") -> dict[str, str]:
    """What a record says, a text for each thing that can change by itself: stage, owner, names, target, bindings and the rest."""
    made = {"stage": record.stage.value, "owner": record.owner}
    made |= {f"name{_tag(lang)}": text for lang, text in record.names}
    optional = {
        "version": record.version,
        "target": None if record.target is None else record.target.value,
        "reason": record.reason,
        "deprecated": "yes" if record.deprecated else None,
        "replaced by": ", ".join(successor.value for successor in record.successors) or None,
        "granted to": ", ".join(name for name, _ in record.grants) or None,
        "offered to": record.offered,
    }
    made |= {name: text for name, text in optional.items() if text is not None}
    return made | {f"{short(binding.relation.value)} {binding.target.value}": f"bound by {binding.by}" for binding in record.bindings}
