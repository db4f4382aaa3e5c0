"""What is wrong with a request that does not fit the declaration of its operation, in words."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, get_args

from idstore.errors import InvalidData
from idstore.operations.descriptions import has_fields
from idstore.operations.operation import ApiOperation
from idstore.operations.wire import camel, hints, optional

_OUTER: Final = ("body", "query", "path", "header")
_LONGEST: Final = 60
"""Characters of an input that a message repeats."""
_EXPECTED: Final[Mapping[str, str]] = {
    "bool": "true or false",
    "decimal": "a number",
    "dict": "an object",
    "finite": "a finite number",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "string": "a text",
    "tuple": "a list",
}
"""First word of the kind of an error of pydantic → what is expected."""
_WITHOUT_VALUE: Final = ("missing", "extra_forbidden", "not_text")
"""Kinds of errors of which the request gave no value, or none that can be repeated."""


def request_error(errors: Sequence[Mapping[str, Any]], operation: ApiOperation | None) -> InvalidData:
    """Return the error for the first of the errors of pydantic that concern a request."""
    first = errors[0]
    alternatives = [one for one in errors if one["loc"][:2] == first["loc"][:2]]
    error = max(alternatives, key=lambda one: len(one["loc"]))  # of a union, the kind that fits best
    steps = [step for step in error["loc"] if _is_name(step)]
    place = ".".join(map(str, steps)) or "body"
    names = ", ".join(_names_beside(operation, steps)) if operation is not None else ""
    words = _WORDS.get(error["type"])
    message = _expected(error, place) if words is None else words(error, place, names)
    if error["type"] == "json_invalid":
        return InvalidData(message, field="body", position=error["loc"][-1])
    given = error.get("input") if error["type"] not in _WITHOUT_VALUE else None
    scalar = isinstance(given, str | int | float | bool)
    return InvalidData(message, field=place, value=given if scalar else None)


def _names_beside(operation: ApiOperation, steps: Sequence[str | int]) -> Iterable[str]:
    """Return the names that the object at a place in a body may have; ``steps`` lead to one of its values."""
    kinds = {one.name: one.kind for one in operation.parameters if f"{{{one.name}}}" not in operation.path}
    kind: Any = None
    for step in steps[:-1]:
        kind, _ = optional(kinds.get(step) if isinstance(step, str) else get_args(kind)[0])
        kinds = {camel(name): field for name, field in hints(kind).items()} if has_fields(kind) else {}
    return kinds


def _expected(error: Mapping[str, Any], place: str) -> str:
    expected = _EXPECTED.get(error["type"].partition("_")[0])
    if expected is None:
        return f"{place}: {error['msg']}; see the API's description"
    return f"{place}: {_shown(error)} is not {expected}; give {expected}"


def _no_object(_: object, place: str, __: object) -> str:
    header = ", with the header Content-Type: application/json" if place == "body" else ""
    return f"{'the body' if place == 'body' else place} is no JSON object; send one{header}"


def _out_of_range(error: Mapping[str, Any], place: str, _: object) -> str:
    limits = error["ctx"]
    limit = f"{limits['ge']} or more" if "ge" in limits else f"{limits['le']} or less"
    return f"{place}: {_shown(error)} is out of range; give {limit}"


_WORDS: Final[Mapping[str, Callable[[Mapping[str, Any], str, str], str]]] = {
    "enum": lambda error, place, _: (
        f"{place}: {_shown(error)} is not possible; give {error['ctx']['expected']}"
    ),
    "extra_forbidden": lambda _, place, names: (
        f"{place!r} is no parameter; {f'there are {names}' if names else 'leave it out'}"
    ),
    "greater_than_equal": _out_of_range,
    "json_invalid": lambda error, place, _: (
        f"the body is no JSON (position {place}: {error['ctx']['error']}); send a JSON object"
    ),
    "less_than_equal": _out_of_range,
    "missing": lambda _, place, __: f"{place} is missing; give it",
    "model_attributes_type": _no_object,
    "model_type": _no_object,
    "not_text": lambda error, place, _: f"{place}: {error['msg']}; send UTF-8 text",
    "string_pattern_mismatch": lambda error, place, _: (
        f"{place}: {_shown(error)} is no pair; write KEY=VALUE"
    ),
}
"""Kind of an error of pydantic → the message for the error, its place, and the names that there are."""


def _shown(error: Mapping[str, Any]) -> str:
    """Return the input in quotes, or as JSON writes it."""
    given = error["input"]
    text = repr(given) if isinstance(given, str) else json.dumps(given, default=repr)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_name(step: object) -> bool:
    """Return whether a step of a place is a name or an index in a request, and no type of pydantic."""
    return step not in (*_OUTER, "Data") and "[" not in str(step)
