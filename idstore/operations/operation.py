"""An operation of the API: a method of `Registry` that callers on other machines may use."""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property
from typing import IO, Any, Final, get_args, get_origin

from pyoxigraph import NamedNode

from idstore.errors import IdstoreError, InvalidData
from idstore.model import times
from idstore.model.party import Party
from idstore.model.record import Record, written
from idstore.operations.wire import ITERATORS, camel, hints, is_moment, load
from idstore.registry import Registry

VERSION: Final = "v1"
API: Final = f"/api/{VERSION}"
"""The path before those of the operations."""
REQUIRED: Final = inspect.Parameter.empty
LONGEST_PAGE: Final = 1000
"""Items of an answer that has pages."""
LINES: Final = "application/x-ndjson"
"""Media type of answers in lines."""
PROGRESS: Final = "progress"
"""The parameter of functions that report their progress."""
_ACTING: Final = "party"
"""The parameter of a method that names the acting party. It is no parameter of the operation."""


class Rights(StrEnum):
    """Who may call an operation at all.

    The registry decides the rest: owners, grant lists, administrators.
    """

    EVERYONE = "everyone"
    PARTY = "signed-in parties"
    ADMINISTRATOR = "administrators"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation.

    name      its name in URLs and JSON.
    path      the argument of the method that it gives, or the field of such an argument.
    kind      its type in the method.
    default   `REQUIRED` for none.
    choices   the texts that it may be; empty: any.
    """

    name: str
    path: tuple[str, ...]
    kind: Any
    default: Any
    choices: tuple[str, ...] = ()

    @property
    def is_moment(self) -> bool:
        """Whether it is a moment, which JSON writes as text."""
        return is_moment(self.kind)

    def read(self, value: Any) -> Any:
        """Return the argument for a value in JSON. Raises InvalidData."""
        if self.is_mapping and isinstance(value, list):
            value = dict(text.split("=", 1) for text in value)
        try:
            return load(self.kind, value)
        except InvalidData as error:
            if self.is_moment:
                error.field = self.name
            raise

    @property
    def is_mapping(self) -> bool:
        """Whether it maps texts to texts. In a URL, each pair is a text ``KEY=VALUE``."""
        return get_origin(self.kind) is Mapping


@dataclass(frozen=True)
class ApiOperation:
    """A method of `Registry`, or a function of a registry, that is reached over HTTP.

    name      the name of the method, also in the client and in the permitted acts of a token.
    errors    errors that it raises beside those of every operation.
    writes    whether it changes the registry.
    route     the path below `API`; default: its name.
    names     names of parameters in JSON, where they differ from those of the method.
    function  what runs; default: the method of that name.
    position  of an item of the result, for the parameter ``after``: an answer of ``limit`` items, at most
              `LONGEST_PAGE`, has a link to the items that follow.
    capped    whether a ``limit`` above `LONGEST_PAGE` counts as that many: the caller asks for the rest.
    download  the parameter into which the function writes bytes: they are the body of the answer.
    upload    the parameter that is a file to read: the body of the request, as it is.
    pack      with ``upload``: makes the body from the arguments.
    near      parameters for callers that have the folder of the store; they are not sent.
    unused    fields of arguments that it always refuses: they are no parameters.
    choices   parameter → the texts that it may be, where its type does not say it.
    most      parameter → how many items it has at most, unless an administrator sends it. ``rows.names``: how
              many names all rows have together.
    scanning  parameters: a request with one of them may read all that its caller sees.
    namespace  the parameter that names the namespace it changes, if it has that parameter.
    media     value of the parameter ``format`` → media type of the download; an operation without that
              parameter has one for the empty text.
    """

    name: str
    rights: Rights
    errors: tuple[type[IdstoreError], ...] = ()
    writes: bool = False
    creates: bool = False
    verb: str = ""
    route: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    function: Callable[..., Any] | None = None
    position: Callable[[Any], str] | None = None
    capped: bool = False
    download: str = ""
    upload: str = ""
    pack: Callable[..., AbstractContextManager[IO[bytes]]] | None = None
    near: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    choices: Mapping[str, Iterable[str]] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    scanning: tuple[str, ...] = ()
    media: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "namespace"

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.verb or ("POST" if self.writes else "GET")

    @property
    def in_query(self) -> bool:
        """Whether the parameters stand in the query of the URL, and not in a JSON object."""
        return self.method in ("GET", "DELETE") or bool(self.upload)

    @property
    def path(self) -> str:
        """The path below `API`, with parameters in braces."""
        return self.route or "/" + self.name.replace("_", "-")

    @cached_property
    def run(self) -> Callable[..., Any]:
        """The function: its first parameter is the registry."""
        return self.function or getattr(Registry, self.name)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature without the registry."""
        signature = inspect.signature(self.run)
        return signature.replace(parameters=[*signature.parameters.values()][1:])

    @property
    def result(self) -> Any:
        """The type of the result."""
        return hints(self.run)["return"]

    def media_type(self, values: Mapping[str, Any]) -> str:
        """Return the media type of the download for values in JSON."""
        default = next((one.default for one in self.parameters if one.name == "format"), "")
        return self.media.get(values.get("format", default), "application/octet-stream")

    def scans(self, values: Mapping[str, Any]) -> bool:
        """Return whether a request with these values in JSON may read all that its caller sees."""
        return self._is_unlimited(values) or any(
            values.get(name) not in (None, False, []) for name in self.scanning
        )

    def _is_unlimited(self, values: Mapping[str, Any]) -> bool:
        """Return whether the answer may have more items than a page."""
        if "limit" not in self.signature.parameters or self.position is not None:
            return False
        limit = values.get("limit", self.signature.parameters["limit"].default)
        return limit is None or limit > LONGEST_PAGE

    @property
    def streams(self) -> bool:
        """Whether the result is read item by item."""
        return get_origin(self.result) in ITERATORS

    @property
    def is_long(self) -> bool:
        """Whether it reports its progress: the answer tells of it first, and has no time limit."""
        return PROGRESS in self.signature.parameters and not (self.download or self.upload)

    @property
    def in_lines(self) -> bool:
        """Whether the answer is lines, each with a JSON document."""
        return self.streams or self.is_long

    @property
    def line(self) -> Any:
        """The type of what a line of the answer holds."""
        return get_args(self.result)[0] if self.streams else self.result

    @property
    def knows_party(self) -> bool:
        """Whether the result may depend on the acting party."""
        return _ACTING in self.signature.parameters

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters; the fields of an argument that is a dataclass are parameters of their own."""
        return self._parameters[0]

    @cached_property
    def _parameters(self) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
        """The parameters, and the fields of arguments that are none."""
        kinds = hints(self.run)
        everything = [
            parameter
            for name, one in self.signature.parameters.items()
            if name not in (_ACTING, self.download, self.upload, *self.near)
            for parameter in self._flatten((name,), kinds[name], one.default)
        ]
        return (
            tuple(one for one in everything if one.path[-1] not in self.unused),
            tuple(one for one in everything if one.path[-1] in self.unused),
        )

    def _flatten(self, path: tuple[str, ...], kind: Any, default: Any) -> Iterator[Parameter]:
        if get_origin(kind) is Callable or kind is Callable:
            return  # a function cannot be sent: the server uses the default
        if dataclasses.is_dataclass(kind) and kind is not Party:
            kinds = hints(kind if isinstance(kind, type) else type(kind))
            for one in dataclasses.fields(kind):
                factory = REQUIRED if one.default_factory is dataclasses.MISSING else one.default_factory()
                own = factory if one.default is dataclasses.MISSING else one.default
                yield from self._flatten((*path, one.name), kinds[one.name], own)
        else:
            name = self.names.get(path[-1], camel(path[-1]))
            yield Parameter(name, path, kind, default, tuple(self.choices.get(name, _choices(kind))))

    def in_json(self, field: str) -> str:
        """Return the name in JSON of an argument, or of a field of one; any other name as it is."""
        return next((one.name for one in self.parameters if one.path[-1] == field), field)

    def in_library(self, name: str) -> str:
        """Return the name of the argument, or of the field of one, that a name in JSON stands for."""
        return next((one.path[-1] for one in self.parameters if one.name == name), name)

    def arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the function for values in JSON. Raises InvalidData."""
        nested: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name in values:
                level = nested
                for step in parameter.path[:-1]:
                    level = level.setdefault(step, {})
                level[parameter.path[-1]] = parameter.read(values[parameter.name])
        kinds = hints(self.run)
        return {name: _build(kinds[name], value) for name, value in nested.items()}

    def argument(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the value of a parameter among the arguments of the function, None if it is not given."""
        for parameter in self.parameters:
            if parameter.name == name:
                value = _follow(parameter.path, arguments)
                return None if value is REQUIRED else value
        return None

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `arguments` reads: the values for arguments, without those that are the default.

        Raises InvalidData: a field of an argument that the operation refuses.
        """
        for unused in self._parameters[1]:
            if _follow(unused.path, arguments) not in (REQUIRED, unused.default):
                given = ", ".join(one.name for one in self.parameters)
                raise InvalidData(f"{self.name} takes no {unused.name}; it has {given}", field=unused.name)
        values = {}
        for parameter in self.parameters:
            value = _follow(parameter.path, arguments)
            if value is not REQUIRED and value != parameter.default:
                values[parameter.name] = _sent(parameter, value)
        return values


def _sent(parameter: Parameter, value: Any) -> Any:
    """Return an argument as it is sent: a moment or an identifier as text."""
    if parameter.is_moment:
        return times.iso(times.checked(value, parameter.path[-1]))
    if parameter.kind in (Sequence[str], Iterable[str]):
        return [written(item) if isinstance(item, NamedNode | Record) else item for item in value]
    return written(value) if isinstance(value, NamedNode | Record) else value


def _choices(kind: Any) -> Iterator[str]:
    """Yield the texts that a value of a type may be, if the type says it."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        yield from (member.value for member in kind)


def _follow(path: tuple[str, ...], arguments: Mapping[str, Any]) -> Any:
    """Return the value at a path of arguments and fields, `REQUIRED` if there is none."""
    value: Any = arguments
    for step in path:
        value = value.get(step, REQUIRED) if isinstance(value, Mapping) else getattr(value, step)
        if value is REQUIRED:
            break
    return value


def _build(kind: Any, value: Any) -> Any:
    """Return the dataclass whose fields a mapping holds; any other value unchanged."""
    if not (dataclasses.is_dataclass(kind) and isinstance(kind, type) and isinstance(value, dict)):
        return value
    kinds = hints(kind)
    return kind(**{name: _build(kinds[name], item) for name, item in value.items()})
