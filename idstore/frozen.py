"""Frozen values: ``@dataclass(frozen=True, slots=True)`` of the standard library, made in a fraction of the time.

The standard library writes all methods of a class as text and compiles them, which for the classes of a short command takes longer than the
command itself, as does importing what it needs for that. Here that is done for ``__init__`` alone; the others are made of the fields as they
are. What comes of it behaves the same, and `dataclasses.fields`, `replace` and `astuple` know it: they are told what they ask for then.
"""

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

_ABSENT: Final[Any] = object()
"""Stands for a default, or an argument, that was not given."""
_ORDER: Final = ("lt", "le", "gt", "ge")
_ASKED: Final = ("__dataclass_fields__", "__dataclass_params__")

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 said to be public
    from dataclasses import field as field  # noqa: PLC0414
    from dataclasses import replace as replace  # noqa: PLC0414
else:

    def dataclass(*, frozen: bool, slots: bool, eq: bool = True, order: bool = False) -> Callable[[type], type]:
        """As `dataclasses.dataclass`, for frozen and slotted classes only that derive from no other of them."""
        assert frozen and slots
        return lambda cls: _made(cls, eq=eq, order=order)

    def field(
        *, default: object = _ABSENT, default_factory: Callable[[], object] = _ABSENT, repr: bool = True, compare: bool = True
    ) -> "_Field":
        """As `dataclasses.field`."""
        return _Field("", default, default_factory, repr, compare)

    def replace(value: Any, /, **changes: object) -> Any:
        """As `dataclasses.replace`."""
        return value.__class__(**{name: getattr(value, name) for name in value.__match_args__} | changes)


class _Field(NamedTuple):
    """A field, as `dataclasses.Field` has it."""

    name: str
    default: object
    default_factory: Callable[[], object]
    repr: bool
    compare: bool


def _made(cls: type, *, eq: bool, order: bool) -> type:
    given = vars(cls)
    fields = [_field(name, given.get(name, _ABSENT)) for name in given.get("__annotations__", ())]
    names = tuple([field.name for field in fields])
    made = _slotted(cls, names)
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
    for name in _ASKED:
        setattr(made, name, _Asked(name, made, fields, eq=eq, order=order))
    return made


def _field(name: str, given: object) -> _Field:
    if isinstance(given, _Field):
        return given._replace(name=name)
    return _Field(name, given, _ABSENT, repr=True, compare=True)


def _slotted(cls: type, names: tuple[str, ...]) -> type:
    """The class with slots, which it must be made with."""
    kept = {name: value for name, value in vars(cls).items() if name not in (*names, "__dict__", "__weakref__")}
    made = type(cls)(cls.__name__, cls.__bases__, {**kept, "__slots__": names, "__match_args__": names})
    made.__qualname__ = cls.__qualname__
    return made


class _Asked:
    """What the standard library keeps of a class, made when somebody asks for it."""

    def __init__(self, name: str, cls: type, fields: list[_Field], *, eq: bool, order: bool) -> None:
        self._name, self._cls, self._fields, self._eq, self._order = name, cls, fields, eq, order

    def __get__(self, instance: object, owner: type) -> object:
        import dataclasses

        def told(field: _Field) -> Any:
            settings = {name: value for name, value in field._asdict().items() if name != "name" and value is not _ABSENT}
            return dataclasses.field(**settings)

        types = vars(self._cls).get("__annotations__", {})
        as_theirs = [(field.name, types[field.name], told(field)) for field in self._fields]
        theirs = dataclasses.make_dataclass(self._cls.__name__, as_theirs, frozen=True, eq=self._eq, order=self._order)
        for name in _ASKED:  # in the place of this
            setattr(self._cls, name, getattr(theirs, name))
        return getattr(theirs, self._name)


def _init(cls: type, fields: list[_Field]) -> Callable[..., None]:
    """The method that makes `_written` out of itself when it is first called: of most classes a short command makes no value."""

    def first(self: object, *given: object, **named: object) -> None:
        cls.__init__ = made = _written(cls, fields)  # type: ignore[misc]
        made(self, *given, **named)

    return first


def _written(cls: type, fields: list[_Field]) -> Callable[..., None]:
    """The method that sets the fields, in their order: written as text, since it is called more than all others."""
    names: dict[str, object] = {"__name__": cls.__module__, "_set": object.__setattr__, "_absent": _ABSENT}
    parameters, lines = ["self"], []
    for field in fields:
        name, value = field.name, field.name
        if field.default is not _ABSENT:
            names[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not _ABSENT:
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
    _refuse("assign to", name)


def _refuse_deleting(self: object, name: str) -> None:  # noqa: ARG001
    _refuse("delete", name)


def _refuse(what: str, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot {what} field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, name) for name in self.__match_args__]


def _take_state(self: Any, state: list[object]) -> None:
    for name, value in zip(self.__match_args__, state, strict=True):
        object.__setattr__(self, name, value)
