"""The kinds of arguments: what a caller gives is compared with the types that a signature states.

An argument of another kind would fail somewhere inside, or be taken for something else: one text for a list
of its letters. It is refused by name, before anything is read or written.
"""

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache, wraps
from io import TextIOBase
from os import PathLike
from typing import IO, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from idstore.characters import printable
from idstore.errors import IdstoreError, InvalidData

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_LONGEST: Final = 60
"""Characters of a value that a message repeats."""
_WORDS: Final[Mapping[Any, str]] = {
    str: "a text",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    Decimal: "a number",
    bytes: "bytes",
    datetime: "a datetime",
    PathLike: "a path",
    Mapping: "a mapping",
    Callable: "a function",
    IO: "a file that is open for bytes",
}
"""Type → what to give, in words; other types by their names."""
_OF_NUMBERS: Final = (int, int | None, Sequence[int])
_LARGEST: Final = 2**63 - 1
"""The largest whole number that the store's databases hold."""
_ACTING: Final = "party"
"""The parameter that names the acting party."""
_REGISTRY: Final = "registry"
"""The parameter that may also be a remote registry, which is of another class."""
_REMOTELY: Final = "perform"
"""The method by which a remote registry carries out a function."""
_CHECKED: Final = "_arguments_are_checked"


def checked(kind: type[T]) -> type[T]:
    """Check the arguments of all public methods of a class, inherited ones included: see `check`.

    Cost: about 2 µs for each call; the first one of a method 50 µs.
    """
    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        if not name.startswith("_") and inspect.isfunction(method) and not hasattr(method, _CHECKED):
            setattr(kind, name, checks(method))
    return kind


def checks(function: F) -> F:
    """Check the arguments of a function: see `check`.

    An operation on a registry that is reached through a server is carried out there.
    """
    names = [*inspect.signature(function).parameters]

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        given = dict(zip(names, arguments, strict=False)) | named
        check(function, given)
        if hasattr(type(given.get(_REGISTRY)), _REMOTELY):
            return given.pop(_REGISTRY).perform(call, **given)
        try:
            return function(*arguments, **named)
        except IdstoreError as error:
            name_argument(error, given)
            raise

    setattr(call, _CHECKED, True)
    return call  # type: ignore[return-value]


def name_argument(error: IdstoreError, given: Mapping[str, Any]) -> None:
    """Give an error the name of the argument that it is about, and its value as it was given.

    It is the only argument that is the value of the error, or holds it; else the one of the error's own name.
    """
    stated = dict(_stated(given))
    own = () if error.field == _ACTING else stated.get(error.field or "", ())
    name, value = _about(error, stated) or (error.field, own[0] if len(own) == 1 else None)
    if error.field is None or value is None:
        return
    if error.position is not None and isinstance(value, str) and isinstance(error.value, str):
        error.position += max(value.find(error.value), 0)
        error.fields = {**error.fields, "position": error.position}
    error.field, error.value = name, value if isinstance(value, str | int | float) else str(value)


def _about(error: IdstoreError, stated: Mapping[str, Sequence[object]]) -> tuple[str, object] | None:
    """Return the only argument that is the value of an error, else ends in it (a label), else holds it."""
    if error.value is None or error.field is None:
        return None
    text = str(error.value).partition(" […] ")[0]  # of a very long value the middle is left out
    for fits in (str.__eq__, *((str.endswith, str.__contains__) if text else ())):
        same = {name: one for name, values in stated.items() for one in values if fits(str(one), text)}
        if len(same) > 1:
            same.pop(_ACTING, None)
        if same:
            name = error.field if error.field in same else next(iter(same))
            return (name, same[name]) if name == error.field or len(same) == 1 else None
    return None


def _stated(given: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[object]]]:
    """Yield the names of arguments, fields of dataclasses and keys of mappings, with what they hold."""
    for name, value in given.items():
        if isinstance(value, str | int | float | Decimal | datetime):
            yield name, (value,)
        elif isinstance(getattr(value, "iri", None), str):
            yield name, (value.iri,)
        elif isinstance(getattr(value, "groups", None), frozenset):
            yield name, (value.name,)
        elif is_dataclass(value):
            yield from _stated({field.name: getattr(value, field.name) for field in fields(value)})
        elif isinstance(value, Mapping):
            yield name, [key for key in value if isinstance(key, str)]
            yield from _stated(value)
        else:
            items = value if isinstance(value, list | tuple) else ()
            yield (
                name,
                [one for each in items for at, own in _stated({name: each}) if at == name for one in own],
            )


def check(of: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Compare values, by name, with the types that a function or a dataclass states.

    A whole number is one from 0 to 2⁶³ - 1. Raises InvalidData.
    """
    tests = _tests(of)
    for name, value in values.items():
        if name in tests and not tests[name](value):
            raise _refusal(name, value, _kinds(of)[name])
    for name in _of_numbers(of) & values.keys():
        value = values[name]
        for number in value if isinstance(value, Sequence) else (value,):
            if number is not None:
                _check_number(number, name)


def check_fields(instance: Any) -> None:
    """Compare the fields of a dataclass with their types. Raises InvalidData. Cost: about 2 µs."""
    kind: Callable[..., Any] = type(instance)
    check(kind, {name: getattr(instance, name) for name in _tests(kind)})


def _check_number(number: int, name: str) -> None:
    if not 0 <= number <= _LARGEST:
        meant = f"give a whole number from 0 {'on' if number < 0 else f'to {_LARGEST}'}"
        raise InvalidData(f"{name} is {number}; {meant}", field=name, value=number)


def _refusal(name: str, value: Any, kind: Any) -> InvalidData:
    """Return the error for a value of another kind; in a mapping it names the entry."""
    if get_origin(kind) is Mapping and isinstance(value, Mapping):
        kind = get_args(kind)[1]
        name, value = next((str(key), one) for key, one in value.items() if not _test(kind)(one))
    shown = printable(repr(value))
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
    scalar = value if isinstance(value, str | int | float | bool) else None
    return InvalidData(f"{name} is {shown}; give {_words(kind)}", field=name, value=scalar)


@cache
def _kinds(of: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the types of the parameters of a function, or of the fields of a dataclass."""
    if isinstance(of, type):
        kinds = get_type_hints(of)
        return {field.name: kinds[field.name] for field in fields(of)}
    function = inspect.unwrap(of)
    stated = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
    return get_type_hints(types.SimpleNamespace(__annotations__=stated), function.__globals__)


@cache
def _of_numbers(of: Callable[..., Any]) -> frozenset[str]:
    """Return the names of the parameters or fields that are whole numbers, or lists of them."""
    return frozenset(name for name, kind in _kinds(of).items() if kind in _OF_NUMBERS)


@cache
def _tests(of: Callable[..., Any]) -> Mapping[str, Callable[[Any], bool]]:
    return {
        name: _test_of_registry(kind) if name == _REGISTRY else _test(kind)
        for name, kind in _kinds(of).items()
    }


def _test(kind: Any) -> Callable[[Any], bool]:
    """Return a test of a value of a type; types that tell nothing at run time fit every value."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        tests = [_test(one) for one in get_args(kind)]
        return lambda value: any(test(value) for test in tests)
    if kind is int:
        return lambda value: type(value) is not bool and isinstance(value, int)
    if kind in (float, Decimal):
        return lambda value: type(value) is not bool and isinstance(value, int | float | Decimal)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value: isinstance(value, kind) or value in {one.value for one in kind}
    if origin is not None:
        return _test_of(origin, get_args(kind))
    if isinstance(kind, type) and not getattr(kind, "_is_protocol", False):
        return lambda value: isinstance(value, kind)
    return callable if kind is Callable else _fits


def _test_of(origin: Any, inner: Sequence[Any]) -> Callable[[Any], bool]:
    """Return a test of values of a generic type."""
    if origin is Callable:
        return callable
    if origin is PathLike:
        return lambda value: isinstance(value, PathLike)
    if origin is IO:
        return _is_file if inner == (bytes,) else _fits
    if origin.__module__ not in ("builtins", "collections.abc"):
        return _fits
    if issubclass(origin, Mapping):
        key, item = map(_test, inner)
        return lambda value: (
            isinstance(value, Mapping) and all(key(name) and item(one) for name, one in value.items())
        )
    if origin is tuple and inner[1:] == (...,):
        origin = Sequence
    element = _test(inner[0]) if inner[1:] in ((), (...,)) else _fits
    return lambda value: (
        isinstance(value, origin)
        and not isinstance(value, str | bytes)
        and (not isinstance(value, Collection) or all(map(element, value)))
    )


def _fits(_: Any) -> bool:
    return True


def _is_file(value: Any) -> bool:
    """Whether a value is a file for bytes, and open."""
    is_file = hasattr(value, "read") or hasattr(value, "write")
    return is_file and not isinstance(value, TextIOBase) and not getattr(value, "closed", False)


def _test_of_registry(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind) or hasattr(type(value), _REMOTELY)


def _words(kind: Any) -> str:
    """Return what to give for a type, in words."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_words, inner))
    if kind is type(None):
        return "None"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"one of {', '.join(str(one.value) for one in kind)}"
    known = _WORDS.get(origin or kind)
    if known is None and isinstance(origin, type) and issubclass(origin, Iterable):
        return f"a list, each {_words(inner[0])}"
    return known or f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
