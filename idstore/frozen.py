"""Frozen values: ``@dataclass(frozen=True, slots=True)`` of the standard library, made in a fraction of the time.

The standard library writes all methods of a class as text and compiles them, which for the classes of a short command takes longer than the
command itself. Here that is done for ``__init__`` alone; the others are made of the fields as they are. What comes of it behaves the same, and
`dataclasses.fields`, `replace` and `astuple` know it.
"""

import dataclasses
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 said to be public
else:

    def dataclass(*, frozen: bool, slots: bool, eq: bool = True, order: bool = False) -> Callable[[type], type]:
        """As `dataclasses.dataclass`, for frozen and slotted classes only."""
        assert frozen and slots
        return lambda cls: _made(cls, eq=eq, order=order)


_ABSENT: Final = object()
"""Stands for an argument that was not given, where its default is to be made."""
_ORDER: Final = ("lt", "le", "gt", "ge")


def _made(cls: type, *, eq: bool, order: bool) -> type:
    given = vars(cls)
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields = dataclasses.fields(made)
    methods = {
        "__init__": _init(made, fields),
        "__repr__": _repr([field.name for field in fields if field.repr]),
        "__setattr__": _refuse_assigning,
        "__delattr__": _refuse_deleting,
        "__getstate__": _state,
        "__setstate__": _take_state,
    }
    key = _key([field.name for field in fields if field.compare])
    if eq:
        methods |= {"__eq__": _equal(key), "__hash__": _hash(key)}
    if order:
        methods |= {f"__{name}__": _compared(getattr(operator, name), key) for name in _ORDER}
    for name, method in methods.items():
        if given.get(name) is None:
            setattr(made, name, method)
    parameters = made.__dataclass_params__  # type: ignore[attr-defined]
    parameters.frozen, parameters.eq, parameters.order = True, eq, order  # as a class derived from it may ask
    return made


def _init(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    """The method that sets the fields, in their order: written as text, since it is called more than all others."""
    names: dict[str, object] = {"__name__": cls.__module__, "_set": object.__setattr__, "_absent": _ABSENT}
    parameters, lines = ["self"], []
    for field in fields:
        name, value = field.name, field.name
        if field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            parameters.append(f"{name}=_absent")
            value = f"_make_{name}() if {name} is _absent else {name}"
        else:
            parameters.append(name)
        lines.append(f" _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *lines, " return None"]), names)  # noqa: S102 as the standard library does
    made: Callable[..., None] = names["__init__"]  # type: ignore[assignment]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _key(names: list[str]) -> Callable[[Any], tuple[object, ...]]:
    """What gives the fields of a value that are compared."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _equal(key: Callable[[Any], tuple[object, ...]]) -> Callable[[object, object], bool]:
    def equal(self: object, other: object) -> bool:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(key: Callable[[Any], tuple[object, ...]]) -> Callable[[object], int]:
    def hashed(self: object) -> int:
        return hash(key(self))

    return hashed


def _compared(by: Callable[[Any, Any], bool], key: Callable[[Any], tuple[object, ...]]) -> Callable[[Any, Any], bool]:
    def compared(self: object, other: object) -> bool:
        return by(key(self), key(other)) if other.__class__ is self.__class__ else NotImplemented

    return compared


def _repr(names: list[str]) -> Callable[[object], str]:
    def shown(self: object) -> str:
        return f"{self.__class__.__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return shown


def _refuse_assigning(self: object, name: str, value: object) -> None:  # noqa: ARG001 Python calls it so
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: object, name: str) -> None:  # noqa: ARG001
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _take_state(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
