"""Values of the library as JSON, and back, by their types.

Records, namespaces, events and typed values have documents of their own (`idstore.documents`), and so have
findings (`idstore.validation.report`). Other dataclasses are objects with their fields in camel case, moments
are ISO 8601, sets and tuples are arrays.
"""

import dataclasses
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from pyoxigraph import NamedNode

from idstore import documents
from idstore.errors import InvalidData
from idstore.model import times
from idstore.model.binding import Binding, BindingDocument
from idstore.model.event import Event
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Identifier, Record, RecordDocument, RemarkDocument
from idstore.model.value import Value, ValueDocument
from idstore.registry.log import Remark
from idstore.validation.report import FindingDocument, ValidationResult, finding_from, finding_json

ITERATORS: Final = (Iterator, Iterable)
_LISTS: Final = (list, tuple, set, frozenset, Sequence, Collection, *ITERATORS)

DOCUMENTS: Final[Mapping[Any, Any]] = {
    Record: RecordDocument,
    Namespace: documents.NamespaceDocument,
    Binding: BindingDocument,
    Value: ValueDocument,
    Event: documents.EventDocument,
    Remark: RemarkDocument,
    ValidationResult: FindingDocument,
}
"""Type → its document, where that is not an object with the same fields."""
NOT_SENT: Final = {"comments"}
"""Keys of documents that the API leaves out, because an operation of its own returns them."""

Home = Callable[[Record], Namespace]


def camel(name: str) -> str:
    """Return the JSON key of a Python name.

    >>> camel("request_key")
    'requestKey'
    """
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@cache
def hints(of: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, or of the parameters and the result of a function.

    An argument that is an `Identifier` is a text in JSON.
    """
    kinds = get_type_hints(of, localns={"Decimal": Decimal})
    return {name: _as_text(kind) for name, kind in kinds.items()}


def _as_text(kind: Any) -> Any:
    """Return a type with texts in the place of identifiers."""
    if kind == Identifier:
        return str
    if get_origin(kind) in (Union, types.UnionType) and set(get_args(Identifier)) < set(get_args(kind)):
        return str | None
    return {Sequence[Identifier]: Sequence[str], Iterable[Identifier]: Iterable[str]}.get(kind, kind)


def optional(kind: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether None was part of it."""
    if get_origin(kind) not in (Union, types.UnionType):
        return kind, False
    kinds = [one for one in get_args(kind) if one is not type(None)]
    return (kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]), len(kinds) < len(get_args(kind))  # noqa: UP007


def may_be_none(kind: Any) -> bool:
    """Return whether None is a value of a type."""
    return kind in (None, type(None)) or optional(kind)[1]


def is_moment(kind: Any) -> bool:
    """Return whether a field or parameter holds a moment, which JSON writes as text."""
    return optional(kind)[0] is datetime


_WRITERS: Final[Sequence[tuple[Any, Callable[[Any, Home], Any]]]] = (
    (Enum, lambda value, _: value.value),
    (str | bool | int | float | None, lambda value, _: value),
    (Record, lambda value, home: documents.wire_record(value, home(value))),
    (Namespace, lambda value, _: documents.namespace_json(value)),
    (Event, lambda value, _: documents.wire_event(value)),
    (Binding, lambda value, _: documents.wire_binding(value)),
    (Value, lambda value, _: value.as_dict()),
    (ValidationResult, lambda value, _: finding_json(value)),
    (Party, lambda value, _: value.name),
    (NamedNode, lambda value, _: value.value),
    (datetime, lambda value, _: times.iso(value)),
    (Decimal, lambda value, _: str(value)),
    (bytes, lambda value, _: {"format": "hex", "value": value.hex().upper()}),
    (Mapping, lambda value, home: {key: dump(item, home) for key, item in value.items()}),
)


def dump(value: Any, home: Home) -> Any:
    """Return a value as JSON. ``home`` finds the namespace of a record."""
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value, home)
    if dataclasses.is_dataclass(value):
        return {
            camel(field.name): dump(getattr(value, field.name), home) for field in dataclasses.fields(value)
        }
    items = sorted(value) if isinstance(value, set | frozenset) else value
    return [dump(item, home) for item in items]


_READERS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    datetime: times.parse,
    Record: documents.record_from,
    Namespace: documents.namespace_from,
    Event: documents.event_from,
    Binding: documents.binding_from,
    Value: documents.value_from,
    ValidationResult: finding_from,
}


def load(kind: Any, data: Any) -> Any:
    """Return the value of a type that `dump` wrote."""
    if data is None:
        return None
    kind, _ = optional(kind)
    if kind in _READERS:
        return _READERS[kind](data)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _load_dataclass(kind, data)
    origin = get_origin(kind) or kind
    if origin in _LISTS:
        return _load_items(origin, get_args(kind), data)
    if origin is Mapping or origin is dict:
        return {key: load(get_args(kind)[1], item) for key, item in data.items()}
    if isinstance(data, dict):
        return _load_data(data)
    return kind(data) if isinstance(kind, type) and issubclass(kind, Enum | NamedNode | Decimal) else data


def _load_data(data: Mapping[str, str]) -> str | bytes:
    """Return the data of a typed value. Raises InvalidData."""
    if data["format"] == "string":
        return data["value"]
    with suppress(ValueError):
        if data["format"] == "hex":
            return bytes.fromhex(data["value"])
    raise InvalidData(
        "the data has the format string, or the format hex and pairs of hexadecimal digits; give one of them",
        format=data["format"],
    )


def _load_dataclass(kind: type, data: Any) -> Any:
    if kind is Party:
        return Party(data)
    return kind(
        **{name: load(field, data[camel(name)]) for name, field in hints(kind).items() if camel(name) in data}
    )


def _load_items(origin: Any, kinds: tuple[Any, ...], data: Any) -> Any:
    if origin is tuple and len(kinds) > 1 and kinds[1] is not ...:
        return tuple(load(kind, item) for kind, item in zip(kinds, data, strict=True))
    items = (load(kinds[0], item) for item in data)
    return {tuple: tuple, set: set, frozenset: frozenset}.get(origin, list)(items)
