"""The types of parameters and results as pydantic reads them: they check requests, and describe the API."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    TypeAdapter,
    create_model,
)
from pydantic.config import ExtraValues
from pydantic_core import PydanticCustomError
from pyoxigraph import NamedNode

from idstore import documents
from idstore.model.party import Party
from idstore.model.value import DataDocument
from idstore.operations.descriptions import field_texts, parameter_text, result_text
from idstore.operations.operation import REQUIRED, ApiOperation, Parameter
from idstore.operations.wire import DOCUMENTS, NOT_SENT, camel, hints, is_moment, optional

_LARGEST: Final = 2**53 - 1
"""The largest integer that every reader of JSON reads exactly."""


def _encodable(text: str) -> str:
    """Return a text unchanged, if it is one: JSON can write halves of characters, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PydanticCustomError(
            "not_text", "{text} is not UTF-8 text (position {at})", {"text": repr(text), "at": error.start}
        ) from error
    return text


def _digits(text: object) -> object:
    """Return what a URL gives for a whole number, if it has digits alone: pydantic also takes ``1_0``."""
    if isinstance(text, str) and not re.fullmatch("-?[0-9]+", text):
        raise PydanticCustomError("int_parsing", "a whole number has digits alone")
    return text


_TEXT: Final = Annotated[str, AfterValidator(_encodable)]
_SCALARS: Final[Mapping[Any, Any]] = {
    str: _TEXT,
    int: Annotated[int, Field(ge=0, le=_LARGEST), BeforeValidator(_digits)],
    float: Annotated[float, Field(allow_inf_nan=False)],
    Party: _TEXT,
    NamedNode: str,
    Decimal: Decimal,
}
_IN_JSON: Final[Mapping[Any, Any]] = {
    **_SCALARS,
    int: Annotated[int, Field(ge=0, le=_LARGEST, strict=True)],
    bool: Annotated[bool, Field(strict=True)],
}
"""In a body, ``"yes"`` and ``1`` are no truth values: one may publish for ever."""
_PAIR: Final = Annotated[str, Field(pattern=r"^[^=]+=(.|\n)*$"), AfterValidator(_encodable)]
"""An item of a mapping in a URL."""


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


_MAY_BE_ABSENT: Final[Any] = Field(None, json_schema_extra=_without_default)
"""A field that a document may lack; None is no value of it."""
_OTHER_FIELDS: Final[Mapping[Any, ExtraValues]] = {
    documents.EventDocument: "allow",
    DataDocument: "forbid",  # requests have it too
}
"""Documents whose models say whether there are fields that are not declared."""
_EMPTY: Final = BeforeValidator(lambda value: None if value == "" else value)
"""In a URL, an empty text stands for null where the value is no text; a text that is null is left out."""


def parameter_type(parameter: Parameter, *, text: bool = False) -> Any:
    """Return the type of a parameter; with ``text`` as a URL writes it."""
    kind, may_be_none = optional(parameter.kind)
    if text and parameter.is_mapping:
        return GenericAlias(list, (_PAIR,))
    kind = str if parameter.is_moment else _sent(kind, text=text)
    if parameter.choices and kind == _TEXT:  # the registry refuses other texts, and says which there are
        kind = Annotated[kind, Field(json_schema_extra={"enum": [*parameter.choices]})]
    if not may_be_none:
        return kind
    return Annotated[kind | None, _EMPTY] if text and parameter.kind != str | None else kind | None


def body_model(operation: ApiOperation, parameters: Iterable[Parameter]) -> type[BaseModel]:
    """Return the model of the JSON object that a request sends."""
    fields: dict[str, Any] = {
        one.name: (_described(parameter_type(one), parameter_text(operation, one)), _default(one))
        for one in parameters
    }
    name = camel(f"_{operation.name}_body")
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def _default(parameter: Parameter) -> Any:
    """Return the default as JSON writes it, or that there is none."""
    if parameter.default is REQUIRED:
        return ...
    return dict(parameter.default) if isinstance(parameter.default, Mapping) else parameter.default


def _described(kind: Any, text: str) -> Any:
    return Annotated[kind, Field(description=text)] if text else kind


def result_type(kind: Any) -> Any:
    """Return the type of a result as JSON."""
    kind, may_be_none = optional(kind)
    found = _received(kind)
    return found | None if may_be_none else found


def document_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a document."""
    schema: dict[str, Any] = _model(kind).model_json_schema()
    return schema


def item_schemas(kinds: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the schemas of types by name, and the schemas that they refer to."""
    adapters = [(name, "serialization", TypeAdapter(result_type(kind))) for name, kind in kinds.items()]
    schemas, shared = TypeAdapter.json_schemas(
        adapters,  # type: ignore[arg-type]
        ref_template="#/components/schemas/{model}",
    )
    return {name: schema for (name, _), schema in schemas.items()}, shared.get("$defs", {})


def _sent(kind: Any, *, text: bool = False) -> Any:
    origin = get_origin(kind)
    if origin in (list, tuple, Sequence, Collection, Iterable):
        items = GenericAlias(list, (_sent(get_args(kind)[0], text=text),))
        return items if text else Annotated[items, FailFast()]  # a body may have many wrong items
    if origin is Mapping:
        return GenericAlias(dict, (_TEXT, _sent(get_args(kind)[1])))
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind is not Party:
        return _sent_model(kind)
    if bytes in get_args(kind):
        alternatives: Any = (_TEXT, _model(DataDocument))
        return Union[alternatives]  # noqa: UP007 made at run time
    return (_SCALARS if text else _IN_JSON).get(kind, kind)


@cache
def _sent_model(kind: Any) -> Any:
    """Return the model of the JSON of a dataclass in a list that a request sends."""
    kinds, fields = hints(kind), dict[str, Any]()
    for one in dataclasses.fields(kind):
        sent, may_be_none = optional(kinds[one.name])
        sent = str if is_moment(kinds[one.name]) else _sent(sent)
        fields[camel(one.name)] = (sent | None if may_be_none else sent, _field(one))
    return create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def _field(field: "dataclasses.Field[Any]") -> Any:
    """Return a field of a model that has the default of a dataclass's field."""
    if field.default_factory is not dataclasses.MISSING:
        return Field(default_factory=field.default_factory)
    return ... if field.default is dataclasses.MISSING else field.default


def _received(kind: Any) -> Any:
    origin = get_origin(kind)
    if kind in DOCUMENTS:
        return _model(DOCUMENTS[kind])
    if origin is tuple and get_args(kind)[-1] is not ...:
        return GenericAlias(tuple, tuple(map(result_type, get_args(kind))))
    if origin in (list, tuple, frozenset, set, Sequence, Collection):
        return list[result_type(get_args(kind)[0])]  # type: ignore[misc]
    if is_typeddict(kind) or (dataclasses.is_dataclass(kind) and kind is not Party):
        return _model(kind)
    return str if kind in (Party, NamedNode) else kind


@cache
def _model(kind: Any) -> Any:
    """Return the model of a document, or of the JSON of a dataclass."""
    texts = field_texts(kind)
    if is_typeddict(kind):
        required = kind.__required_keys__
        fields: dict[str, Any] = {
            name: (_described(result_type(field), texts[name]), ... if name in required else _MAY_BE_ABSENT)
            for name, field in get_type_hints(kind).items()
            if name not in NOT_SENT
        }
        extra = ConfigDict(extra=_OTHER_FIELDS[kind]) if kind in _OTHER_FIELDS else None
        name = kind.__name__.removesuffix("Document")
        return create_model(name, __config__=extra, __doc__=result_text(kind), **fields)
    fields = {
        camel(name): (
            _described(_moment(field) if is_moment(field) else result_type(field), texts[camel(name)]),
            ...,
        )
        for name, field in hints(kind).items()
    }
    return create_model(kind.__name__, __doc__=result_text(kind), **fields)


def _moment(kind: Any) -> Any:
    """Return the type of a moment that may be none."""
    return str | None if optional(kind)[1] else str
