"""The references of the HTTP API and of the library, from the declared operations.

``python -m idstore.operations.reference`` prints docs/api.md, with ``library`` the table in docs/library.md.
"""

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from importlib.resources import files
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from idstore.exchange.columns import Columns
from idstore.model.party import Party
from idstore.operations.declared import LOCAL, OPERATIONS
from idstore.operations.descriptions import (
    entries,
    field_texts,
    has_fields,
    parameter_text,
    result_text,
    summary,
)
from idstore.operations.operation import API, REQUIRED, ApiOperation, Parameter
from idstore.operations.wire import DOCUMENTS, NOT_SENT, camel, hints, is_moment, optional
from idstore.registry import Registry
from idstore.stores.contract import Answer

_NAMES: Final = {
    "NoneType": "null",
    "str": "text",
    "NamedNode": "text",
    "Party": "text",
    "Decimal": "number",
    "int": "number",
    "float": "number",
    "bool": "truth value",
    "bytes": "object with `format` (`hex`) and `value`",
}


def reference() -> str:
    """Return the page."""
    head = files("idstore.operations").joinpath("introduction.md").read_text(encoding="utf-8")
    operations = "".join(f"\n{section}" for section in map(_section, OPERATIONS.values()))
    results = "".join(f"\n{_result_section(kind)}" for kind in result_types())
    local = "".join(f"- `{name}`: {reason}.\n" for name, reason in LOCAL.items())
    return f"{head}{operations}\n## Results\n{results}\n## Not over HTTP\n\n{local}"


def _section(operation: ApiOperation) -> str:
    lines = [f"## {operation.name}\n\n`{operation.method} {API}{operation.path}`\n\n{summary(operation.run)}"]
    lines += [f" For {operation.rights}; the result is {_result(operation)}.\n\n"]
    lines += _parameters(operation)
    if operation.errors:
        codes = dict.fromkeys(error.code for error in operation.errors)
        lines.append(f"Errors: {', '.join(f'`{code}`' for code in codes)}.\n")
    return "".join(lines).rstrip("\n") + "\n"


def _parameters(operation: ApiOperation) -> Iterator[str]:
    for one in operation.parameters:
        yield f"- `{one.name}`: {_kind(one)}{_default(one)}{_explanation(parameter_text(operation, one))}\n"
    if operation.parameters:
        yield "\n"


def _explanation(text: str) -> str:
    return f": {text}" if text else ""


def _kind(parameter: Parameter) -> str:
    may_be_none = optional(parameter.kind)[1]
    if parameter.is_moment:
        return "time"
    if parameter.choices:
        words = " or ".join(f"`{choice}`" for choice in parameter.choices)
        return f"{words} or null" if may_be_none else words
    return _words(parameter.kind)


def _default(parameter: Parameter) -> str:
    if parameter.default is REQUIRED:
        return ", required"
    plain = getattr(parameter.default, "value", parameter.default)
    return (
        ""
        if plain in (None, (), {})
        else f", default `{str(plain).lower() if plain in (True, False) else plain}`"
    )


def _result(operation: ApiOperation) -> str:
    if operation.download:
        return "a file, which is written aside and sent as it is read"
    if operation.result is Answer:
        return "a file in the format asked for"
    words = _words(operation.result)
    if operation.is_long:
        words += ", one a line" if operation.streams else ""
        return f"{words}, among lines that tell of the progress"
    return f"{words}, one a line (NDJSON)" if operation.streams else words


def result_types() -> list[Any]:
    """Return the types of results, and of items of parameters, that are objects, by name."""
    found = dict[Any, None]()

    def add(kinds: Iterable[Any]) -> None:
        for kind in kinds:
            own = DOCUMENTS.get(kind, kind)
            if has_fields(own) and own not in found:
                found[own] = None
                add(hints(own).values())
            add(get_args(kind))

    add(operation.result for operation in OPERATIONS.values() if operation.result is not Answer)
    add(one.kind for operation in OPERATIONS.values() for one in operation.parameters)
    return sorted(found, key=_name)


def _result_section(kind: Any) -> str:
    fields = "".join(
        f"- `{camel(name)}`: {'time' if is_moment(field) else _words(field)}"
        f"{_explanation(field_texts(kind)[camel(name)])}\n"
        for name, field in hints(kind).items()
        if name not in NOT_SENT
    )
    return f"### {_name(kind)} object\n\n{result_text(kind)}\n\n{fields}"


def _name(kind: Any) -> str:
    """Return the name of a type of results."""
    return str(DOCUMENTS.get(kind, kind).__name__).removesuffix("Document")


def _words(kind: Any) -> str:
    """Return a type for people: ``list of Record``, ``text or null``."""
    if bytes in get_args(kind):
        return "text, or [Data](#data-object)"
    if has_fields(kind) and not get_args(kind):
        return f"[{_name(kind)}](#{_name(kind).lower()}-object)"
    if get_origin(kind) is Literal:
        return " or ".join(f"`{text}`" for text in get_args(kind))
    if isinstance(kind, type) and not get_args(kind):
        return _NAMES.get(kind.__name__, "text" if issubclass(kind, Enum) else kind.__name__)
    arguments = [one for one in get_args(kind) if one is not ...]
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(_words, arguments))
    if get_origin(kind) in (Mapping, dict):
        return f"object of {_words(arguments[-1])}"
    if get_origin(kind) is tuple and ... not in get_args(kind):
        return f"list of {' and '.join(map(_words, arguments))}"
    return f"list of {_words(arguments[-1])}"


def library_table() -> str:
    """Return the part of the page on the library that comes from the code: operations and arguments."""
    head = "| operation | what it does | result | for | errors |\n|---|---|---|---|---|\n"
    table = head + "".join(map(_row, OPERATIONS.values()))
    arguments = "".join(f"\n{_type_section(kind)}" for kind in _argument_types())
    functions = (operation.name for operation in OPERATIONS.values() if operation.function is not None)
    methods = {*LOCAL, *(name for name in functions if hasattr(Registry, name))}
    near = "".join(
        f"- `{_signature(name, getattr(Registry, name))}`: {summary(getattr(Registry, name))}\n"
        for name in sorted(methods)
    )
    results = "".join(f"\n{_type_section(kind, is_given=False)}" for kind in _results())
    parts = {"Arguments": arguments, "Results": results, "Where the folder of the store is": f"\n{near}"}
    return table + "".join(f"\n## {title}\n{part}" for title, part in parts.items())


def _row(operation: ApiOperation) -> str:
    place = "" if operation.function is None else "idstore."
    codes = ", ".join(f"`{code}`" for code in dict.fromkeys(error.code for error in operation.errors))
    signature = _signature(place + operation.run.__name__, operation.run, operation.near)
    text = summary(operation.run).replace("null", "None")
    return f"| `{signature}` | {text} | {_plain_words(operation.result)} | {operation.rights} | {codes} |\n"


def _signature(name: str, of: Callable[..., Any], near: Collection[str] = ()) -> str:
    """Return a signature without types."""
    parameters = ", ".join(
        name if one.default is inspect.Parameter.empty else f"{name}={_shown(one.default)}"
        for name, one in inspect.signature(of).parameters.items()
        if name not in ("self", *near)
    )
    return f"{name}({parameters})"


def _argument_types() -> list[Any]:
    """Return the types of arguments that have fields, by name."""
    kinds = {
        kind
        for operation in OPERATIONS.values()
        for name, stated in hints(operation.run).items()
        for kind in (stated, *get_args(stated))
        if name != "return" and has_fields(kind)
    }
    return sorted(kinds | {Columns}, key=_name)


def _results() -> list[Any]:
    """Return the types of results, and of their fields, that are no arguments, by name."""
    found = dict[Any, None]()

    def add(kinds: Iterable[Any]) -> None:
        for kind in kinds:
            if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind not in (Party, *found):
                found[kind] = None
                add(hints(kind).values())
            add(get_args(kind))

    add(operation.result for operation in OPERATIONS.values())
    return sorted(found.keys() - {*_argument_types()}, key=lambda kind: str(kind.__name__))


def _type_section(kind: Any, *, is_given: bool = True) -> str:
    """Return the section on a type; with ``is_given`` with what must be given, and what else holds."""
    texts = entries(kind)
    fields = "".join(
        f"- `{one.name}`: {_plain_words(hints(kind)[one.name])}{_default_of(one) if is_given else ''}"
        f"{_explanation(texts.get(one.name, ''))}\n"
        for one in dataclasses.fields(kind)
    )
    return f"### {_name(kind)}\n\n{result_text(kind)}\n\n{fields}".replace("null", "None")


def _default_of(field: "dataclasses.Field[Any]") -> str:
    """Return what a field is if it is not given; nothing for None and for what is empty."""
    required = field.default is field.default_factory is dataclasses.MISSING
    default = None if field.default is dataclasses.MISSING else field.default
    return ", required" if required else "" if default in (None, (), "") else f", default `{_shown(default)}`"


def _shown(default: object) -> str:
    """Return a default value in a signature."""
    if isinstance(default, Enum):
        return f"{type(default).__name__}.{default.name}"
    plain = isinstance(default, str | int | float | tuple | None)
    return repr(default) if plain else "…" if callable(default) else f"{type(default).__name__}()"


def _plain_words(kind: Any) -> str:
    if get_origin(kind) is Callable:
        return "function"
    return re.sub(r"\[(\w+)\]\(#[^)]*\)", r"`\1`", _words(kind)).replace("null", "None")


if __name__ == "__main__":
    print(library_table() if sys.argv[1:] == ["library"] else reference(), end="")
